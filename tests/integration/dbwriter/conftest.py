"""The databases that tests write into: DuckDB files, and a PostgreSQL server that is installed and started for them."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from tests.integration.cells import COMMAND_S
from tests.integration.debian import find, need

_numbers = count(1)


class PostgresqlServer:
    """A server of its own, at a socket in a directory of its own, run as the user `postgres` where root runs the tests."""

    def __init__(self) -> None:
        need("initdb")
        self._programs = Path(str(find("initdb"))).parent
        self.place = Path(tempfile.mkdtemp(prefix="ge-pg-", dir="/tmp"))
        self._data = self.place / "data"
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self.place, owner.pw_uid, owner.pw_gid)
            self.place.chmod(0o711)

    def create(self) -> None:
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "arco", "--no-sync")
        self.start()

    def start(self) -> None:
        # tests kill it in the middle: what it has promised must be on disk, so fsync stays on
        options = f"-c listen_addresses= -c unix_socket_permissions=0777 -k {self.place}"
        self._control("start", "-o", options, "-l", str(self.place / "log"))

    def stop(self, how: str = "fast") -> None:
        """`immediate`: as kill -9 of all its processes would."""
        self._control("stop", "-m", how)

    def remove(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.place)

    def address(self, name: str) -> str:
        return f"postgresql://arco@/{name}?host={self.place}"

    def new_database(self) -> str:
        """The address of an empty database."""
        name = f"arco{next(_numbers)}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.address(name)

    def _control(self, action: str, *options: str) -> None:
        self._run("pg_ctl", action, "-D", str(self._data), "-w", "-t", f"{COMMAND_S:.0f}", *options)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """A running server."""
    server = PostgresqlServer()
    try:
        server.create()
        yield server
    finally:
        server.remove()


KINDS = ["duckdb", "postgresql"]


def new_address(request: pytest.FixtureRequest, directory: Path) -> str:
    """The address of an empty database of the kind that is the request's parameter."""
    if request.param == "duckdb":
        return f"duckdb:{directory / 'arco.duckdb'}"
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.new_database()


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each kind in turn."""
    return new_address(request, tmp_path)
