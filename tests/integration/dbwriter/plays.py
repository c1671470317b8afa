"""A writer on a file and a database, as tests drive it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from daemons.dbwriter.database import Database
from daemons.dbwriter.opening import open_database
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

    def append(self, lines: Iterable[str]) -> None:
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
        """The answers of the database while no process writes."""
        database = self.open()
        try:
            return database.rows(question, values)
        finally:
            database.close()

    def open(self) -> Database:
        return open_database(self.address)


class Cell:
    """The files of a cell that the program needs, without a qmaster."""

    def __init__(self, place: Path, address: str) -> None:
        self.place = place
        self.common = place / "c" / "common"
        self.common.mkdir(parents=True)
        self.socket = place / "run" / "dbwriter.sock"
        bootstrap = {
            "admin_user": "root" if os.geteuid() == 0 else os.environ.get("USER", "root"),
            "qmaster_spool_dir": place / "spool" / "qmaster",
            "execd_spool_dir": place / "spool" / "execd",
            "run_dir": place / "run",
            "qmaster_port": 1,
            "ray_port": 2,
            "spooling_method": "sqlite",
            "security_mode": "tls",
        }
        (self.common / "bootstrap").write_text("".join(f"{key} {value}\n" for key, value in bootstrap.items()))
        (self.common / "act_qmaster").write_text("m\n")
        (self.common / "arco").write_text(f"database {address}\n")
        self.reporting = self.common / "reporting"

    def writer(self, *options: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "SGE_ROOT": str(self.place), "SGE_CELL": "c"}
        command = [sys.executable, "-m", "daemons.dbwriter", *(options or ("--foreground",))]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @property
    def messages(self) -> str:
        path = self.place / "spool" / "dbwriter" / "messages"
        return path.read_text() if path.exists() else ""


class DyingDatabase:
    """A database whose writer dies at the n-th thing that it does to it, before or after that is done."""

    def __init__(self, real: Database, step: int, after: bool) -> None:
        self._real, self._left, self._after = real, step, after

    def __getattr__(self, name: str) -> object:
        real = getattr(self._real, name)
        if name not in ("run", "insert", "begin", "commit"):
            return real

        def act(*values: object) -> object:
            self._left -= 1
            if self._left == 0 and not self._after:
                raise KeyboardInterrupt
            result = real(*values)
            if self._left == 0:
                raise KeyboardInterrupt
            return result

        return act
