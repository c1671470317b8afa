"""The database as the writer sees it: the same SQL on DuckDB and PostgreSQL, with parameters `$1`, `$2` in both.

Owns the contract between the two, and which of them an address means. What is written is the callers'. Called by all of the room.
Source: DB-12, DB-14; adr/0130.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
    """Rows of a question. `types`: of each column, number text time interval or flag; `more`: rows were left off."""

    columns: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    more: bool = False


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

    def ask(self, statement: str, parameters: Row, most: int, patience_s: float) -> Result:
        """Ask a question that changes nothing, on a connection of its own, in any thread. One statement; so many rows at most."""

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
    raise SchemaFault(f'database "{address}": it must begin with duckdb: or postgresql:')
