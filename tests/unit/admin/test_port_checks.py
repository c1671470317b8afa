"""`gridengine doctor` and firewalls: the ports that must answer, and the messages on closed ports."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from clients.admin import port_checks
from clients.admin.cell import CellFiles, InstalledCell
from clients.admin.free_ports import free_ports
from clients.admin.port_checks import CellPorts, PortResults, check_firewall, try_ports
from clients.gdi import Answer, Unreachable

SETTINGS = {"qmaster_port": "6444", "ray_port": "6446", "execd_spool_dir": "/nowhere", "qmaster_spool_dir": "/nowhere"}
NODE = {6447, 6448, 6449}


class Execd:
    """A daemon that runs here."""

    program, host = port_checks.EXECD, "h1"


class Network:
    """The replies of hosts: `reached[address]`; `back`: the ports that the master reaches, None without an answer."""

    def __init__(self) -> None:
        self.reached: dict[str, PortResults] = {}
        self.back: dict[str, list[int]] | None = None
        self.hosts: list[dict[str, Any]] = []

    def call(self, name: str, body: object) -> Answer:
        if name == "releases":
            return Answer(0, [], {"hosts": self.hosts})
        if name != "try_ports" or self.back is None:
            raise Unreachable("away")
        return Answer(0, [], self.back)

    def try_ports(self, address: str, ports: list[int]) -> PortResults:
        known = self.reached[address]
        return PortResults(known.answers & set(ports), known.refused & set(ports), known.silent & set(ports))


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    network = Network()
    monkeypatch.setattr(port_checks.gdi, "call", network.call)
    monkeypatch.setattr(port_checks, "try_ports", network.try_ports)
    monkeypatch.setattr(port_checks, "_address", lambda cell, host: host)
    monkeypatch.setattr(port_checks, "this_host", lambda cell: "h1")
    monkeypatch.setattr(port_checks, "select_cell", lambda files: None)
    return network


@pytest.fixture
def cell(tmp_path: Path) -> InstalledCell:
    return InstalledCell(CellFiles(tmp_path, "c"), dict(SETTINGS), "m")


def found(cell: InstalledCell, monkeypatch: pytest.MonkeyPatch, at_master: bool = False) -> list[str]:
    monkeypatch.setattr(port_checks, "is_master_here", lambda cell: at_master)
    monkeypatch.setattr(port_checks, "daemons_of_this_machine", lambda cell: [] if at_master else [Execd])
    monkeypatch.setattr(port_checks, "process_of", lambda daemon: True)
    return [finding.what if finding.fix else f"ok {finding.what}" for finding in check_firewall(cell)]


def test_an_exec_host_tries_the_master_and_is_tried_by_it(
    cell: InstalledCell, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = set(range(6450, 6511))
    network.reached["m"] = PortResults({6444, 6446, *NODE}, rest)
    network.back = {"answers": [*NODE, 6462], "refused": [*rest - {6462}], "silent": []}
    assert found(cell, monkeypatch) == [
        "ok qmaster_port 6444, ray_port 6446 of m answer h1",
        "ok ports 6447,6448 of m answer h1, no other port of ray_ports is closed",
        "ok ports 6447,6448,6462 of h1 answer m, no other port of ray_ports is closed",
    ]
    network.reached["m"] = PortResults({6444, *NODE}, rest, {6446})
    network.back = {"answers": [6447, 6448], "refused": [6462], "silent": [6450, 6451, 6452, 6463]}
    assert found(cell, monkeypatch) == [
        "from h1 to m, port 6446 (ray_port): no reply: a firewall drops it",
        "ok ports 6447,6448 of m answer h1, no other port of ray_ports is closed",
        "from m to h1, ports 6450-6452 (ray_ports): no reply: a firewall drops it",
        "from m to h1, port 6462 (interactive sessions): refused: no listener, or a firewall rejects it",
    ]


def test_a_master_that_gives_no_sign_is_one_finding(
    cell: InstalledCell, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.reached["m"] = PortResults(silent={6444, 6446, *range(6447, 6511)})
    assert found(cell, monkeypatch) == ["m (m) answers h1 on no port"]


def test_a_master_that_cannot_test_ports_is_reported(
    cell: InstalledCell, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.reached["m"] = PortResults({6444, 6446, *NODE})
    assert found(cell, monkeypatch)[-1] == "m cannot test whether it reaches the ports of h1"


def test_the_master_host_tries_each_exec_host(cell: InstalledCell, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    network.hosts = [{"host": "h1", "up": True}, {"host": "h2", "up": False}, {"host": "h3", "up": True}]
    network.reached = {"h1": PortResults({*NODE, 6462}), "h2": PortResults(set(), {6447}), "h3": PortResults({6463, 6464, 6462})}
    assert found(cell, monkeypatch, at_master=True) == [
        "ok ports 6447,6448,6462 of h1 answer m, no other port of ray_ports is closed",
        "host h2 does not report, and none of its ports answers",
        "ok ports 6462-6464 of h3 answer m, no other port of ray_ports is closed",
    ]


def test_a_host_without_a_daemon_tries_the_master_alone(
    cell: InstalledCell, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.reached["m"] = PortResults({6444, 6446, *NODE})
    monkeypatch.setattr(port_checks, "process_of", lambda daemon: None)
    monkeypatch.setattr(port_checks, "is_master_here", lambda cell: False)
    monkeypatch.setattr(port_checks, "daemons_of_this_machine", lambda cell: [Execd])
    assert [finding.fix for finding in check_firewall(cell)] == ["", ""]


def test_a_shadow_is_tried_at_its_port(cell: InstalledCell, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    (cell.files.common).mkdir(parents=True)
    (cell.files.common / "shadow_masters").write_text("m\ns\n")
    network.reached = {"m": PortResults({6444, 6445, 6446, *NODE}), "s": PortResults(silent={6445})}
    assert "from h1 to s, port 6445 (shadow_port): no reply: a firewall drops it" in found(cell, monkeypatch)


def test_a_port_of_sessions_of_its_own_is_the_one_that_must_answer(
    cell: InstalledCell, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell.settings["execd_port"] = "7000"
    network.hosts = [{"host": "h1", "up": True}]
    network.reached = {"h1": PortResults({*NODE}, set(), {7000})}
    assert found(cell, monkeypatch, at_master=True) == [
        "from m to h1, port 7000 (interactive sessions): no reply: a firewall drops it"
    ]


def test_blocks_are_of_the_range_of_the_cell() -> None:
    ports = CellPorts.of({**SETTINGS, "ray_ports": "7000-7040"})
    assert ports.blocks == [range(7000, 7016), range(7016, 7032)]


def test_open_and_closed_ports_are_distinguished() -> None:
    (closed,) = free_ports(1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert try_ports("127.0.0.1", [port, closed]) == PortResults({port}, {closed})
    assert try_ports("", [closed]).answers == set()
