"""The database as the writer sees it: the same SQL on DuckDB and PostgreSQL, with parameters `$1`, `$2` in both.

Owns the contract between the two, and which of them an address means. What is written is the callers'. Called by all of the room.
Source: DB-12, DB-14; adr/0130.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Row = Sequence[Any]


class DatabaseFault(Exception):
    """The database did not do what was asked; the text is one line, in its own words.

    `passing`: it may do so later, as it is away or its disk is full. `wrong`: the question itself is at fault.
    """

    def __init__(self, text: str, *, passing: bool = False, wrong: bool = False) -> None:
        super().__init__(text)
        self.passing, self.wrong = passing, wrong


class SchemaFault(Exception):
    """A database that this program does not write into; the text says why. Waiting does not help."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a question finds. `types`: of each column, number text time interval or flag; `rows` come from the database as they
    are taken, which may raise DatabaseFault."""

    columns: list[str]
    types: list[str]
    rows: Iterator[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """What a question may take: bytes of memory, bytes of temporary files, seconds."""

    memory: int
    disk: int
    patience_s: float

    @property
    def too_much(self) -> str:
        """The text for the user whose question takes more."""
        return f"the question takes more than {self.memory >> 20} MB of memory, or {self.disk >> 20} MB of disk: ask for less"

    @property
    def too_long(self) -> str:
        """The text for the user whose question takes longer."""
        return f"no answer within {self.patience_s:.0f} s: ask for less"


class Database(Protocol):
    """A connection that writes. All of it raises DatabaseFault; after a fault the connection is closed and made anew."""

    #: table -> the columns that it has, and the type of each in the database's words
    columns: dict[str, dict[str, str]]

    def run(self, statement: str, parameters: Row = ()) -> None:
        """Do what a statement says."""

    def script(self, statements: str) -> None:
        """Do what several statements say, without parameters."""

    def rows(self, statement: str, parameters: Row = ()) -> list[tuple[Any, ...]]:
        """What a statement finds."""

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Append rows. Times are given as epoch seconds, None where there is none."""

    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...

    #: where temporary files of questions may be; None: where those of the host are
    directory: Path | None
    #: whether `ask` opens neither files nor connections
    opens_nothing: bool

    def unmoved(self, patience_s: float) -> AbstractContextManager[None]:
        """A process that is forked within finds the database as it was then for as long as this lasts. From any thread."""

    def at_rest(self) -> AbstractContextManager[None]:
        """No statement is under way within, so that this process can be forked. From any thread."""

    def descriptors_to_read(self) -> set[int]:
        """In a forked process: the descriptors that `ask` needs, made unable to write."""

    def ask(self, statement: str, parameters: Row, limits: QuestionLimits) -> Result:
        """In a forked process: ask one statement that changes nothing. Temporary files are in the current directory."""

    def learn_columns(self) -> None:
        """Look up `columns`, after the schema has changed."""

    def close(self) -> None: ...


@contextmanager
def transaction(database: Database) -> Iterator[None]:
    """All that is written within, or nothing."""
    database.begin()
    try:
        yield
    except BaseException:
        database.rollback()
        raise
    database.commit()


def open_database(address: str, reader: str = "") -> Database:
    """The database of an address: `duckdb:PATH`, or `postgresql://…` (as psql takes it). Raises DatabaseFault, SchemaFault.

    reader: the address by which questions reach it, with fewer rights; "" for the same.
    """
    # each brings a library of its own, of which a site has need for one
    if address.startswith("duckdb:"):
        from daemons.dbwriter.duckdb_database import DuckdbDatabase

        return DuckdbDatabase(address.removeprefix("duckdb:"))
    if address.startswith(("postgresql:", "postgres:")):
        from daemons.dbwriter.postgresql_database import PostgresqlDatabase

        return PostgresqlDatabase(address, reader)
    # not as it stands: it may hold a password, and others read what this program says
    raise SchemaFault(f'database "{address.partition(":")[0]}:…": it must begin with duckdb: or postgresql:')
