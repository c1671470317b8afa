"""Fixtures: cells whose launcher is root, and cells of the user who runs the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from daemons.execd.cgroups import MOUNT
from tests import needs
from tests.integration.cells import PATIENCE_S
from tests.integration.shepherd.cell import CGROUPS, Cell, Client
from tests.integration.shepherd.launcher_server import LauncherServer

ROOT = os.geteuid() == 0
ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, LauncherServer]]:
    """The servers of launchers, by the user of the launchers: `root` or `user`."""
    needs.need_open_checkout()
    users = {"root": None, "user": pwd.getpwnam("nobody")} if ROOT else {"user": None}
    with ExitStack() as running:
        yield {name: running.enter_context(LauncherServer(user, PATIENCE_S)) for name, user in users.items()}


def _serve(server: LauncherServer) -> Iterator[Cell]:
    base = Path(tempfile.mkdtemp(prefix="ge-shepherd-"))  # pytest's own directories are closed to other users
    base.chmod(0o755)
    cell = Cell(base, "nobody" if ROOT else ME, server)
    cell.start_launcher()
    try:
        yield cell
    finally:
        if cell.launcher is not None:
            client = Client(cell.spool / "launcher.sock")  # a failed test may have left the other one in disorder
            for directory in client.ask(op="list")["running"]:
                client.ask(op="signal", directory=directory, command="end")  # a method as well
                client.wait_exited(Path(directory))
            client.close()
        cell.stop_launcher()
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def no_cgroups_left() -> Iterator[None]:
    """Removes the cgroups in which tests have made cgroups for their tasks."""
    yield
    for parent in MOUNT.glob(f"**/{CGROUPS}"):
        with suppress(OSError):  # something failed and is still in there
            for host in (each for each in parent.iterdir() if each.is_dir()):
                host.rmdir()
            parent.rmdir()


@pytest.fixture(params=["root", "user"] if ROOT else ["user"])
def cell(servers: dict[str, LauncherServer], request: pytest.FixtureRequest) -> Iterator[Cell]:
    """A cell of root with jobs of another user, and a cell in which everything belongs to one ordinary user."""
    yield from _serve(servers[request.param])


@pytest.fixture
def root_cell(servers: dict[str, LauncherServer]) -> Iterator[Cell]:
    """A cell of root; skipped for other users."""
    needs.need_root()
    yield from _serve(servers["root"])


@pytest.fixture
def user_cell(servers: dict[str, LauncherServer]) -> Iterator[Cell]:
    """A cell of an ordinary user."""
    yield from _serve(servers["user"])
