"""The cell whose processes are killed, stopped and started again by the tests of this directory, under a manager like systemd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell
from tests.integration.crashes.manager import Manager
from tests.integration.kill_play import SLOTS


@pytest.fixture(scope="package")
def stopped_cell(launchers: Path) -> Iterator[DemoCell]:
    made = DemoCell(slots=SLOTS)
    try:
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="package")
def manager(stopped_cell: DemoCell) -> Manager:
    """The manager to which the daemons of the cell report."""
    place = stopped_cell.place / "notify"
    stopped_cell.environment |= {"NOTIFY_SOCKET": str(place), "WATCHDOG_USEC": "2000000"}
    return Manager(place)


@pytest.fixture(scope="package")
def cell(stopped_cell: DemoCell, manager: Manager) -> DemoCell:
    """A test leaves it running, without jobs."""
    stopped_cell.start()
    return stopped_cell
