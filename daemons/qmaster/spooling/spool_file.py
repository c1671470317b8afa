"""The file of the spool as a file: closed to other users, whole after a clean stop, and marked with the cell it belongs to.

Owns how `spool.db` is opened and its table of facts (`meta`); what else is in it is `spool`'s. Light: no state, no Ray. Called
by `spool`, by `identity` before anything is started, by the supervisor when everything has ended, and by backups.
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

from gridengine.errors import plain_fault

CELL = "cell"
"""Key of the id of the cell whose spool this is; none in spools of versions that knew no ids."""
INCARNATION = "incarnation"
"""Key of the number of the qmaster that had it last: each is higher than those before."""
COMMIT = "commit"
"""Key of the number of the last commit, which is counted for copies on other hosts alone."""
VOTERS = "voters"
"""Key of those who grant the right to be the master: a list of sets of host names, JSON."""
_CLOSED, _CLOSED_DIRECTORY = 0o600, 0o700
_SIDES = ("-wal", "-shm")
_STATE = ("journal", "snapshot")
_ROOM_BYTES = 1 << 18
"""As much as many transactions take."""
_PAGES = 2048
"""Pages that a copy takes at once."""
_META = "create table if not exists meta(key text primary key, value text) without rowid"


class SpoolError(Exception):
    """The spool could not be read or written; the text says which file and why."""


def write_fault(path: Path, error: BaseException) -> SpoolError:
    """Why a file of the spool cannot be written: with the host and the file system that have no room, or are broken, since users
    of all hosts read it."""
    place = Path(os.path.realpath(path.parent))
    while not os.path.ismount(place):  # Path.is_mount raises on a broken disk
        place = place.parent
    return SpoolError(f"cannot write spool {path} on host {socket.gethostname()}, file system {place}: {plain_fault(error)}")


class SpoolPosition(NamedTuple):
    """How far a spool or a copy of it is: two of one position hold the same. Later ones are greater; (0, 0): nothing is known."""

    incarnation: int = 0
    commit: int = 0


def connect(path: Path) -> apsw.Connection:
    """Open the spool, for nobody else's eyes; made where there is none. Raises SpoolError.

    SQLite gives its side files the mode of the database, so that must be closed before they are made.
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


def settle(db: apsw.Connection) -> None:
    """Have all that can be read reach the disk. Raises apsw.Error.

    A process that was killed between a write and its sync leaves commits that are seen, and that a loss of power would take back:
    whoever reads them would count on them. SQLite brings its log to the disk before it takes pages out of it.
    """
    with suppress(apsw.FullError):  # there was no room for the pages; the log is there by then
        db.execute("pragma wal_checkpoint(passive)")


def take_room(directory: Path) -> None:
    """See whether there is room in a directory for what comes: it is taken and given back. Raises OSError."""
    with TemporaryFile(dir=directory) as file:
        os.posix_fallocate(file.fileno(), 0, _ROOM_BYTES)


def make_closed(directory: Path) -> None:
    """Make the spool's directory, or close it to others. Raises OSError."""
    directory.mkdir(mode=_CLOSED_DIRECTORY, parents=True, exist_ok=True)
    directory.chmod(_CLOSED_DIRECTORY)


def recall(db: apsw.Connection, key: str) -> str:
    """A small fact kept beside the state, "" when there is none."""
    row = db.execute("select value from meta where key=?", (key,)).fetchone()
    return str(row[0]) if row else ""


def remember(db: apsw.Connection, key: str, value: str) -> None:
    """Keep a fact, in a commit of its own unless one is open. Raises apsw.Error."""
    db.execute("insert or replace into meta values(?,?)", (key, value))


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """All that is written within, or nothing; within another one it is a part of that. Raises apsw.Error: the one that was the
    reason, also where SQLite itself has taken back everything, as it does when the disk is full."""
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
    """How far a spool is; it has its table of facts. Raises apsw.Error."""
    return SpoolPosition(int(recall(db, INCARNATION) or 0), int(recall(db, COMMIT) or 0))


def position(path: Path) -> SpoolPosition:
    """How far a spool is that nobody need have open, (0, 0) where there is none. Raises SpoolError."""
    if not path.exists() or not path.stat().st_size:
        return SpoolPosition()
    try:
        with closing(_for_reading(path)) as db:
            known = db.execute("select 1 from sqlite_master where name='meta'").fetchone()
            return position_of(db) if known else SpoolPosition()
    except (apsw.Error, ValueError) as error:
        raise SpoolError(f"cannot read spool {path}: {error}") from error


def fact(path: Path, key: str) -> str:
    """A small fact of a spool that nobody need have open, "" where there is none. Raises SpoolError."""
    if not path.exists() or not path.stat().st_size:
        return ""
    try:
        with closing(_for_reading(path)) as db:
            return recall(db, key)
    except apsw.Error as error:
        raise SpoolError(f"cannot read spool {path}: {error}") from error


def count_commit(db: apsw.Connection) -> SpoolPosition:
    """Note in the transaction that is open that it is the next commit, and return the position after it. Raises apsw.Error."""
    incarnation, commit = position_of(db)
    remember(db, COMMIT, str(commit + 1))
    return SpoolPosition(incarnation, commit + 1)


def look(path: Path) -> tuple[bool, str]:
    """Whether there is a spool that holds anything, and of which cell it is ("" without a mark). Raises SpoolError."""
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
    """Whether a spool has lost its end, of which SQLite would take what is missing of a page for zeros.

    It counts the pages, so it sees by itself if whole ones are missing. With a log beside the file the end may be in that.
    Source: the SQLite file format, 1.3.2 and 4.
    """
    log = path.with_name(path.name + _SIDES[0])
    if log.exists() and log.stat().st_size:
        return False
    with path.open("rb") as file:
        page = int.from_bytes(file.read(18)[16:], "big")
    return page > 1 and path.stat().st_size % page != 0  # 1 stands for 65536


def remove(path: Path) -> None:
    """Remove a spool that nobody has open, if there is one. Raises OSError."""
    path.unlink(missing_ok=True)
    remove_sides(path)


def remove_sides(path: Path) -> None:
    """Remove the side files of a spool that nobody has open, and what is in them alone. Raises OSError."""
    for side in _SIDES:
        path.with_name(path.name + side).unlink(missing_ok=True)


def left_over(path: Path) -> Path | None:
    """A side file without its spool: SQLite would take what is in it into the next one."""
    sides = [path.with_name(path.name + side) for side in _SIDES]
    return next((side for side in sides if side.exists() and not path.exists()), None)


def mark(path: Path, cell: str) -> None:
    """Say in the spool which cell it is of; made where there is none. Raises SpoolError."""
    db = connect(path)
    try:
        remember(db, CELL, cell)
        db.close()
    except apsw.Error as error:
        raise write_fault(path, error) from error


def copy(path: Path, to: Path) -> None:
    """Copy the spool as it is at this moment into a new file, also while its qmaster writes: that is never kept waiting. The
    copy says itself at which position that was.

    One reading transaction lasts for the whole copy, so what is written meanwhile stays in the side file, and the copy need not
    begin anew for it. Raises SpoolError. Source: https://www.sqlite.org/backup.html.
    """
    try:
        os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _CLOSED))
        with closing(_for_reading(path)) as db, closing(apsw.Connection(str(to))) as made:
            db.execute("begin")
            db.execute("select count(*) from sqlite_master").fetchall()
            with made.backup("main", db, "main") as backup:
                while not backup.done:
                    backup.step(_PAGES)
    except (apsw.Error, OSError) as error:
        raise SpoolError(f"cannot copy spool {path} to {to}: {plain_fault(error)}") from error


def damage(path: Path) -> str:
    """What SQLite finds wrong with the pages of a spool, in one line; "" if nothing is."""
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


def make_whole(path: Path) -> None:
    """Take everything into the one file, so that it may be copied or moved without its side files. Raises SpoolError.

    To be called when nobody else has it open; SQLite removes the side files with the last connection.
    """
    if not path.exists():
        return
    db = connect(path)
    try:
        db.execute("pragma wal_checkpoint(truncate)")
        db.close()
    except apsw.Error as error:
        raise SpoolError(f"cannot make spool {path} whole: {error}") from error
