"""Make the daily backup of a cell, and remove the oldest.

Owns the number of daily backups that are kept: `backup_keep` of `bootstrap`. Called by the program. Source: adr/0141.
"""

from __future__ import annotations

import shutil
import time

from daemons.qmaster.backup.archive import BackupError
from daemons.qmaster.backup.saving import save
from daemons.runtime.cell import Cell

_END = ".tar.gz"


def save_daily(cell: Cell, now: float) -> str:
    """Make a backup, then remove the oldest until `backup_keep` are left; returns a line for the log. Raises as `save` does."""
    directory = cell.backups_dir
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        for left in directory.glob(f"*{_END}.part"):  # of a killed process
            shutil.rmtree(left, ignore_errors=True)
        saved = save(cell, directory / f"{cell.name}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}{_END}", now)
        old = cell.daily_backups()[: -cell.backup_keep] if cell.backup_keep else []
        for path in old:
            path.unlink()
    except OSError as error:
        raise BackupError(f"daily backup: {error.filename}: {error.strerror}") from error
    return f"{saved.path}: {saved.summary}, {saved.size} bytes; removed {len(old)} older"
