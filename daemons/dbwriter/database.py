"""The interface to the database: the same SQL on DuckDB and PostgreSQL, with parameters `$1`, `$2` in both.

Owns the interface; `opening` chooses the implementation by the address. Callers own the content. Called by all of the directory.
Source: DB-12, DB-14; adr/0130.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gridengine.errors import CorruptDataError, UnavailableError

Row = Sequence[Any]


class DatabaseError(UnavailableError):
    """The database failed; the text is its own message in one line.

    `transient`: a retry may succeed, for example after an outage or a full disk. `invalid_query`: the query itself is at fault.
    """

    def __init__(self, text: str, *, transient: bool = False, invalid_query: bool = False) -> None:
        super().__init__(text)
        self.transient, self.invalid_query = transient, invalid_query


class SchemaError(CorruptDataError):
    """A database that this program does not write into; the text is the reason. A retry does not help."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a query. `columns`: their names; `types`: of each column, number text time interval or flag. `rows` are
    fetched lazily, and the iteration may raise DatabaseError."""

    columns: list[str]
    types: list[str]
    rows: Iterator[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of a query: bytes of `memory`, bytes of temporary files (`disk`), seconds (`timeout_s`)."""

    memory: int
    disk: int
    timeout_s: float

    @property
    def resources_message(self) -> str:
        """The text for the user when a query exceeds memory or disk."""
        return f"the query takes more than {self.memory >> 20} MB of memory, or {self.disk >> 20} MB of disk: ask for less"

    @property
    def timeout_message(self) -> str:
        """The text for the user when a query exceeds its time."""
        return f"no answer within {self.timeout_s:.0f} s: ask for less"


class Database(Protocol):
    """A connection that writes. All methods raise DatabaseError; after a fault the caller closes and reopens the connection."""

    #: table -> its columns, with the database's name of their types
    columns: dict[str, dict[str, str]]

    def run(self, statement: str, parameters: Row = ()) -> None:
        """Execute a statement."""

    def script(self, statements: str) -> None:
        """Execute several statements without parameters."""

    def rows(self, statement: str, parameters: Row = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Append rows. Times are epoch seconds, or None."""

    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...

    #: the directory for temporary files of queries; None: the default of the host
    directory: Path | None
    #: whether `ask` opens neither files nor connections
    can_be_confined: bool

    def pin_snapshot(self, timeout_s: float) -> AbstractContextManager[None]:
        """Within this context a forked process keeps reading the database as of its fork. From any thread."""

    def pause_statements(self) -> AbstractContextManager[None]:
        """Within this context no statement runs, so that this process can fork. From any thread."""

    def make_descriptors_read_only(self) -> set[int]:
        """In a forked process: make the descriptors that `ask` needs read-only, and return them."""

    def ask(self, statement: str, parameters: Row, limits: QueryLimits) -> Result:
        """In a forked process: run one read-only statement. Temporary files are in the current directory."""

    def load_columns(self) -> None:
        """Read `columns` again, after a change of the schema."""

    def close(self) -> None: ...


@contextmanager
def transaction(database: Database) -> Iterator[None]:
    """Commit all statements within this context, or none."""
    database.begin()
    try:
        yield
    except BaseException:
        database.rollback()
        raise
    database.commit()
