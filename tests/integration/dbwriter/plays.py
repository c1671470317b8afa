"""A writer on a file and a database, as tests drive it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from daemons.dbwriter.database import Database, open_database
from daemons.dbwriter.settings import Settings
from daemons.dbwriter.writer import Writer
from tests.integration.dbwriter.reporting_lines import DAY


class Play:
    """A reporting file in a directory, the database of an address, and a clock that stands a day behind DAY."""

    def __init__(self, directory: Path, address: str, keep_days: int = 0) -> None:
        self.file = directory / "reporting"
        self.address = address
        self.now = DAY + 86_400.0
        self.settings = Settings(address, "", self.file, keep_days)

    def tell(self, lines: Iterable[str]) -> None:
        """Append lines to the file."""
        with self.file.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def writer(self) -> Writer:
        return Writer(self.settings, lambda: open_database(self.address), lambda: self.now)

    def write(self) -> Writer:
        """Write all that there is, and end."""
        writer = self.writer()
        writer.run(once=True)
        return writer

    def rows(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database answers while nobody writes."""
        database = self.open()
        try:
            return database.rows(question, values)
        finally:
            database.close()

    def open(self) -> Database:
        return open_database(self.address)
