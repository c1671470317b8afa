"""The file of the spool: private to its owner, a single file after a clean stop, and marked with the cell it belongs to.

Owns the opening of `spool.db` and its table of facts (`meta`); `spool` owns the other tables. Light: no state, no Ray. Called
by `spool`, by `cell_identity` before the start, by the supervisor after the end of all actors, and by backups.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import apsw

from gridengine.errors import UnavailableError, plain_fault

CELL = "cell"
"""Key of the id of the spool's cell; missing in spools of versions without ids."""
INCARNATION = "incarnation"
"""Key of the incarnation of the last qmaster; each qmaster has a higher incarnation than all before it."""
COMMIT = "commit"
"""Key of the number of the last commit, which is counted only for replicas on other hosts."""
VOTERS = "voters"
"""Key of the voters, who grant the right to be the master: a list of sets of host names, JSON."""
_CLOSED, _CLOSED_DIRECTORY = 0o600, 0o700
_SIDES = ("-wal", "-shm")
_STATE = ("journal", "snapshot")
_PROBE_BYTES = 1 << 18
"""Enough for many transactions."""
BACKUP_PAGES = 2048
"""Pages that a copy reads in one step."""
_META = "create table if not exists meta(key text primary key, value text) without rowid"


class SpoolError(UnavailableError):
    """The spool could not be read or written; the text names the file and the reason."""


def write_fault(path: Path, error: BaseException) -> SpoolError:
    """The error for a file of the spool that cannot be written. It names the host and the full or broken file system, because
    users of all hosts read it."""
    mount_point = Path(os.path.realpath(path.parent))
    while not os.path.ismount(mount_point):  # Path.is_mount raises on a broken disk
        mount_point = mount_point.parent
    host, reason = socket.gethostname(), plain_fault(error)
    return SpoolError(f"cannot write spool {path} on host {host}, file system {mount_point}: {reason}")


class SpoolPosition(NamedTuple):
    """The position of a spool or replica: equal positions mean equal content. Later positions are greater; (0, 0): unknown.
    `incarnation`: of the qmaster that wrote it; `commit`: number of the last commit."""

    incarnation: int = 0
    commit: int = 0


def connect(path: Path) -> apsw.Connection:
    """Open the spool with access only for its owner; a missing spool is created. Raises SpoolError.

    SQLite gives its side files the mode of the database, so the mode is set before SQLite creates side files.
    """
    try:
        make_closed(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _CLOSED))
        for file in (path, *(path.with_name(path.name + side) for side in _SIDES)):
            if file.exists():
                file.chmod(_CLOSED)
        db = apsw.Connection(str(path))
        db.set_busy_timeout(5000)
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute(_META)
    except (apsw.Error, OSError) as error:
        raise SpoolError(f"cannot open spool {path}: {plain_fault(error)}") from error
    return db


def sync_log(db: apsw.Connection) -> None:
    """Sync all readable commits to the disk. Raises apsw.Error.

    A process that was killed between a write and its sync leaves commits that are visible, but that a power failure would undo,
    although readers rely on them. SQLite syncs its log before it copies pages from the log into the database.
    """
    with suppress(apsw.FullError):  # the disk had no space for the pages; by then the log is synced
        db.execute("pragma wal_checkpoint(passive)")


def probe_space(directory: Path) -> None:
    """Check for free space in a directory by allocating and freeing `_PROBE_BYTES`. Raises OSError."""
    with TemporaryFile(dir=directory) as file:
        os.posix_fallocate(file.fileno(), 0, _PROBE_BYTES)


def make_closed(directory: Path) -> None:
    """Create the directory of the spool, or remove the access of other users to it. Raises OSError."""
    directory.mkdir(mode=_CLOSED_DIRECTORY, parents=True, exist_ok=True)
    directory.chmod(_CLOSED_DIRECTORY)


def recall(db: apsw.Connection, key: str) -> str:
    """A small fact that is stored beside the state, "" for a missing fact."""
    row = db.execute("select value from meta where key=?", (key,)).fetchone()
    return str(row[0]) if row else ""


def remember(db: apsw.Connection, key: str, value: str) -> None:
    """Store a fact, in a commit of its own unless a transaction is open. Raises apsw.Error."""
    db.execute("insert or replace into meta values(?,?)", (key, value))


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """A transaction: all writes within it succeed, or none. A nested transaction is a part of the outer transaction.

    Raises apsw.Error: the original error, also if SQLite itself has rolled back, as it does when the disk is full.
    """
    if db.in_transaction:
        yield
        return
    db.execute("begin")
    try:
        yield
        db.execute("commit")
    except BaseException:
        with suppress(apsw.Error):
            if db.in_transaction:
                db.execute("rollback")
        raise


def position_of(db: apsw.Connection) -> SpoolPosition:
    """The position of an open spool with a table of facts. Raises apsw.Error."""
    return SpoolPosition(int(recall(db, INCARNATION) or 0), int(recall(db, COMMIT) or 0))


def position(path: Path) -> SpoolPosition:
    """The position of a spool file, (0, 0) for a missing file. Raises SpoolError."""
    if not path.exists() or not path.stat().st_size:
        return SpoolPosition()
    try:
        with closing(_for_reading(path)) as db:
            known = db.execute("select 1 from sqlite_master where name='meta'").fetchone()
            return position_of(db) if known else SpoolPosition()
    except (apsw.Error, ValueError) as error:
        raise SpoolError(f"cannot read spool {path}: {error}") from error


def read_fact(path: Path, key: str) -> str:
    """A small fact of a spool file, "" for a missing file or fact. Raises SpoolError."""
    if not path.exists() or not path.stat().st_size:
        return ""
    try:
        with closing(_for_reading(path)) as db:
            return recall(db, key)
    except apsw.Error as error:
        raise SpoolError(f"cannot read spool {path}: {error}") from error


def count_commit(db: apsw.Connection) -> SpoolPosition:
    """Count the open transaction as the next commit, and return the position after it. Raises apsw.Error."""
    incarnation, commit = position_of(db)
    remember(db, COMMIT, str(commit + 1))
    return SpoolPosition(incarnation, commit + 1)


def inspect_spool(path: Path) -> tuple[bool, str]:
    """Whether a spool exists and has data, and the id of its cell ("" without a mark). Raises SpoolError."""
    if not path.exists() or not path.stat().st_size:
        return False, ""
    db = connect(path)
    try:
        tables = {row[0] for row in db.execute("select name from sqlite_master where type='table'")}
        holds = any(db.execute(f"select 1 from {table} limit 1").fetchone() for table in _STATE if table in tables)
        return holds, recall(db, CELL)
    except apsw.Error as error:
        raise SpoolError(f"cannot read spool {path}: {error}") from error
    finally:
        db.close()


def ends_within_a_page(path: Path) -> bool:
    """Whether a spool is truncated within a page; SQLite would read the missing part of the page as zeros.

    SQLite counts the pages, and so detects missing whole pages by itself. With a log beside the file the end may be in the log.
    Source: the SQLite file format, 1.3.2 and 4.
    """
    log = path.with_name(path.name + _SIDES[0])
    if log.exists() and log.stat().st_size:
        return False
    with path.open("rb") as file:
        page = int.from_bytes(file.read(18)[16:], "big")
    return page > 1 and path.stat().st_size % page != 0  # 1 stands for 65536


def remove(path: Path) -> None:
    """Remove a spool that no process has open, if it exists. Raises OSError."""
    path.unlink(missing_ok=True)
    remove_sides(path)


def remove_sides(path: Path) -> None:
    """Remove the side files of a spool that no process has open; commits that are only in them are lost. Raises OSError."""
    for side in _SIDES:
        path.with_name(path.name + side).unlink(missing_ok=True)


def leftover_side_file(path: Path) -> Path | None:
    """A side file without its spool; SQLite would take its content into the next spool."""
    sides = [path.with_name(path.name + side) for side in _SIDES]
    return next((side for side in sides if side.exists() and not path.exists()), None)


def mark(path: Path, cell: str) -> None:
    """Write the id of the cell into the spool; a missing spool is created. Raises SpoolError."""
    db = connect(path)
    try:
        remember(db, CELL, cell)
        db.close()
    except apsw.Error as error:
        raise write_fault(path, error) from error


def copy(path: Path, to: Path) -> None:
    """Copy the present content of the spool into a new file, also while its qmaster writes; the qmaster never waits for the
    copy. The copy contains its position.

    One read transaction lasts for the whole copy, so writes meanwhile stay in the side file and do not restart the copy.
    Raises SpoolError. Source: https://www.sqlite.org/backup.html.
    """
    try:
        os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _CLOSED))
        with closing(_for_reading(path)) as db, closing(apsw.Connection(str(to))) as made:
            db.execute("begin")
            db.execute("select count(*) from sqlite_master").fetchall()
            with made.backup("main", db, "main") as backup:
                while not backup.done:
                    backup.step(BACKUP_PAGES)
    except (apsw.Error, OSError) as error:
        raise SpoolError(f"cannot copy spool {path} to {to}: {plain_fault(error)}") from error


def find_damage(path: Path) -> str:
    """Damage of the pages of a spool that SQLite reports, in one line; "" for none."""
    try:
        with closing(_for_reading(path)) as db:
            lines = [str(row[0]) for row in db.execute("pragma integrity_check(1)")]
    except apsw.Error as error:
        return str(error)
    return "" if lines == ["ok"] else " ".join(" ".join(lines).split())


def _for_reading(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(5000)
    return db


def merge_log(path: Path) -> None:
    """Merge the log into the database file, which may then be copied or moved without side files. Raises SpoolError.

    The caller ensures that no other process has the spool open; SQLite removes the side files with the last connection.
    """
    if not path.exists():
        return
    db = connect(path)
    try:
        db.execute("pragma wal_checkpoint(truncate)")
        db.close()
    except apsw.Error as error:
        raise SpoolError(f"cannot make spool {path} whole: {error}") from error
