"""Fixtures: cells whose launcher is root, and cells of the user who runs the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from daemons.execd.cgroups import MOUNT
from tests import needs
from tests.integration.shepherd.cell import CGROUPS, Cell, Client

ROOT = os.geteuid() == 0
ME = pwd.getpwuid(os.geteuid()).pw_name


def _serve(user: str, as_root: bool) -> Iterator[Cell]:
    needs.need_open_checkout()
    base = Path(tempfile.mkdtemp(prefix="ge-shepherd-"))  # pytest's own directories are closed to other users
    base.chmod(0o755)
    cell = Cell(base, user, as_root)
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
    """Removes those in which tests have made some for their tasks."""
    yield
    for parent in MOUNT.glob(f"**/{CGROUPS}"):
        with suppress(OSError):  # something failed and is still in there
            parent.rmdir()


@pytest.fixture(params=["root", "user"] if ROOT else ["user"])
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    """A cell of root's with jobs of another user, and one in which everything belongs to one ordinary user."""
    yield from _serve("nobody" if ROOT else ME, request.param == "root")


@pytest.fixture
def root_cell() -> Iterator[Cell]:
    """A cell of root's; skipped for others."""
    needs.need_root()
    yield from _serve("nobody", True)


@pytest.fixture
def user_cell() -> Iterator[Cell]:
    """A cell of an ordinary user."""
    yield from _serve("nobody" if ROOT else ME, False)
