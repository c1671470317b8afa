"""When a daily backup of a cell is due.

`backup_hour` of `bootstrap` says when, in local time. Loads nothing of a spool: the supervisor looks here, and a program of its
own makes the backup (`daily`). Source: adr/0141.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from daemons.runtime.cell import Cell


def is_due(cell: Cell, now: float) -> bool:
    """Whether there is none since the last time at which one should have been made; a cell that was down makes up for it."""
    moment = datetime.fromtimestamp(now)
    should = moment.replace(hour=cell.backup_hour, minute=0, second=0, microsecond=0)
    if should > moment:
        should -= timedelta(days=1)
    made = [path.stat().st_mtime for path in cell.daily_backups()]
    return cell.backup_keep > 0 and not any(should.timestamp() <= when <= now for when in made)
