"""The time at which a daily backup of a cell is due.

The hour is `backup_hour` of `bootstrap`, in local time. Imports no module of the spool: this check runs in the supervisor, and a
separate program makes the backup (`daily`). Source: adr/0141.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from daemons.runtime.cell import Cell


def is_due(cell: Cell, now: float) -> bool:
    """Whether no backup has been made since the last scheduled time; a cell that was down makes the missed backup later."""
    moment = datetime.fromtimestamp(now)
    should = moment.replace(hour=cell.backup_hour, minute=0, second=0, microsecond=0)
    if should > moment:
        should -= timedelta(days=1)
    made = [path.stat().st_mtime for path in cell.daily_backups()]
    return cell.backup_keep > 0 and not any(should.timestamp() <= when <= now for when in made)
