"""Make a backup of a cell, whole or not at all.

Owns the selection of the files of a cell. SQLite copies the spool while its qmaster writes. The backup is written in the
directory `FILE.part`, read back, and renamed to FILE; a failure leaves neither. Called by the program and by `daily`.
Source: adr/0140.
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
from daemons.qmaster.backup.archive import BackupError, Manifest
from daemons.qmaster.backup.contents import open_backup
from daemons.qmaster.backup.swap import PLAN, is_restore_file
from daemons.qmaster.spooling import spool_file, spool_versions
from daemons.qmaster.spooling.cell_identity import read_identity
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.locks import try_lock
from gridengine.files.durable import sync_directory

_LARGE = ("accounting", "reporting", "schedule")
"""Prefixes of names of files in `common/` that grow with the age of the cell, and of their rotated files."""
_RESERVE_BYTES = 2**26
"""Bytes that a backup leaves free on its disk, which may be the disk of the spool."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A backup, `path`, that was made and read back. `summary`: its jobs, queues …, as text; `size`: bytes."""

    path: Path
    summary: str
    size: int


def save(cell: Cell, path: Path, now: float, accounting: bool = False, force: bool = False) -> Saved:
    """Make a backup of a cell, on its master host. `accounting`: include the growing files of `common/`; `force`: replace an
    existing file. Raises BackupError, SpoolError, CellError; then an existing file is unchanged.
    """
    _require_may_save(cell)
    path = path.absolute()
    if path.exists() and not force:
        raise BackupError(f"{path} exists already: name another file, or use --force")
    try:
        files, directories = _list_files(cell, accounting)
        _require_space(path.parent, cell, files)
        with _work_directory(path) as work:
            spool = work / archive.SPOOL
            spool_file.copy(cell.spool, spool)
            manifest = _manifest(cell, spool, now)
            manifest.directories = directories
            made = work / "archive"
            archive.write(made, manifest, {archive.SPOOL: spool, **files})
            spool.unlink()
            with open_backup(made, beside=work) as contents:
                contents.require_invariants(path)
                summary = str(contents)
            size = made.stat().st_size
            made.rename(path)
        sync_directory(path.parent)
    except OSError as error:
        raise BackupError(f"cannot write {error.filename or path}: {error.strerror or error}") from error
    return Saved(path, summary, size)


def _require_may_save(cell: Cell) -> None:
    """Check the host, the user, and that the cell is whole. Raises BackupError."""
    if (host := cell.own_name()) != (master := cell.master_host()):
        raise BackupError(f"this host is {host}: a backup is made on the master host, {master}")
    if os.geteuid() not in (0, cell.common.stat().st_uid):
        raise BackupError(f"only root and the admin user, {cell.admin_user}, may make a backup: it holds the keys of the cell")
    if not cell.spool.exists():
        raise BackupError(f"{cell.spool} is missing: this cell has not run yet, or its spool is lost")
    if not os.access(cell.spool, os.R_OK | os.W_OK):
        raise BackupError(f"you may not read {cell.spool}: make the backup as the user that the qmaster runs as")
    if (cell.common / PLAN).exists():
        raise BackupError("a restore of this cell was interrupted: gridengine start completes it")


def _list_files(cell: Cell, accounting: bool) -> tuple[dict[str, Path], dict[str, int]]:
    """The files to save besides the spool, by their names in the archive, and the permissions of their directories."""
    files: dict[str, Path] = {}
    directories: dict[str, int] = {}
    spool = cell.qmaster_spool_dir
    for area, top in (("common", cell.common), ("authority", spool / "authority"), ("keys", spool / "keys")):
        for directory, below, names in os.walk(top):
            here = Path(directory)
            prefix = (Path(area) / here.relative_to(top)).as_posix()
            directories[prefix] = here.stat().st_mode & 0o777
            if here == top:
                below[:] = [name for name in below if _belongs_to_cell(name, True)]
                names = [name for name in names if _belongs_to_cell(name, accounting or area != "common")]
            files |= {f"{prefix}/{name}": here / name for name in sorted(names) if (here / name).is_file()}
    return files, directories


def _belongs_to_cell(name: str, accounting: bool) -> bool:
    """Whether a name at the top of an area belongs to the cell: not a draft, a file of a restore, or an excluded growing file."""
    return not name.startswith(".") and not is_restore_file(name) and (accounting or not name.startswith(_LARGE))


def _require_space(directory: Path, cell: Cell, files: dict[str, Path]) -> None:
    """Refuse a backup that would fill a disk: it may be the disk of the spool, which must stay writable. Raises BackupError."""
    sides = [side for side in cell.spool.parent.glob(f"{cell.spool.name}*") if not is_restore_file(side.name)]
    need = 3 * sum(path.stat().st_size for path in (*sides, *files.values())) + _RESERVE_BYTES
    free = shutil.disk_usage(directory).free
    if free < need:
        raise BackupError(f"{directory} has {free // 2**20} MB left, a backup may take {need // 2**20} MB while it is made")


@contextmanager
def _work_directory(path: Path) -> Iterator[Path]:
    """The directory `FILE.part`, for this backup alone; leftovers of a killed process are removed first."""
    work = path.with_name(f"{path.name}.part")
    work.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not try_lock(descriptor):
            raise BackupError(f"another backup to {path} is being made")
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise BackupError(f"{work} belongs to another user: name a file in a directory that only you can write to")
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
    """The manifest of this backup, without members. Raises CellError, SpoolError."""
    spool_versions.check(spool)
    with apsw.Connection(str(spool)) as db:
        version, owner = spool_file.recall(db, spool_versions.KEY), spool_file.recall(db, spool_file.CELL)
    known = read_identity(cell).id
    if known != owner:
        raise CellError(f"{cell.spool} is of the cell {owner or 'without a name'}, {cell.cell_id_file} has {known or 'nothing'}")
    return Manifest(
        cell_id=owner,
        root=str(cell.root),
        cell=cell.name,
        master_host=cell.master_host(),
        spool_version=int(version or 1),
        made=datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
    )
