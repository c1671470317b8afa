"""What was prepared beside the files of a cell takes their place: all of it, whenever and however often the process is killed.

Owns the plan, `common/restore-plan`, and the names of what a restore makes. Once the plan is on the disk the restore is decided:
who finds it completes it, name by name, each by a rename. Before that nothing of the cell has been touched. Called by
`restoring`, and by `sge_qmaster` and `gridengine start` before they begin. Source: adr/0140.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from daemons.qmaster.backup.archive import SPOOL, BackupFault
from gridengine.errors import plain_fault

PLAN = "restore-plan"
_KEPT, _STAGE = ".before-restore-", ".restore-"
_SIDES = ("-wal", "-shm")


class Plan(Struct):
    """Names that change in two directories. `stamp`: when, as it stands in the names of what is kept."""

    stamp: str
    common: list[str]
    spool_dir: str
    spool: list[str]


def stage(directory: Path, stamp: str) -> Path:
    """Where what shall come into a directory is prepared: on the same disk."""
    return directory / f"{_STAGE}{stamp}"


def kept(path: Path, stamp: str) -> Path:
    """What becomes of a file or directory that is replaced."""
    return path.with_name(f"{path.name}{_KEPT}{stamp}")


def sides(spool: Path) -> list[Path]:
    """The side files of a spool that are there: SQLite would take them for those of the next one."""
    return [side for end in _SIDES if (side := spool.with_name(spool.name + end)).exists()]


def is_left_by_a_restore(name: str) -> bool:
    """Whether a name is one of a restore's, and no part of the cell."""
    return _KEPT in name or name.startswith(_STAGE) or name == PLAN


def decide(common: Path, plan: Plan) -> None:
    """Write the plan: from here on there is no way back. Raises OSError."""
    draft = common / f"{_STAGE}plan"
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(plan))
        file.flush()
        os.fsync(file.fileno())
    draft.rename(common / PLAN)
    with suppress(OSError):  # it is decided
        sync(common)


def complete(common: Path) -> bool:
    """Complete a restore that was decided; whether there was one. For whoever holds the lock of the qmaster's pid file.

    Raises BackupFault; trying again goes on where it ended.
    """
    path = common / PLAN
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except FileNotFoundError:
        return False
    except (OSError, msgspec.DecodeError) as error:
        raise BackupFault(f"cannot read {path}: {plain_fault(error)}") from error
    spool_dir = Path(plan.spool_dir)
    try:
        for directory, names in ((common, plan.common), (spool_dir, plan.spool)):
            for name in names:
                _swap(directory, plan.stamp, name)
            sync(directory)
        path.unlink()
        sync(common)
    except OSError as error:
        raise BackupFault(
            f"the restore is not complete: {error.filename}: {error.strerror}; mend that, and gridengine start goes on with it"
        ) from error
    for directory in (common, spool_dir):
        shutil.rmtree(stage(directory, plan.stamp), ignore_errors=True)
    return True


def _swap(directory: Path, stamp: str, name: str) -> None:
    """Keep what is there, and put what was prepared in its place; nothing if that has happened. Raises OSError.

    A file is there at any moment, the old or the new one; a directory is missing for the moment between two renames.
    """
    prepared, target = stage(directory, stamp) / name, directory / name
    if not prepared.exists():
        return
    old = kept(target, stamp)
    for side in sides(target) if name == SPOOL else ():
        side.rename(old.with_name(old.name + side.name.removeprefix(target.name)))
    if not os.path.lexists(target):
        pass
    elif target.is_dir() or prepared.is_dir():
        target.rename(old)
    else:
        with suppress(FileExistsError):  # kept by the one who was killed here
            os.link(target, old, follow_symlinks=False)
    prepared.rename(target)


def clear(directory: Path) -> None:
    """Remove what a restore prepared that was never decided. For whoever holds the lock, where there is no plan."""
    for left in directory.glob(f"{_STAGE}*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)


def sync(directory: Path) -> None:
    """Bring the names in a directory to the disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
