"""Exchange prepared files for the files of a cell: all of them, regardless of when and how often the process is killed.

Owns the plan, `common/restore-plan`, and the names of the files of a restore. Once the plan is on the disk the restore is
committed: any process that finds the plan completes it, name by name, each by a rename. Before the plan nothing of the cell has
changed. Called by `restoring`, and by `sge_qmaster` and `gridengine start` before they begin. Source: adr/0140.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from daemons.qmaster.backup.archive import SPOOL, BackupError
from gridengine.errors import plain_fault
from gridengine.files.durable import durable_write, sync_directory

PLAN = "restore-plan"
_KEPT, _STAGE = ".before-restore-", ".restore-"
_SIDES = ("-wal", "-shm")


class Plan(Struct):
    """Names that change in two directories: `common` in the common directory of the cell, `spool` in `spool_dir`. `stamp`: time
    of the restore, as in the names of kept files."""

    stamp: str
    common: list[str]
    spool_dir: str
    spool: list[str]


def stage_directory(directory: Path, stamp: str) -> Path:
    """The subdirectory in which the new files of a directory are prepared, on the same disk."""
    return directory / f"{_STAGE}{stamp}"


def kept_path(path: Path, stamp: str) -> Path:
    """The new name of a file or directory that is replaced."""
    return path.with_name(f"{path.name}{_KEPT}{stamp}")


def side_files(spool: Path) -> list[Path]:
    """The existing side files of a spool; SQLite would use them with the next spool."""
    return [side for end in _SIDES if (side := spool.with_name(spool.name + end)).exists()]


def is_restore_file(name: str) -> bool:
    """Whether a name belongs to a restore, and not to the cell."""
    return _KEPT in name or name.startswith(_STAGE) or name == PLAN


def write_plan(common: Path, plan: Plan) -> None:
    """Write the plan, which commits the restore. Raises OSError."""
    try:
        durable_write(common / PLAN, msgspec.json.encode(plan))
    except OSError:
        if not (common / PLAN).exists():  # else the sync of the directory has failed, and the restore is already committed
            raise


def complete(common: Path) -> bool:
    """Complete a committed restore; returns whether a plan existed. The caller holds the lock of the qmaster's pid file.

    Raises BackupError; another call continues after the last completed step.
    """
    path = common / PLAN
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except FileNotFoundError:
        return False
    except (OSError, msgspec.DecodeError) as error:
        raise BackupError(f"cannot read {path}: {plain_fault(error)}") from error
    spool_dir = Path(plan.spool_dir)
    try:
        for directory, names in ((common, plan.common), (spool_dir, plan.spool)):
            for name in names:
                _replace(directory, plan.stamp, name)
            sync_directory(directory)
        path.unlink()
        sync_directory(common)
    except OSError as error:
        raise BackupError(
            f"the restore is not complete: {error.filename}: {error.strerror}; fix that, and gridengine start completes it"
        ) from error
    for directory in (common, spool_dir):
        shutil.rmtree(stage_directory(directory, plan.stamp), ignore_errors=True)
    return True


def _replace(directory: Path, stamp: str, name: str) -> None:
    """Keep the old file under another name, and move the prepared file to its name, unless already done. Raises OSError.

    A file exists at any moment, old or new; a directory is missing for the moment between two renames.
    """
    prepared, target = stage_directory(directory, stamp) / name, directory / name
    if not prepared.exists():
        return
    old = kept_path(target, stamp)
    for side in side_files(target) if name == SPOOL else ():
        side.rename(old.with_name(old.name + side.name.removeprefix(target.name)))
    if not os.path.lexists(target):
        pass
    elif target.is_dir() or prepared.is_dir():
        target.rename(old)
    else:
        with suppress(FileExistsError):  # kept by a process that was killed here
            os.link(target, old, follow_symlinks=False)
    prepared.rename(target)


def remove_stages(directory: Path) -> None:
    """Remove the prepared files of a restore that was not committed. The caller holds the lock; no plan exists."""
    for left in directory.glob(f"{_STAGE}*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
