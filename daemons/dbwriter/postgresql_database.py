"""PostgreSQL: a database on a server, through psycopg.

Owns the implementation of `database.Database` for PostgreSQL. There is one writer at a time: it holds a lock of the server during
its connection. Called by `database`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from daemons.dbwriter.database import DatabaseError, QueryLimits, Result, Row, SchemaError

#: the number of this program's lock (pg_advisory_lock)
_WRITER_LOCK = 0x5347_4544_4257
_CONNECT_S = 10
_TYPES = {"text": "text", "varchar": "text", "bool": "flag", "interval": "interval", "timestamptz": "time", "timestamp": "time"}
_TYPES |= dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "numeric"), "number") | {"date": "date"}
#: sums over a year need memory for their tables, and are too short for compilation to pay
_QUERY_SETTINGS = "SET LOCAL work_mem = '64MB'; SET LOCAL jit = off; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
#: version of a server from which a role can be allowed to limit its own temporary files; and the test for that privilege
_DISK_LIMIT_VERSION, _IF_ALLOWED = 150000, "WHERE has_parameter_privilege('temp_file_limit', 'SET')"
#: classes of SQLSTATE: the database is unreachable, shuts down, has no space or aborted a transaction
_TRANSIENT = ("08", "53", "57", "58", "40", "55")


class PostgresqlDatabase:
    """The database of a connection string."""

    def __init__(self, address: str, reader: str = "") -> None:
        self._address, self._reader = address, reader or address
        for name, given in (("database", address), ("reader", self._reader)):
            _require_address(name, given)
        self.columns: dict[str, dict[str, str]] = {}
        with _translate_errors():
            self._connection = psycopg.connect(
                address,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                connect_timeout=_CONNECT_S,
                application_name="sge_dbwriter",
            )
            self._take_writer_lock()
        self.load_columns()

    def load_columns(self) -> None:
        self.columns = {}
        query = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_name ~ '^(sge|view)_'"
        for table, column, kind in self.rows(query):
            self.columns.setdefault(table, {})[column] = kind

    def _take_writer_lock(self) -> None:
        """Take the lock, and wait for it: the server ends a connection some time after its client."""
        try:
            self._connection.execute(f"SET lock_timeout = '{_CONNECT_S}s'")
            self._connection.execute("SELECT pg_advisory_lock($1::bigint)", [_WRITER_LOCK])
            self._connection.execute("RESET lock_timeout")
        except psycopg.errors.LockNotAvailable:
            self.close()
            raise DatabaseError("another sge_dbwriter writes into this database", transient=True) from None

    def run(self, statement: str, parameters: Row = ()) -> None:
        with _translate_errors():
            self._connection.execute(statement, list(parameters) or None)

    def script(self, statements: str) -> None:
        with _translate_errors():
            self._connection.execute(statements)

    def rows(self, statement: str, parameters: Row = ()) -> list[tuple[Any, ...]]:
        with _translate_errors():
            return self._connection.execute(statement, list(parameters) or None).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        if not rows:
            return
        kinds = [self.columns[table][column] for column in columns]
        time_columns = [(index, "without" in kind) for index, kind in enumerate(kinds) if kind.startswith("timestamp")]
        with _translate_errors(), self._connection.cursor() as cursor:
            with cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
                for row in rows:
                    values = list(row)
                    for index, is_local in time_columns:
                        values[index] = _datetime(values[index], is_local)
                    copy.write_row(values)

    def begin(self) -> None:
        self.run("BEGIN")

    def commit(self) -> None:
        self.run("COMMIT")

    def rollback(self) -> None:
        with suppress(DatabaseError):
            self.run("ROLLBACK")

    # queries: the server keeps a consistent view for them, and the query process opens their connection

    directory: Path | None = None
    can_be_confined = False

    def pin_snapshot(self, timeout_s: float) -> AbstractContextManager[None]:
        return nullcontext()

    def pause_statements(self) -> AbstractContextManager[None]:
        return nullcontext()

    def make_descriptors_read_only(self) -> set[int]:
        return set()

    def ask(self, statement: str, parameters: Row, limits: QueryLimits) -> Result:
        with _translate_errors(limits):
            connection = psycopg.connect(self._reader, connect_timeout=_CONNECT_S)
            connection.read_only = True
            connection.execute(f"SET LOCAL statement_timeout = {int(limits.timeout_s * 1000)}")
            connection.execute(_QUERY_SETTINGS)
            if connection.info.server_version >= _DISK_LIMIT_VERSION:
                connection.execute(f"SELECT set_config('temp_file_limit', '{limits.disk >> 10}kB', true) {_IF_ALLOWED}".encode())
            # a stream accepts only one statement, transfers only the rows that are read, and lets the server use several
            # processors, which it does not for a cursor
            cursor = psycopg.RawCursor(connection)
            rows = cursor.stream(statement, list(parameters))
            first = next(rows, None)
            if first is None:  # a stream without rows does not describe its columns
                cursor.execute(statement, list(parameters), prepare=True)
        types = connection.adapters.types
        columns = cursor.description or []
        kinds = [known.name if (known := types.get(column.type_code)) else "text" for column in columns]
        names = [column.name for column in columns]
        return Result(names, [_TYPES.get(kind, "text") for kind in kinds], _stream_rows(first, rows, limits))

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._connection.close()


def _datetime(seconds: float | None, is_local: bool) -> datetime | None:
    """`is_local`: for a column without a time zone, as in databases of ARCo itself."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds) if is_local else datetime.fromtimestamp(seconds, UTC)


def _require_address(name: str, address: str) -> None:
    """Raises SchemaError, without the address: it holds a password, and all users can read logs and answers of this program."""
    try:
        psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        text = "this is no address of PostgreSQL: write a blank, %, / and @ of a password as %20, %25, %2F and %40"
        raise SchemaError(f"{name}: {text}") from None


def _stream_rows(first: Any, rows: Iterator[Any], limits: QueryLimits) -> Iterator[tuple[Any, ...]]:
    with _translate_errors(limits):
        if first is not None:
            yield first
            yield from rows


@contextmanager
def _translate_errors(limits: QueryLimits | None = None) -> Iterator[None]:
    try:
        yield
    except psycopg.errors.QueryCanceled:
        text = limits.timeout_message if limits is not None else "the server has cancelled it"
        raise DatabaseError(text, invalid_query=True) from None
    except psycopg.errors.ConfigurationLimitExceeded as error:
        raise DatabaseError(limits.resources_message if limits is not None else str(error), invalid_query=True) from None
    except psycopg.Error as error:
        transient = error.sqlstate is None or error.sqlstate.startswith(_TRANSIENT)
        text = " ".join((error.diag.message_primary or str(error)).split())
        raise DatabaseError(text, transient=transient, invalid_query=not transient) from None
