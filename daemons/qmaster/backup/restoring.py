"""A backup becomes the cell: what is refused, what changes, and the copies that are prepared beside what they replace.

Owns the order of things: the backup is verified, everything is prepared on the disks where it will lie, then `swap` decides.
What a backup has alike is left alone; what it lacks, as `common/accounting`, too. Called by the program. Source: adr/0140.
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
from daemons.qmaster.backup.archive import BackupFault, Manifest
from daemons.qmaster.backup.contents import Contents, opened
from daemons.qmaster.spooling.cell_identity import read_identity
from daemons.runtime.cell import Cell, CellFault, read_cell
from daemons.runtime.daemon import DaemonFault, PidFile

_FIRST = ("act_qmaster", "bootstrap")
"""What makes a directory a cell: first, `bootstrap` with what it needs, so that whoever completes the restore finds one."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Something of the backup that the cell has not, or has otherwise. `old`: where what is there is kept; None: nothing is."""

    name: str
    source: Path
    target: Path
    old: Path | None


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done, or would be. `what`: the backup in words; `made`: when it was."""

    what: str
    made: str
    changes: list[Replacement]
    completed: bool


def restore(root: Path, name: str, path: Path, now: float, force: bool = False, dry_run: bool = False) -> Restored:
    """Make a backup the cell `name` below `root`, which may be lost as a whole. `force`: also of another cell, place or host, or
    with a spool that does not fit together; `dry_run`: only say what would change, also
    of a cell that runs.

    Raises BackupFault, CellFault; the cell is as it was, or the sentence says how the restore is completed.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    with opened(path) as contents:
        if not force:
            contents.require_laws(path)
        after = read_cell({"SGE_ROOT": str(contents.place.parent), "SGE_CELL": contents.place.name})
        cell = replace(after, root=root, name=name)
        _may_restore(cell)
        if not force:
            _require_same(cell, contents.manifest, path, master_host=after.master_host())
        completed, changes = False, _changes(cell, contents, stamp)
        if not dry_run:
            with _locked(cell):
                if completed := swap.complete(cell.common):
                    changes = _changes(cell, contents, stamp)
                if changes:
                    _prepare(cell, contents, changes, stamp)
                    swap.complete(cell.common)
        return Restored(str(contents), contents.manifest.made, changes, completed)


# --- what is refused -----------------------------------------------------------------------------------------


def _may_restore(cell: Cell) -> None:
    """Raises BackupFault: somebody who may not, or an owner of the files who is not known."""
    try:
        admin = pwd.getpwnam(cell.admin_user).pw_uid
    except KeyError:
        raise BackupFault(f"the admin user of the backup, {cell.admin_user}, is not known on this host") from None
    if os.geteuid() not in (0, admin):
        raise BackupFault(f"only root and the admin user, {cell.admin_user}, may restore this cell")


def _require_same(cell: Cell, manifest: Manifest, path: Path, master_host: str) -> None:
    """Refuse the backup of another cell, place or host. Raises BackupFault, CellFault."""
    known = read_identity(cell).id
    if known and known != manifest.cell_id:
        raise BackupFault(
            f"{path} is a backup of another cell ({manifest.cell_id}, this one is {known}): --force takes it even so"
        )
    if (str(cell.root), cell.name) != (manifest.root, manifest.cell):
        raise BackupFault(
            f"{path} is a backup of the cell {manifest.cell} below {manifest.root}, not of {cell.name} below {cell.root}: "
            "--force takes it even so"
        )
    if (host := cell.own_name()) != master_host:
        raise BackupFault(f"this host is {host}, the backup is of the master host {master_host}: --force takes it even so")


@contextmanager
def _locked(cell: Cell) -> Iterator[None]:
    """Keep a qmaster from being started, as long as the cell is neither the old nor the new one. Raises BackupFault."""
    directories = {cell.qmaster_spool_dir}
    try:
        directories.add(read_cell(cell.environment()).qmaster_spool_dir)
    except CellFault:
        pass  # lost, or damaged: that is what a restore is for
    locks = []
    try:
        for directory in sorted(directories):
            _make_directory(directory, cell, 0o700)
            locks.append(PidFile(directory / "qmaster.pid", "sge_qmaster"))
        yield
    except DaemonFault as fault:
        raise BackupFault(f"{fault}: gridengine stop ends it") from fault
    finally:
        for lock in locks:
            lock.release()


# --- what changes --------------------------------------------------------------------------------------------


def _changes(cell: Cell, contents: Contents, stamp: str) -> list[Replacement]:
    """What the backup has otherwise than the cell, in the order in which it is put in its place."""
    place = contents.place
    names = sorted(os.listdir(place / "common"), key=lambda name: (name not in _FIRST, name))
    pairs = [(f"common/{name}", cell.common / name) for name in names]
    pairs += [(name, cell.qmaster_spool_dir / name) for name in (archive.SPOOL, "authority", "keys")]
    changes = []
    for name, target in pairs:
        source = place / name
        if source.exists() and (not _is_like(source, target) or (name == archive.SPOOL and swap.sides(target))):
            old = swap.kept(target, stamp) if os.path.lexists(target) else None
            changes.append(Replacement(name, source, target, old))
    return changes


def _is_like(one: Path, other: Path) -> bool:
    """Whether both are files, or directories of files, with the same content."""
    if not one.is_dir():
        return other.is_file() and filecmp.cmp(one, other, shallow=False)
    if not other.is_dir():
        return False
    names = set(os.listdir(one))
    return names == set(os.listdir(other)) and all(_is_like(one / name, other / name) for name in names)


def _prepare(cell: Cell, contents: Contents, changes: list[Replacement], stamp: str) -> None:
    """Copy what changes to the disks where it will lie, and decide. Raises BackupFault, with nothing changed."""
    directories = (cell.common, cell.qmaster_spool_dir)
    try:
        _make_directory(cell.common, cell, 0o755)
        for directory in directories:
            swap.clear(directory)
            _make_directory(swap.stage(directory, stamp), cell, 0o700)
        for change in changes:
            to = swap.stage(change.target.parent, stamp) / change.target.name
            _copy(cell, contents.manifest, change.name, change.source, to)
        for directory in directories:
            swap.sync(swap.stage(directory, stamp))
        in_common, in_spool = ([each.target.name for each in changes if each.target.parent == here] for here in directories)
        swap.decide(cell.common, swap.Plan(stamp, in_common, str(cell.qmaster_spool_dir), in_spool))
    except OSError as error:
        where, why = error.filename or cell.common, error.strerror or error
        raise BackupFault(f"nothing was changed: cannot write {where}: {why}") from error
    finally:
        if not (cell.common / swap.PLAN).exists():
            for directory in directories:
                swap.clear(directory)


def _copy(cell: Cell, manifest: Manifest, name: str, source: Path, to: Path) -> None:
    """Copy a file or directory of the backup, with the rights that it had in the cell. Raises OSError."""
    if source.is_dir():
        to.mkdir(mode=0o700)
        for below in sorted(source.iterdir()):
            _copy(cell, manifest, f"{name}/{below.name}", below, to / below.name)
        swap.sync(to)
        mode = manifest.directories.get(name, 0o700)
    else:
        with source.open("rb") as file, os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
            shutil.copyfileobj(file, copy, 2**20)
            copy.flush()
            os.fsync(copy.fileno())
        mode = manifest.members[name].mode
    is_open = name.startswith("common/") and not name.startswith("common/secrets")
    to.chmod(mode & (0o755 if is_open else 0o700))
    _give(to, cell)


def _make_directory(directory: Path, cell: Cell, mode: int) -> None:
    """Raises OSError."""
    if not directory.exists():
        directory.mkdir(mode=mode, parents=True)
        _give(directory, cell)


def _give(path: Path, cell: Cell) -> None:
    """Make a file the admin user's, where root restores it."""
    owner = pwd.getpwnam(cell.admin_user)
    if os.geteuid() == 0 and owner.pw_uid != 0:
        os.chown(path, owner.pw_uid, owner.pw_gid)
