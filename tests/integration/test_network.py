"""The cell as the network sees it: addresses of its daemons, bytes on a cable, and the data sent to a host
that does not belong to it any more."""

from __future__ import annotations

import re
import secrets
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.integration.cells import TEST_PREFIX, TESTBED, TestbedCell, eventually, hosts_ready, run
from tests.integration.test_hosts import running_on, submit

#: qmaster_port, ray_port and ray_ports of a cell that nobody gave others
#: 6445: a host that voted for a master once, in another test of this cell, says so ever after (adr/0174)
PORTS = {6444, 6445, 6446, *range(6447, 6511)}

SPOOL, RUN = "/var/spool/gridengine/test", "/run/gridengine/test"
AUTHORITY = f"{TEST_PREFIX}/cells/test/common/tls.crt"

#: Asks Ray's head who its nodes are: keys, authority, token and head are arguments.
JOIN = """
import os, sys
keys, authority, token, head = sys.argv[1:]
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=token, RAY_USE_TLS="1", RAY_TLS_CA_CERT=authority,
                  RAY_TLS_SERVER_CERT=keys + "/tls.crt", RAY_TLS_SERVER_KEY=keys + "/tls.key")
from ray._raylet import GcsClient
try:
    print("joined", len(GcsClient(address=head).get_all_node_info(timeout=60)))
except Exception as error:
    print("refused", error)
"""

#: Sends its second argument to the first in a packet that nobody waits for.
SEND = "import socket, sys; socket.socket(type=socket.SOCK_DGRAM).sendto(sys.argv[2].encode(), (sys.argv[1], 7777))"


def python_of_programs() -> str:
    """The interpreter of the installed programs, which has their libraries."""
    first = (TEST_PREFIX / "bin" / "qhost").read_text().partition("\n")[0]
    return first.removeprefix("#!").split()[0]


def listening(cell: TestbedCell, host: str) -> dict[int, str]:
    """The address by port of everything that listens on a host."""
    lines = cell.on(host, "ss", "-ltnH").stdout.splitlines()
    places = [re.fullmatch(r"(.*):(\d+)", line.split()[3]) for line in lines]
    return {int(place[2]): place[1] for place in places if place}


def address(host: str) -> str:
    """The address of a host of the test bed."""
    known = dict(line.split()[:2] for line in run([str(TESTBED / "hosts"), "list"]).stdout.splitlines())
    return known[host]


class Sniffer:
    """Reads every packet that passes a host's cable, from the other end of it."""

    def __init__(self, host: str) -> None:
        self.packets: list[bytes] = []
        self._ended = threading.Event()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**25)
        self._socket.bind((f"tb{address(host).rpartition('.')[2]}", 0))
        self._socket.settimeout(0.2)
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Sniffer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _read(self) -> None:
        while not self._ended.is_set():
            try:
                self.packets.append(self._socket.recv(2**17))
            except TimeoutError:
                continue

    def saw(self, text: str) -> bool:
        return any(text.encode() in packet for packet in self.packets)


def test_daemons_listen_in_the_named_ranges_only(testbed_cell: TestbedCell) -> None:
    for host in (testbed_cell.master, *testbed_cell.hosts):
        found = listening(testbed_cell, host)
        assert found and set(found) <= PORTS


def test_the_qmaster_and_the_sessions_listen_on_the_hosts_own_address(testbed_cell: TestbedCell) -> None:
    for host, port in [(testbed_cell.master, 6444), *((host, 6462) for host in testbed_cell.hosts)]:
        assert listening(testbed_cell, host)[port] == address(host)


@pytest.mark.statement("SE-3")
def test_the_cable_shows_no_script_no_variable_and_no_token(testbed_cell: TestbedCell) -> None:
    cell = testbed_cell
    script, password, session = (secrets.token_hex(20) for _ in range(3))
    # one short script, and one that Ray takes another way for
    texts = [f"# {script}", *[f"# {script} {number}" for number in range(5000)]]
    with Sniffer(cell.master) as sniffer:
        cell.on("t1", "gridengine", "stop")
        cell.start("t1")
        eventually("the host is back", lambda: hosts_ready(cell.on(cell.master, "qstat", "-f").stdout) == set(cell.hosts))
        for lines in (texts[:1], texts):
            done = cell.as_user(
                "alice", "t1", "qsub", "-sync", "y", "-l", "h=t1", "-v", f"PASSWORD={password}", "-o", "/dev/null",
                input="\n".join(["#!/bin/sh", *lines, 'test -n "$PASSWORD"', ""]),
                stdin=None,
            )
            assert done.returncode == 0, done.stderr
        output = cell.as_user("alice", cell.master, "qrsh", "-l", "h=t1", "echo", session)
        assert output.stdout == f"{session}\n"
        token = cell.on(cell.master, "cat", f"{RUN}/ray/qmaster.token").stdout
        hidden = {"script": script, "password": password, "session": session, "token": token}
        assert len(token) == 64 and len(sniffer.packets) > 100
        assert [name for name, text in hidden.items() if sniffer.saw(text)] == []

        def seen() -> bool:
            cell.on("t1", python_of_programs(), "-c", SEND, address(cell.master), " ".join(hidden.values()))
            return all(map(sniffer.saw, hidden.values()))

        # were it there, it would have been seen
        eventually("it sees what is sent in clear", seen)


@pytest.fixture
def to_be_revoked(testbed_cell: TestbedCell) -> Iterator[str]:
    """An exec host that may be cut off, and gets new keys afterwards."""
    yield "t3"
    assert testbed_cell.on(testbed_cell.master, "gridengine", "host", "add", "t3").returncode == 0
    testbed_cell.on("t3", "gridengine", "stop")
    testbed_cell.start("t3")
    eventually("it belongs to the cell again", lambda: "t3" in ready(testbed_cell))


def ready(cell: TestbedCell) -> set[str]:
    return hosts_ready(cell.on(cell.master, "qstat", "-f").stdout)


@pytest.mark.statement("SE-3")
def test_a_revoked_host_is_cut_off_and_cannot_come_back(testbed_cell: TestbedCell, to_be_revoked: str) -> None:
    cell, lost = testbed_cell, to_be_revoked
    stolen = f"{SPOOL}/execd/{lost}/stolen"

    def join(host: str, token: str) -> str:
        head = f"{address(cell.master)}:6446"
        done = cell.on(host, python_of_programs(), "-c", JOIN, f"{SPOOL}/execd/{host}/keys", AUTHORITY, token, head)
        return next((line for line in done.stdout.splitlines() if line.startswith(("joined", "refused"))), done.stderr)

    cell.on(lost, "cp", f"{RUN}/ray/h-{lost}.token", stolen)
    assert join(lost, stolen).startswith("joined")
    job = submit(cell, "-l", "h=t1", "sleep", "600")
    eventually("it runs", lambda: running_on(cell, job) == "t1")

    done = cell.on(cell.master, "gridengine", "host", "revoke", lost)
    assert done.returncode == 0, done.stderr
    assert cell.as_user("alice", lost, "qstat").returncode == 1
    eventually("the others have joined the new head", lambda: ready(cell) == {"t1", "t2"})
    assert "denied" in cell.as_user("alice", lost, "qstat").stderr
    assert "Authentication token is missing or incorrect" in join(lost, stolen)
    assert join("t1", f"{RUN}/ray/h-t1.token").startswith("joined")
    cell.on(lost, "gridengine", "stop")

    def refused() -> bool:
        done = cell.on(lost, "gridengine", "start")  # it waits for the master's word for a moment only
        return done.returncode == 1 and f"the master refuses {lost}" in done.stderr

    eventually("the start says why it is no host of the cell", refused)
    assert "denied" in cell.as_user("alice", lost, "qstat").stderr
    known = cell.on(cell.master, "gridengine", "host", "list").stdout.splitlines()
    assert {line.split()[0] for line in known} - {cell.master} == {"t1", "t2"}
    assert running_on(cell, job) == "t1"
    cell.on(cell.master, "qdel", job)
    eventually("it is gone", lambda: running_on(cell, job) == "")
