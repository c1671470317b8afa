"""Restore a cell from a backup: the refusals, the changes, and the copies that are prepared beside the replaced files.

Owns the order of the steps: the backup is verified, all files are prepared on their target disks, then `swap` commits. Files that
are equal to the backup, or missing in the backup, as `common/accounting`, are not changed. Called by the program.
Source: adr/0140.
"""

from __future__ import annotations

import filecmp
import os
import pwd
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from daemons.qmaster.backup import archive, swap
from daemons.qmaster.backup.archive import BackupError, Manifest
from daemons.qmaster.backup.contents import Contents, open_backup
from daemons.qmaster.spooling.cell_identity import read_identity
from daemons.runtime.cell import Cell, CellError, read_cell
from daemons.runtime.daemon import DaemonError, PidFile
from gridengine.files.durable import sync_directory

_FIRST = ("act_qmaster", "bootstrap")
"""Files that make a directory a cell. They are replaced first, so that a later process finds a cell and completes the restore."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A file or directory that the cell lacks or has with other content. `source`: its path in the unpacked backup; `target`: in
    the cell; `old`: path of the old file, or None."""

    name: str
    source: Path
    target: Path
    old: Path | None


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore or a dry run. `summary`: the contents of the backup as text; `made`: time of the backup. `changes`:
    what differs in the cell; `completed`: an interrupted restore was completed first."""

    summary: str
    made: str
    changes: list[Replacement]
    completed: bool


def restore(root: Path, name: str, path: Path, now: float, force: bool = False, dry_run: bool = False) -> Restored:
    """Restore the cell `name` below `root`, which may be lost as a whole, from a backup. `force`: accept a backup of another
    cell, directory or host, or with an inconsistent spool. `dry_run`: only list the changes, also for a cell that runs.

    Raises BackupError, CellError. Then the cell is unchanged, or the sentence explains how to complete the restore.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    with open_backup(path) as contents:
        if not force:
            contents.require_invariants(path)
        after = read_cell({"SGE_ROOT": str(contents.directory.parent), "SGE_CELL": contents.directory.name})
        cell = replace(after, root=root, name=name)
        _require_may_restore(cell)
        if not force:
            _require_same(cell, contents.manifest, path, master_host=after.master_host())
        completed, changes = False, _changes(cell, contents, stamp)
        if not dry_run:
            with _hold_locks(cell):
                if completed := swap.complete(cell.common):
                    changes = _changes(cell, contents, stamp)
                if changes:
                    _prepare(cell, contents, changes, stamp)
                    swap.complete(cell.common)
        return Restored(str(contents), contents.manifest.made, changes, completed)


# --- refusals -----------------------------------------------------------------------------------------


def _require_may_restore(cell: Cell) -> None:
    """Check that this user may restore the cell, and that the admin user exists. Raises BackupError."""
    try:
        admin = pwd.getpwnam(cell.admin_user).pw_uid
    except KeyError:
        raise BackupError(f"the admin user of the backup, {cell.admin_user}, is unknown on this host") from None
    if os.geteuid() not in (0, admin):
        raise BackupError(f"only root and the admin user, {cell.admin_user}, may restore this cell")


def _require_same(cell: Cell, manifest: Manifest, path: Path, master_host: str) -> None:
    """Refuse the backup of another cell, directory or host. Raises BackupError, CellError."""
    known = read_identity(cell).id
    if known and known != manifest.cell_id:
        raise BackupError(
            f"{path} is a backup of another cell ({manifest.cell_id}, this one is {known}): --force takes it even so"
        )
    if (str(cell.root), cell.name) != (manifest.root, manifest.cell):
        raise BackupError(
            f"{path} is a backup of the cell {manifest.cell} below {manifest.root}, not of {cell.name} below {cell.root}: "
            "--force takes it even so"
        )
    if (host := cell.own_name()) != master_host:
        raise BackupError(f"this host is {host}, the backup is of the master host {master_host}: --force takes it even so")


@contextmanager
def _hold_locks(cell: Cell) -> Iterator[None]:
    """Prevent the start of a qmaster while the cell is neither the old nor the new cell. Raises BackupError."""
    directories = {cell.qmaster_spool_dir}
    try:
        directories.add(read_cell(cell.environment()).qmaster_spool_dir)
    except CellError:
        pass  # lost or damaged: the purpose of a restore
    locks = []
    try:
        for directory in sorted(directories):
            _make_directory(directory, cell, 0o700)
            locks.append(PidFile(directory / "qmaster.pid", "sge_qmaster"))
        yield
    except DaemonError as fault:
        raise BackupError(f"{fault}: gridengine stop ends it") from fault
    finally:
        for lock in locks:
            lock.release()


# --- changes --------------------------------------------------------------------------------------------


def _changes(cell: Cell, contents: Contents, stamp: str) -> list[Replacement]:
    """Differences between the backup and the cell, in the order of their replacement."""
    directory = contents.directory
    names = sorted(os.listdir(directory / "common"), key=lambda name: (name not in _FIRST, name))
    pairs = [(f"common/{name}", cell.common / name) for name in names]
    pairs += [(name, cell.qmaster_spool_dir / name) for name in (archive.SPOOL, "authority", "keys")]
    changes = []
    for name, target in pairs:
        source = directory / name
        if source.exists() and (not _is_same(source, target) or (name == archive.SPOOL and swap.side_files(target))):
            old = swap.kept_path(target, stamp) if os.path.lexists(target) else None
            changes.append(Replacement(name, source, target, old))
    return changes


def _is_same(first: Path, second: Path) -> bool:
    """Whether the two paths are files, or directories of files, with the same content."""
    if not first.is_dir():
        return second.is_file() and filecmp.cmp(first, second, shallow=False)
    if not second.is_dir():
        return False
    names = set(os.listdir(first))
    return names == set(os.listdir(second)) and all(_is_same(first / name, second / name) for name in names)


def _prepare(cell: Cell, contents: Contents, changes: list[Replacement], stamp: str) -> None:
    """Copy the changes to their target disks, and commit the plan. Raises BackupError; then nothing is changed."""
    directories = (cell.common, cell.qmaster_spool_dir)
    try:
        _make_directory(cell.common, cell, 0o755)
        for directory in directories:
            swap.remove_stages(directory)
            _make_directory(swap.stage_directory(directory, stamp), cell, 0o700)
        for change in changes:
            to = swap.stage_directory(change.target.parent, stamp) / change.target.name
            _copy(cell, contents.manifest, change.name, change.source, to)
        for directory in directories:
            sync_directory(swap.stage_directory(directory, stamp))
        in_common, in_spool = ([each.target.name for each in changes if each.target.parent == here] for here in directories)
        swap.write_plan(cell.common, swap.Plan(stamp, in_common, str(cell.qmaster_spool_dir), in_spool))
    except OSError as error:
        where, why = error.filename or cell.common, error.strerror or error
        raise BackupError(f"nothing was changed: cannot write {where}: {why}") from error
    finally:
        if not (cell.common / swap.PLAN).exists():
            for directory in directories:
                swap.remove_stages(directory)


def _copy(cell: Cell, manifest: Manifest, name: str, source: Path, to: Path) -> None:
    """Copy a file or directory of the backup, with its permissions in the cell. Raises OSError."""
    if source.is_dir():
        to.mkdir(mode=0o700)
        for below in sorted(source.iterdir()):
            _copy(cell, manifest, f"{name}/{below.name}", below, to / below.name)
        sync_directory(to)
        mode = manifest.directories.get(name, 0o700)
    else:
        with source.open("rb") as file, os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
            shutil.copyfileobj(file, copy, 2**20)
            copy.flush()
            os.fsync(copy.fileno())
        mode = manifest.members[name].mode
    is_open = name.startswith("common/") and not name.startswith("common/secrets")
    to.chmod(mode & (0o755 if is_open else 0o700))
    _give_to_admin(to, cell)


def _make_directory(directory: Path, cell: Cell, mode: int) -> None:
    """Create a missing directory of the cell. Raises OSError."""
    if not directory.exists():
        directory.mkdir(mode=mode, parents=True)
        _give_to_admin(directory, cell)


def _give_to_admin(path: Path, cell: Cell) -> None:
    """Give a file to the admin user, if root restores it."""
    owner = pwd.getpwnam(cell.admin_user)
    if os.geteuid() == 0 and owner.pw_uid != 0:
        os.chown(path, owner.pw_uid, owner.pw_gid)
