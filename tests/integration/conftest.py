"""The cells that integration tests run on; each is made once for the session, by the first test that wants it."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.cells import BIN, GATE, DemoCell, TestbedCell, running_cells
from tests.needs import need_testbed
from tools.launchers import write_launchers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules with tests on a shared cell come last, those on the same cell together: an idle cell takes 3 to 5 s of a processor
    a minute to the end of the session."""
    of_testbed, of_demo = ({each.path for each in items if cell in _fixtures(each)} for cell in ("session_cell", "demo_cell"))
    items.sort(key=lambda item: (item.path in of_demo, item.path in of_testbed))


def _fixtures(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows its cell: most failures are a host or a job that was waited for in vain."""
    report = yield
    if report.failed and call.excinfo is not None and call.excinfo.errisinstance((AssertionError, subprocess.TimeoutExpired)):
        for cell in running_cells:
            with suppress(subprocess.TimeoutExpired):
                report.sections.append((f"cell {cell.environment.get('SGE_ROOT', 'test')}", cell.evidence()))
    return report


@pytest.fixture(scope="session")
def launchers() -> Path:
    """The directory with the commands of this environment, made to fit the modules that exist now."""
    write_launchers(BIN, sys.executable)
    return BIN


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that other users may enter and read: pytest's own are closed to them, anew whenever another session begins."""
    with tempfile.TemporaryDirectory(prefix="ge-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="session")
def demo_cell(launchers: Path) -> Iterator[DemoCell]:
    """A running cell of one exec host, as the current user."""
    with DemoCell().running() as cell:
        yield cell


@pytest.fixture
def own_cell(launchers: Path) -> Iterator[DemoCell]:
    """A cell whose queues and policies the test changes."""
    with DemoCell().running() as cell:
        yield cell


@pytest.fixture
def testbed_cell(session_cell: TestbedCell) -> TestbedCell:
    """A running cell of a master and three exec hosts, installed for all users."""
    session_cell.restore()
    return session_cell


@pytest.fixture
def gate(testbed_cell: TestbedCell) -> Iterator[str]:
    """A command for a shell of the test bed that ends with status 5 as soon as the file GATE exists."""
    GATE.unlink(missing_ok=True)
    yield f"while [ ! -e {GATE} ]; do sleep 0.5; done; exit 5"
    GATE.touch()
    testbed_cell.until_empty()
    GATE.unlink()


@pytest.fixture(scope="session")
def installed() -> Iterator[None]:
    """The code of this checkout, installed for the hosts of the test bed."""
    need_testbed()
    with Path("/run/lock/gridengine-test-cell").open("w") as one_session:
        fcntl.flock(one_session, fcntl.LOCK_EX)  # its hosts and its installation are the machine's
        TestbedCell().install()
        yield


@pytest.fixture(scope="session")
def session_cell(installed: None) -> Iterator[TestbedCell]:
    cell = TestbedCell()
    try:
        cell.up()
        yield cell
    finally:
        cell.remove()
