"""DuckDB: a database in one file, for cells without a server.

Owns the implementation of `database.Database` for DuckDB. The file belongs to one process, so queries run in processes that are
forked from it and read through the inherited descriptor. The database must not move data under these processes: it writes into
its file (a checkpoint) only while no query runs; until then new data is in its log. Called by `database`.
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

from daemons.dbwriter.database import DatabaseError, QueryLimits, Result, Row, SchemaError
from daemons.dbwriter.duckdb_statement import require_read_only_statement
from daemons.dbwriter.query_process import remove_leftovers

_MIB = 2**20
#: memory limit of the writer; beyond it the database uses its directory
_MEMORY = "1GB"
#: a forked process has no threads; the last two settings prevent automatic checkpoints
_SETTINGS: dict[str, Any] = {
    "memory_limit": _MEMORY, "threads": 1, "async_threads": 0,
    "checkpoint_threshold": "1TB", "auto_checkpoint_skip_wal_threshold": 2**62,
}
#: log size from which an idle database writes its log into the file; and from which new queries wait for that
_CHECKPOINT_LOG_BYTES, _MAX_LOG_BYTES = 16 * _MIB, 256 * _MIB
_TYPES = {"VARCHAR": "text", "BOOLEAN": "flag", "INTERVAL": "interval", "DATE": "date"}
#: bytes of rows that are fetched at a time, and the maximum number of these rows
_BLOCK_BYTES, _BLOCK_ROWS = _MIB, 1000
_TRANSIENT = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.OutOfMemoryException)


class DuckdbDatabase:
    """The database in the file `path`. File and directory are created on demand; only their owner may enter the directory.

    ":memory:" for a temporary database.
    """

    can_be_confined = True

    def __init__(self, path: str) -> None:
        self._path = path
        self.directory = None if path == ":memory:" else Path(path).parent
        self.columns: dict[str, dict[str, str]] = {}
        #: held while a statement runs; notified after a checkpoint
        self._statement_lock = threading.Condition(threading.RLock())
        self._running_queries, self._in_transaction = 0, False
        if self.directory is not None:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._statement_running():
            try:
                self._connection = duckdb.connect(path, config=_SETTINGS)
            except duckdb.IOException as error:
                if "lock" in str(error):
                    raise SchemaError(f"{path}: another process has it open") from None
                raise
            # the first fetch of a time loads a library, which a confined query could not load
            self._connection.execute("SELECT now(), 1.5::decimal(9, 2), current_date, INTERVAL 1 DAY, uuid()").fetchall()
            self.load_columns()
        if self.directory is not None:
            Path(path).chmod(0o600)
            remove_leftovers(self.directory)

    def load_columns(self) -> None:
        self.columns = {}
        for table, column, kind in self.rows("SELECT table_name, column_name, data_type FROM information_schema.columns"):
            self.columns.setdefault(table, {})[column] = kind

    def run(self, statement: str, parameters: Row = ()) -> None:
        with self._statement_running():
            self._connection.execute(statement, list(parameters))

    def script(self, statements: str) -> None:
        with self._statement_running():
            self._connection.execute(statements)

    def rows(self, statement: str, parameters: Row = ()) -> list[tuple[Any, ...]]:
        with self._statement_running():
            return self._connection.execute(statement, list(parameters)).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        if not rows:
            return
        types = self.columns[table]
        values = ", ".join(_unnest(number, types[column]) for number, column in enumerate(columns, start=1))
        names = ", ".join(columns)
        with self._statement_running():
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
        with suppress(DatabaseError):  # a fault may have ended it already
            self.run("ROLLBACK")
        self._in_transaction = False

    # queries

    @contextmanager
    def pin_snapshot(self, timeout_s: float) -> Iterator[None]:
        with self._statement_lock:
            if not self._statement_lock.wait_for(self._accepts_queries, timeout_s):
                raise DatabaseError("the database is being written: ask again in a moment", transient=True)
            self._running_queries += 1
        try:
            yield
        finally:
            with self._statement_lock:
                self._running_queries -= 1
                with suppress(DatabaseError):
                    self._checkpoint_if_due()
                self._statement_lock.notify_all()

    def _accepts_queries(self) -> bool:
        return self._log_size() < _MAX_LOG_BYTES or self._running_queries == 0

    @contextmanager
    def pause_statements(self) -> Iterator[None]:
        with self._statement_lock:
            yield

    def make_descriptors_read_only(self) -> set[int]:
        if self.directory is None:
            return set()
        database = os.path.realpath(self._path)
        descriptors = set()
        for number in map(int, os.listdir("/proc/self/fd")):
            with suppress(OSError):
                file = os.readlink(f"/proc/self/fd/{number}")
                if file.startswith(database):  # the name of the log is longer
                    readable = os.open(database if file == database else os.devnull, os.O_RDONLY | os.O_CLOEXEC)
                    os.dup2(readable, number)
                    descriptors.add(number)
        return descriptors

    def ask(self, statement: str, parameters: Row, limits: QueryLimits) -> Result:
        cursor = self._connection.cursor()
        with self._translate_errors(limits):
            cursor.execute("SET temp_directory = 'spilled'")
            cursor.execute(f"SET max_temp_directory_size = '{limits.disk}B'")
            cursor.execute(f"SET memory_limit = '{limits.memory // 2}B'")  # the rest: memory that DuckDB does not count
            cursor.execute("SET enable_external_access = false")
            cursor.execute("SET lock_configuration = true")
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            require_read_only_statement(cursor, statement)
            cursor.execute(statement, list(parameters))
            head = cursor.description or []
        types = [_answer_type(str(kind)) for _, kind, *_ in head]
        return Result([name for name, *_ in head], types, self._fetch_rows(cursor, limits))

    def _fetch_rows(self, cursor: duckdb.DuckDBPyConnection, limits: QueryLimits) -> Iterator[tuple[Any, ...]]:
        """Rows, in blocks whose size follows from the rows before: a row may have a megabyte."""
        count = 1
        while True:
            with self._translate_errors(limits):
                rows = cursor.fetchmany(count)
            if not rows:
                return
            yield from rows
            size = sum(len(value) for row in rows for value in row if isinstance(value, (str, bytes))) // len(rows)
            count = max(1, min(_BLOCK_ROWS, 4 * count, _BLOCK_BYTES // (size + 1)))

    def close(self) -> None:
        with self._statement_lock, suppress(duckdb.Error):
            self._connection.close()

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self._path}.wal").st_size
        except OSError:
            return 0

    def _checkpoint_if_due(self) -> None:
        """Write a long log into the file, unless a query or a transaction runs."""
        with self._statement_lock:
            if self._running_queries == 0 and not self._in_transaction and self._log_size() >= _CHECKPOINT_LOG_BYTES:
                self.run("CHECKPOINT")

    @contextmanager
    def _statement_running(self) -> Iterator[None]:
        with self._statement_lock, self._translate_errors():
            yield

    @contextmanager
    def _translate_errors(self, limits: QueryLimits | None = None) -> Iterator[None]:
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            if limits is not None:
                raise DatabaseError(limits.resources_message, invalid_query=True) from None
            raise DatabaseError(_error_text(error), transient=True) from None
        except duckdb.Error as error:
            transient = isinstance(error, _TRANSIENT)
            raise DatabaseError(_error_text(error), transient=transient, invalid_query=not transient) from None


def _error_text(error: duckdb.Error) -> str:
    return " ".join(str(error).split("\n\nLINE")[0].split())


def _unnest(number: int, kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return f"to_timestamp(unnest(${number}::DOUBLE[]))"
    return f"unnest(${number}::{kind}[])"


def _answer_type(kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return "time"
    return _TYPES.get(kind, "number" if kind[0] in "TSBIUHFD" and "[" not in kind else "text")
