"""The daily backups of a cell, beside its spool: when one is due, and which are kept.

Owns when they are made and how many stay. `backup_hour` and `backup_keep` of `bootstrap` say when, in local time, and how many.
Called by the program, and by the supervisor, which starts that. Source: adr/0141.
"""

from __future__ import annotations

import shutil
import time
from datetime import datetime, timedelta

from daemons.qmaster.backup.archive import BackupFault
from daemons.qmaster.backup.saving import save
from daemons.runtime.cell import Cell

_END = ".tar.gz"


def is_due(cell: Cell, now: float) -> bool:
    """Whether there is none since the last time at which one should have been made; a cell that was down makes up for it."""
    moment = datetime.fromtimestamp(now)
    should = moment.replace(hour=cell.backup_hour, minute=0, second=0, microsecond=0)
    if should > moment:
        should -= timedelta(days=1)
    made = [path.stat().st_mtime for path in cell.daily_backups()]
    return cell.backup_keep > 0 and not any(should.timestamp() <= when <= now for when in made)


def save_daily(cell: Cell, now: float) -> str:
    """Make a backup, then remove the oldest until as many as wanted are left; what was done, in a line. Raises as `save` does."""
    directory = cell.backups_dir
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        for left in directory.glob(f"*{_END}.part"):  # of one that was killed
            shutil.rmtree(left, ignore_errors=True)
        saved = save(cell, directory / f"{cell.name}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}{_END}", now)
        old = cell.daily_backups()[: -cell.backup_keep] if cell.backup_keep else []
        for path in old:
            path.unlink()
    except OSError as error:
        raise BackupFault(f"daily backup: {error.filename}: {error.strerror}") from error
    return f"{saved.path}: {saved.what}, {saved.size} bytes; removed {len(old)} older"
