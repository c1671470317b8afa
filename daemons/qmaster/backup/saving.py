"""A backup is made: what of a cell is saved, and how the file comes to be, whole or not at all.

Owns which files belong to a cell; the spool is copied by SQLite while its qmaster writes. Everything is made in the directory
`FILE.part`, read back, and renamed to FILE; a failure leaves neither. Called by the program and by `daily`. Source: adr/0140.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from daemons.qmaster.backup import archive
from daemons.qmaster.backup.archive import BackupFault, Manifest
from daemons.qmaster.backup.contents import opened
from daemons.qmaster.backup.swap import PLAN, is_left_by_a_restore, sync
from daemons.qmaster.spooling import spool_file, spool_versions
from daemons.qmaster.spooling.cell_identity import read_identity
from daemons.runtime.cell import Cell, CellFault
from daemons.runtime.locks import try_lock

_LARGE = ("accounting", "reporting", "schedule")
"""Beginnings of names of files in `common/` that grow with the cell's age, and of what is left of them by rotation."""
_SPARE = 2**26
"""Bytes that a backup leaves free on its disk beyond what it needs: the spool may lie there, too."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A backup that was made and read back. `what`: its jobs, queues …, in words; `size`: bytes."""

    path: Path
    what: str
    size: int


def save(cell: Cell, path: Path, now: float, accounting: bool = False, force: bool = False) -> Saved:
    """Make a backup of a cell, on its master host. `accounting`: with the files of `common/` that grow; `force`: in the place of
    an earlier file. Raises BackupFault, SpoolError, CellFault; the file is as it was then.
    """
    _may_save(cell)
    path = path.absolute()
    if path.exists() and not force:
        raise BackupFault(f"{path} is there already: name another file, or say --force")
    try:
        files, directories = _files(cell, accounting)
        _require_room(path.parent, cell, files)
        with _work_directory(path) as work:
            spool = work / archive.SPOOL
            spool_file.copy(cell.spool, spool)
            manifest = _manifest(cell, spool, now)
            manifest.directories = directories
            made = work / "archive"
            archive.write(made, manifest, {archive.SPOOL: spool, **files})
            spool.unlink()
            with opened(made, beside=work) as contents:
                contents.require_laws(path)
                what = str(contents)
            size = made.stat().st_size
            made.rename(path)
        sync(path.parent)
    except OSError as error:
        raise BackupFault(f"cannot write {error.filename or path}: {error.strerror or error}") from error
    return Saved(path, what, size)


def _may_save(cell: Cell) -> None:
    """Raises BackupFault: a wrong host, somebody who may not, or a cell that is not whole."""
    if (host := cell.own_name()) != (master := cell.master_host()):
        raise BackupFault(f"this host is {host}: a backup is made on the master host, {master}")
    if os.geteuid() not in (0, cell.common.stat().st_uid):
        raise BackupFault(f"only root and the admin user, {cell.admin_user}, may make a backup: it holds the keys of the cell")
    if not cell.spool.exists():
        raise BackupFault(f"{cell.spool} is not there: this cell has not run yet, or its spool is lost")
    if not os.access(cell.spool, os.R_OK | os.W_OK):
        raise BackupFault(f"{cell.spool} is not yours to read: let the user make the backup as whom the qmaster runs")
    if (cell.common / PLAN).exists():
        raise BackupFault("a restore of this cell was interrupted: gridengine start completes it")


def _files(cell: Cell, accounting: bool) -> tuple[dict[str, Path], dict[str, int]]:
    """What is saved besides the spool: the files by their names in the archive, and the rights of their directories."""
    files: dict[str, Path] = {}
    directories: dict[str, int] = {}
    spool = cell.qmaster_spool_dir
    for area, top in (("common", cell.common), ("authority", spool / "authority"), ("keys", spool / "keys")):
        for directory, below, names in os.walk(top):
            here = Path(directory)
            prefix = (Path(area) / here.relative_to(top)).as_posix()
            directories[prefix] = here.stat().st_mode & 0o777
            if here == top:
                below[:] = [name for name in below if _belongs(name, True)]
                names = [name for name in names if _belongs(name, accounting or area != "common")]
            files |= {f"{prefix}/{name}": here / name for name in sorted(names) if (here / name).is_file()}
    return files, directories


def _belongs(name: str, accounting: bool) -> bool:
    """Whether something at the top of an area is the cell's: no draft, nothing of a restore, and none of the large files."""
    return not name.startswith(".") and not is_left_by_a_restore(name) and (accounting or not name.startswith(_LARGE))


def _require_room(directory: Path, cell: Cell, files: dict[str, Path]) -> None:
    """Refuse what would fill a disk, on which the spool may lie: a qmaster that cannot write ends. Raises BackupFault."""
    sides = [side for side in cell.spool.parent.glob(f"{cell.spool.name}*") if not is_left_by_a_restore(side.name)]
    need = 3 * sum(path.stat().st_size for path in (*sides, *files.values())) + _SPARE
    free = shutil.disk_usage(directory).free
    if free < need:
        raise BackupFault(f"{directory} has {free // 2**20} MB left, a backup may take {need // 2**20} MB while it is made")


@contextmanager
def _work_directory(path: Path) -> Iterator[Path]:
    """The directory `FILE.part`, for this backup alone; one that a killed process left is taken away first."""
    work = path.with_name(f"{path.name}.part")
    work.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not try_lock(descriptor):
            raise BackupFault(f"another backup to {path} is being made")
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise BackupFault(f"{work} is somebody else's: name a file in a directory where nobody else writes")
        os.fchmod(descriptor, 0o700)
        _empty(work)
        try:
            yield work
        finally:
            _empty(work)
            with suppress(OSError):
                work.rmdir()
    finally:
        os.close(descriptor)


def _empty(directory: Path) -> None:
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def _manifest(cell: Cell, spool: Path, now: float) -> Manifest:
    """Raises CellFault, SpoolError."""
    spool_versions.check(spool)
    with apsw.Connection(str(spool)) as db:
        version, owner = spool_file.recall(db, spool_versions.KEY), spool_file.recall(db, spool_file.CELL)
    known = read_identity(cell).id
    if known != owner:
        raise CellFault(f"{cell.spool} is of the cell {owner or 'without a name'}, {cell.cell_id_file} says {known or 'nothing'}")
    return Manifest(
        cell_id=owner,
        root=str(cell.root),
        cell=cell.name,
        master_host=cell.master_host(),
        spool_version=int(version or 1),
        made=datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
    )
