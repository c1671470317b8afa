"""DuckDB: a database in one file, for cells without a server.

Owns how the contract of `database` is met there. The file belongs to one process, so questions are asked in processes that are
forked from it, which read by the descriptor that they inherit. So that what they read stays where it is, the database writes into
its file (a checkpoint) only while there is no such process; until then what is new is in its log. Called by `database`.
Source: adr/0177.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from daemons.dbwriter.database import DatabaseFault, QuestionLimits, Result, Row, SchemaFault
from daemons.dbwriter.duckdb_statement import refuse_more_than_a_question
from daemons.dbwriter.question_process import remove_leftovers

_MIB = 2**20
#: memory that the writer may take; beyond it the database uses its directory
_MEMORY = "1GB"
#: a process that is forked has none of the threads; the last two keep the database from checkpoints of its own
_SETTINGS: dict[str, Any] = {
    **{"memory_limit": _MEMORY, "threads": 1, "async_threads": 0},
    **{"checkpoint_threshold": "1TB", "auto_checkpoint_skip_wal_threshold": 2**62},
}
#: bytes of the log from which it is written into the file when nobody asks; and from which questions wait for that
_LOG_DUE, _LOG_OVERDUE = 16 * _MIB, 256 * _MIB
_TYPES = {"VARCHAR": "text", "BOOLEAN": "flag", "INTERVAL": "interval", "DATE": "date"}
#: bytes of rows that are fetched at a time, and how many they are at most
_BLOCK_BYTES, _BLOCK_ROWS = _MIB, 1000
_NOT_WRONG = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.OutOfMemoryException)


class DuckdbDatabase:
    """The database in the file `path`, which is made when there is none, as is its directory, which nobody else may enter.

    ":memory:" for one that nobody keeps.
    """

    opens_nothing = True

    def __init__(self, path: str) -> None:
        self._path = path
        self.directory = None if path == ":memory:" else Path(path).parent
        self.columns: dict[str, dict[str, str]] = {}
        #: held while a statement is under way; notified when a checkpoint was made
        self._rest = threading.Condition(threading.RLock())
        self._questions, self._in_transaction = 0, False
        if self.directory is not None:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._statement():
            try:
                self._connection = duckdb.connect(path, config=_SETTINGS)
            except duckdb.IOException as error:
                if "lock" in str(error):
                    raise SchemaFault(f"{path}: another process has it open") from None
                raise
            # times are fetched with a library that is loaded at the first of them, and a question loads none
            self._connection.execute("SELECT now(), 1.5::decimal(9, 2), current_date, INTERVAL 1 DAY, uuid()").fetchall()
            self.learn_columns()
        if self.directory is not None:
            Path(path).chmod(0o600)
            remove_leftovers(self.directory)

    def learn_columns(self) -> None:
        self.columns = {}
        for table, column, kind in self.rows("SELECT table_name, column_name, data_type FROM information_schema.columns"):
            self.columns.setdefault(table, {})[column] = kind

    def run(self, statement: str, parameters: Row = ()) -> None:
        with self._statement():
            self._connection.execute(statement, list(parameters))

    def script(self, statements: str) -> None:
        with self._statement():
            self._connection.execute(statements)

    def rows(self, statement: str, parameters: Row = ()) -> list[tuple[Any, ...]]:
        with self._statement():
            return self._connection.execute(statement, list(parameters)).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        if not rows:
            return
        types = self.columns[table]
        values = ", ".join(_unnest(number, types[column]) for number, column in enumerate(columns, start=1))
        names = ", ".join(columns)
        with self._statement():
            lists = [list(column) for column in zip(*rows, strict=True)]
            self._connection.execute(f"INSERT INTO {table} ({names}) SELECT {values}", lists)

    def begin(self) -> None:
        self._in_transaction = True
        self.run("BEGIN TRANSACTION")

    def commit(self) -> None:
        self.run("COMMIT")
        self._in_transaction = False
        self._checkpoint_if_due()

    def rollback(self) -> None:
        with suppress(DatabaseFault):  # a fault may have ended it already
            self.run("ROLLBACK")
        self._in_transaction = False

    # questions

    @contextmanager
    def unmoved(self, patience_s: float) -> Iterator[None]:
        with self._rest:
            if not self._rest.wait_for(lambda: self._log_size() < _LOG_OVERDUE or self._questions == 0, patience_s):
                raise DatabaseFault("the database is being written: ask again in a moment", passing=True)
            self._questions += 1
        try:
            yield
        finally:
            with self._rest:
                self._questions -= 1
                with suppress(DatabaseFault):
                    self._checkpoint_if_due()
                self._rest.notify_all()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        with self._rest:
            yield

    def descriptors_to_read(self) -> set[int]:
        if self.directory is None:
            return set()
        database = os.path.realpath(self._path)
        found = set()
        for number in map(int, os.listdir("/proc/self/fd")):
            with suppress(OSError):
                file = os.readlink(f"/proc/self/fd/{number}")
                if file.startswith(database):  # its log has a longer name
                    readable = os.open(database if file == database else os.devnull, os.O_RDONLY | os.O_CLOEXEC)
                    os.dup2(readable, number)
                    found.add(number)
        return found

    def ask(self, statement: str, parameters: Row, limits: QuestionLimits) -> Result:
        cursor = self._connection.cursor()
        with self._faults(limits):
            cursor.execute("SET temp_directory = 'spilled'")
            cursor.execute(f"SET max_temp_directory_size = '{limits.disk}B'")
            cursor.execute(f"SET memory_limit = '{limits.memory // 2}B'")  # half is for what it does not count
            cursor.execute("SET enable_external_access = false")
            cursor.execute("SET lock_configuration = true")
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            refuse_more_than_a_question(cursor, statement)
            cursor.execute(statement, list(parameters))
            head = cursor.description or []
        return Result([name for name, *_ in head], [_type(str(kind)) for _, kind, *_ in head], self._fetched(cursor, limits))

    def _fetched(self, cursor: duckdb.DuckDBPyConnection, limits: QuestionLimits) -> Iterator[tuple[Any, ...]]:
        """Rows, in blocks by the size of those before: a row may be a megabyte."""
        count = 1
        while True:
            with self._faults(limits):
                rows = cursor.fetchmany(count)
            if not rows:
                return
            yield from rows
            size = sum(len(value) for row in rows for value in row if isinstance(value, (str, bytes))) // len(rows)
            count = max(1, min(_BLOCK_ROWS, 4 * count, _BLOCK_BYTES // (size + 1)))

    def close(self) -> None:
        with self._rest, suppress(duckdb.Error):
            self._connection.close()

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self._path}.wal").st_size
        except OSError:
            return 0

    def _checkpoint_if_due(self) -> None:
        """Write the log into the file, unless somebody reads it, or a transaction is under way."""
        with self._rest:
            if self._questions == 0 and not self._in_transaction and self._log_size() >= _LOG_DUE:
                self.run("CHECKPOINT")

    @contextmanager
    def _statement(self) -> Iterator[None]:
        with self._rest, self._faults():
            yield

    @contextmanager
    def _faults(self, limits: QuestionLimits | None = None) -> Iterator[None]:
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            if limits is not None:
                raise DatabaseFault(limits.too_much, wrong=True) from None
            raise DatabaseFault(_text(error), passing=True) from None
        except duckdb.Error as error:
            passing = isinstance(error, _NOT_WRONG)
            raise DatabaseFault(_text(error), passing=passing, wrong=not passing) from None


def _text(error: duckdb.Error) -> str:
    return " ".join(str(error).split("\n\nLINE")[0].split())


def _unnest(number: int, kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return f"to_timestamp(unnest(${number}::DOUBLE[]))"
    return f"unnest(${number}::{kind}[])"


def _type(kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return "time"
    return _TYPES.get(kind, "number" if kind[0] in "TSBIUHFD" and "[" not in kind else "text")
