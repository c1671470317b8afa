"""DuckDB: a database in one file, for cells without a server.

Owns how the contract of `database` is met there. The file belongs to one process, so questions are asked through this one, on
cursors that see what is committed and block nobody. What users ask can reach no file but the database. Called by `database`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from daemons.dbwriter.database import DatabaseFault, Result, Row, SchemaFault

#: memory that the database may take, questions included; beyond it they use its directory, or fail
_MEMORY = "1GB"
_TYPES = {"VARCHAR": "text", "BOOLEAN": "flag", "INTERVAL": "interval", "DATE": "date"}
_QUESTIONS = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
#: s after which a question that went on is interrupted again
_AGAIN_S = 0.5
_NOT_WRONG = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.OutOfMemoryException)


class DuckdbDatabase:
    """The database in the file `path`, which is made when there is none, as is its directory, which nobody else may enter.

    ":memory:" for one that nobody keeps.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.columns: dict[str, dict[str, str]] = {}
        if path != ":memory:":
            Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._faults():
            try:
                self._connection = duckdb.connect(path, config={"memory_limit": _MEMORY, "threads": 2})
            except duckdb.IOException as error:
                if "lock" in str(error):
                    raise SchemaFault(f"{path}: another process has it open") from None
                raise
            self._connection.execute("SET enable_external_access=false")
            self._connection.execute("SET lock_configuration=true")
            self.learn_columns()
        if path != ":memory:":
            Path(path).chmod(0o600)

    def learn_columns(self) -> None:
        self.columns = {}
        for table, column, kind in self.rows("SELECT table_name, column_name, data_type FROM information_schema.columns"):
            self.columns.setdefault(table, {})[column] = kind

    def run(self, statement: str, parameters: Row = ()) -> None:
        with self._faults():
            self._connection.execute(statement, list(parameters))

    def script(self, statements: str) -> None:
        with self._faults():
            self._connection.execute(statements)

    def rows(self, statement: str, parameters: Row = ()) -> list[tuple[Any, ...]]:
        with self._faults():
            return self._connection.execute(statement, list(parameters)).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        if not rows:
            return
        types = self.columns[table]
        values = ", ".join(_unnest(number, types[column]) for number, column in enumerate(columns, start=1))
        names = ", ".join(columns)
        with self._faults():
            lists = [list(column) for column in zip(*rows, strict=True)]
            self._connection.execute(f"INSERT INTO {table} ({names}) SELECT {values}", lists)

    def begin(self) -> None:
        self.run("BEGIN TRANSACTION")

    def commit(self) -> None:
        self.run("COMMIT")

    def rollback(self) -> None:
        with suppress(DatabaseFault):  # a fault may have ended it already
            self.run("ROLLBACK")

    def ask(self, statement: str, parameters: Row, most: int, patience_s: float) -> Result:
        with self._faults():
            statements = duckdb.extract_statements(statement)
            if len(statements) != 1 or statements[0].type not in _QUESTIONS:
                raise DatabaseFault("one SELECT or EXPLAIN can be asked here, and nothing else", wrong=True)
            cursor = self._connection.cursor()
        over = threading.Event()
        watch = threading.Thread(target=_interrupt_late, args=(cursor, patience_s, over))
        watch.start()
        try:
            with self._faults(patience_s):
                cursor.execute("BEGIN TRANSACTION READ ONLY")
                cursor.execute(statement, list(parameters))
                head = cursor.description or []
                rows = cursor.fetchmany(most + 1)
            return Result([name for name, *_ in head], [_type(str(kind)) for _, kind, *_ in head], rows[:most], len(rows) > most)
        finally:
            over.set()
            watch.join()
            cursor.close()

    def close(self) -> None:
        with suppress(duckdb.Error):
            self._connection.close()

    @contextmanager
    def _faults(self, patience_s: float = 0) -> Iterator[None]:
        try:
            yield
        except duckdb.InterruptException:
            raise DatabaseFault(f"no answer within {patience_s:.0f} s: ask for less", wrong=True) from None
        except duckdb.Error as error:
            text = " ".join(str(error).split("\n\nLINE")[0].split())
            raise DatabaseFault(text, passing=isinstance(error, _NOT_WRONG), wrong=not isinstance(error, _NOT_WRONG)) from None


def _interrupt_late(cursor: duckdb.DuckDBPyConnection, patience_s: float, over: threading.Event) -> None:
    """Interrupt a question that takes too long; again, since one that comes before the question begins is lost."""
    while not over.wait(patience_s):
        cursor.interrupt()
        patience_s = _AGAIN_S


def _unnest(number: int, kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return f"to_timestamp(unnest(${number}::DOUBLE[]))"
    return f"unnest(${number}::{kind}[])"


def _type(kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return "time"
    return _TYPES.get(kind, "number" if kind[0] in "TSBIUHFD" and "[" not in kind else "text")
