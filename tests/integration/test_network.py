"""What a cell shows to the network: where its daemons listen."""

from __future__ import annotations

import re

from tests.integration.cells import TestbedCell

#: qmaster_port, ray_port and ray_ports of a cell that nobody gave others
PORTS = {6444, 6446, *range(6447, 6511)}


def listening(cell: TestbedCell, host: str) -> dict[int, str]:
    """The address by port of everything that listens on a host."""
    lines = cell.on(host, "ss", "-ltnH").stdout.splitlines()
    places = [re.fullmatch(r"(.*):(\d+)", line.split()[3]) for line in lines]
    return {int(place[2]): place[1] for place in places if place}


def test_daemons_listen_in_the_named_ranges_only(testbed_cell: TestbedCell) -> None:
    for host in (testbed_cell.master, *testbed_cell.hosts):
        found = listening(testbed_cell, host)
        assert found and set(found) <= PORTS


def test_the_qmaster_and_the_sessions_listen_on_the_hosts_own_address(testbed_cell: TestbedCell) -> None:
    for host, port in [(testbed_cell.master, 6444), *((host, 6462) for host in testbed_cell.hosts)]:
        own = testbed_cell.on(host, "hostname", "-I").stdout.split()
        assert listening(testbed_cell, host)[port] in own
