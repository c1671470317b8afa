"""The ports of the manual: daemons listen on no other port, a firewall that opens only these hinders nothing, and `gridengine
doctor` names a closed port."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cells import TestbedCell, eventually, hosts_ready
from tests.integration.debian import need
from tests.integration.test_network import address, listening
from tests.tidy.sources import table_of

#: as the manual calls those who listen
MASTER, EXEC = "master host", "exec hosts"


def stated() -> list[tuple[str, str, str, str]]:
    """Name, ports, listening and connecting program of each row of the manual."""
    rows = table_of("docs/operations.md", "port", "default", "listens on", "who connects", "what for")
    return [(name, ports, listens, connects) for name, ports, listens, connects, _ in rows]


def ports_of(role: str) -> set[int]:
    """The ports on which hosts of a role listen, in a cell of one master and no shadows."""
    found: set[int] = set()
    for _, ports, listens, _ in stated():
        if listens == role:
            first, _, last = ports.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.statement("SE-3")
def test_daemons_listen_on_the_ports_of_the_manual_and_on_no_other(testbed_cell: TestbedCell) -> None:
    cell = testbed_cell
    for host, role in ((cell.master, MASTER), *((host, EXEC) for host in cell.hosts)):
        open_ports = set(listening(cell, host))
        assert open_ports <= ports_of(role), host
        # those that stand there by themselves are there
        assert {port for port in (6444, 6446, 6447, 6462) if port in ports_of(role)} <= open_ports, host


@pytest.fixture
def firewalls(testbed_cell: TestbedCell) -> Iterator[None]:
    """Rules that a test makes are gone afterwards, and the cell is whole again."""
    need("nft")
    yield
    for host in (testbed_cell.master, *testbed_cell.hosts):
        testbed_cell.on(host, "nft", "delete", "table", "inet", "cell")
    testbed_cell.restore()


def rules(cell: TestbedCell, host: str, *lines: str, policy: str = "accept") -> None:
    """A firewall of a host that admits packets of the host's own connections, and applies the given rules."""
    chain = f"type filter hook input priority 0; policy {policy};"
    text = "\n".join(["iif lo accept", "ct state established,related accept", "meta l4proto icmp accept", *lines])
    table = f"table inet cell {{\n chain entry {{\n {chain}\n{text}\n }}\n}}\n"
    done = cell.on(host, "nft", "-f", "-", input=table, stdin=None)
    assert done.returncode == 0, done.stderr


def doctor(cell: TestbedCell, host: str) -> list[str]:
    """The faults of the network that the doctor reports."""
    lines = cell.on(host, "gridengine", "doctor").stdout.splitlines()
    return [line.removeprefix("WRONG").strip() for line in lines if line.startswith("WRONG") and " port" in line]


def renewed(cell: TestbedCell, host: str) -> None:
    """Its daemon is started anew, so that each connection is made anew."""
    assert cell.on(host, "gridengine", "stop").returncode == 0
    cell.start(host)


@pytest.mark.statement("SE-3")
@pytest.mark.usefixtures("firewalls")
def test_with_the_ports_of_the_manual_alone_open_everything_works(testbed_cell: TestbedCell) -> None:
    cell, host = testbed_cell, testbed_cell.hosts[0]
    master, others = address(cell.master), [address(other) for other in cell.hosts[1:]]
    from_exec_hosts = [f"ip saddr {address(host)} tcp dport {ports} accept" for _, ports, on, _ in stated() if on == MASTER]
    rest = f"ip saddr {{ {', '.join(others)} }} accept"
    rules(cell, cell.master, *from_exec_hosts, rest, policy="drop")
    on_host = [(ports, connects) for _, ports, on, connects in stated() if on == EXEC]
    from_master = [f"ip saddr {master} tcp dport {ports} accept" for ports, connects in on_host if connects == MASTER]
    sessions = [f"tcp dport {ports} accept" for ports, connects in on_host if "qrsh" in connects]
    rules(cell, host, *from_master, *sessions, policy="drop")
    renewed(cell, host)
    eventually("the host is back", lambda: host in hosts_ready(cell.on(cell.master, "qstat", "-f").stdout))
    submitted = ("qsub", "-sync", "y", "-b", "y", "-l", f"h={host}", "-o", "/dev/null", "-j", "y", "true")
    assert cell.as_user("alice", host, *submitted).returncode == 0
    assert cell.as_user("alice", cell.master, "qrsh", "-l", f"h={host}", "echo", "in").stdout == "in\n"
    assert doctor(cell, host) == doctor(cell, cell.master) == []


@pytest.mark.usefixtures("firewalls")
def test_doctor_names_the_port_that_is_closed_and_the_direction(testbed_cell: TestbedCell) -> None:
    cell, host = testbed_cell, testbed_cell.hosts[1]
    rules(cell, cell.master, f"ip saddr {address(host)} tcp dport 6446 drop")
    assert doctor(cell, host) == [f"from {host} to {cell.master}, port 6446 (ray_port): no reply: a firewall drops it"]
    # not 6447, by which the head sees that a host is there: what is said of one that is lost is another thing
    rules(cell, host, "tcp dport 6462 reject with tcp reset", "tcp dport 6448 drop")
    dropped = f"from {cell.master} to {host}, port 6448 (ray_ports): no reply: a firewall drops it"
    why = "refused: no listener, or a firewall rejects it"
    refused = f"from {cell.master} to {host}, port 6462 (interactive sessions): {why}"
    assert doctor(cell, host)[1:] == doctor(cell, cell.master) == [dropped, refused]
