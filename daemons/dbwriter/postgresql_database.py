"""PostgreSQL: a database on a server, through psycopg.

Owns how the contract of `database` is met there. One writer at a time: it has a lock of the server for as long as its connection
lives. Called by `database`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from daemons.dbwriter.database import DatabaseFault, QuestionLimits, Result, Row, SchemaFault

#: a number that means this program to the server (pg_advisory_lock)
_WRITER = 0x5347_4544_4257
_CONNECT_S = 10
_TYPES = {"text": "text", "varchar": "text", "bool": "flag", "interval": "interval", "timestamptz": "time", "timestamp": "time"}
_TYPES |= dict.fromkeys(("int2", "int4", "int8", "float4", "float8", "numeric"), "number") | {"date": "date"}
#: sums over a year want memory for their tables, and are over before a compiler would pay
_QUESTIONS = "SET LOCAL work_mem = '64MB'; SET LOCAL jit = off; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
#: version of a server from which its owner can let a role limit its own temporary files; and whether they did
_LIMITS_DISK, _IF_ALLOWED = 150000, "WHERE has_parameter_privilege('temp_file_limit', 'SET')"
#: a database that is away, shuts down, has no room or had to give a transaction up: classes of SQLSTATE
_PASSING = ("08", "53", "57", "58", "40", "55")


class PostgresqlDatabase:
    """The database of a connection string."""

    def __init__(self, address: str, reader: str = "") -> None:
        self._address, self._reader = address, reader or address
        for name, given in (("database", address), ("reader", self._reader)):
            _require_address(name, given)
        self.columns: dict[str, dict[str, str]] = {}
        with _faults():
            self._connection = psycopg.connect(
                address,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                connect_timeout=_CONNECT_S,
                application_name="sge_dbwriter",
            )
            self._become_the_writer()
        self.learn_columns()

    def learn_columns(self) -> None:
        self.columns = {}
        question = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_name ~ '^(sge|view)_'"
        for table, column, kind in self.rows(question):
            self.columns.setdefault(table, {})[column] = kind

    def _become_the_writer(self) -> None:
        """Take the lock. The server ends a connection some time after its client does: so long the lock is waited for."""
        try:
            self._connection.execute(f"SET lock_timeout = '{_CONNECT_S}s'")
            self._connection.execute("SELECT pg_advisory_lock($1::bigint)", [_WRITER])
            self._connection.execute("RESET lock_timeout")
        except psycopg.errors.LockNotAvailable:
            self.close()
            raise DatabaseFault("another sge_dbwriter writes into this database", passing=True) from None

    def run(self, statement: str, parameters: Row = ()) -> None:
        with _faults():
            self._connection.execute(statement, list(parameters) or None)

    def script(self, statements: str) -> None:
        with _faults():
            self._connection.execute(statements)

    def rows(self, statement: str, parameters: Row = ()) -> list[tuple[Any, ...]]:
        with _faults():
            return self._connection.execute(statement, list(parameters) or None).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        if not rows:
            return
        kinds = [self.columns[table][column] for column in columns]
        times = [(place, "without" in kind) for place, kind in enumerate(kinds) if kind.startswith("timestamp")]
        with _faults(), self._connection.cursor() as cursor:
            with cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
                for row in rows:
                    values = list(row)
                    for place, local in times:
                        values[place] = _moment(values[place], local)
                    copy.write_row(values)

    def begin(self) -> None:
        self.run("BEGIN")

    def commit(self) -> None:
        self.run("COMMIT")

    def rollback(self) -> None:
        with suppress(DatabaseFault):
            self.run("ROLLBACK")

    # questions: a server keeps what they read, and their connection is opened by the process that asks

    directory: Path | None = None
    opens_nothing = False

    def unmoved(self, patience_s: float) -> AbstractContextManager[None]:
        return nullcontext()

    def at_rest(self) -> AbstractContextManager[None]:
        return nullcontext()

    def descriptors_to_read(self) -> set[int]:
        return set()

    def ask(self, statement: str, parameters: Row, limits: QuestionLimits) -> Result:
        with _faults(limits):
            connection = psycopg.connect(self._reader, connect_timeout=_CONNECT_S)
            connection.read_only = True
            connection.execute(f"SET LOCAL statement_timeout = {int(limits.patience_s * 1000)}")
            connection.execute(_QUESTIONS)
            if connection.info.server_version >= _LIMITS_DISK:
                connection.execute(f"SELECT set_config('temp_file_limit', '{limits.disk >> 10}kB', true) {_IF_ALLOWED}".encode())
            # as a stream a text can be one statement alone, no more rows come over than are wanted, and several processors
            # of the server work on it, which they do not for a cursor
            cursor = psycopg.RawCursor(connection)
            rows = cursor.stream(statement, list(parameters))
            first = next(rows, None)
            if first is None:  # then a stream does not tell the columns
                cursor.execute(statement, list(parameters), prepare=True)
        types = connection.adapters.types
        columns = cursor.description or []
        kinds = [known.name if (known := types.get(column.type_code)) else "text" for column in columns]
        names = [column.name for column in columns]
        return Result(names, [_TYPES.get(kind, "text") for kind in kinds], _streamed(first, rows, limits))

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._connection.close()


def _moment(seconds: float | None, local: bool) -> datetime | None:
    """`local`: of a column without a zone, as databases of ARCo itself have them."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds) if local else datetime.fromtimestamp(seconds, UTC)


def _require_address(name: str, address: str) -> None:
    """Raises SchemaFault, without the address: it holds a password, and everybody reads what this program logs and answers."""
    try:
        psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        text = "this is no address of PostgreSQL: write a blank, %, / and @ of a password as %20, %25, %2F and %40"
        raise SchemaFault(f"{name}: {text}") from None


def _streamed(first: Any, rows: Iterator[Any], limits: QuestionLimits) -> Iterator[tuple[Any, ...]]:
    with _faults(limits):
        if first is not None:
            yield first
            yield from rows


@contextmanager
def _faults(limits: QuestionLimits | None = None) -> Iterator[None]:
    try:
        yield
    except psycopg.errors.QueryCanceled:
        raise DatabaseFault(limits.too_long if limits is not None else "the server has cancelled it", wrong=True) from None
    except psycopg.errors.ConfigurationLimitExceeded as error:
        raise DatabaseFault(limits.too_much if limits is not None else str(error), wrong=True) from None
    except psycopg.Error as error:
        passing = error.sqlstate is None or error.sqlstate.startswith(_PASSING)
        text = " ".join((error.diag.message_primary or str(error)).split())
        raise DatabaseFault(text, passing=passing, wrong=not passing) from None
