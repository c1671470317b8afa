"""Interactive jobs of ordinary users across hosts, each with a network of its own."""

from __future__ import annotations

import hashlib

import pytest

from tests.integration.cells import PATIENCE_S, TestbedCell, eventually


@pytest.mark.statement("IA-1", "IA-9")
@pytest.mark.parametrize("submit_host", ["t1", "tm"])
def test_streams_cross_hosts_from_any_submit_host(testbed_cell: TestbedCell, submit_host: str) -> None:
    command = "id -un; hostname; head -c 8000000 /dev/zero; cat; exit 4"
    done = testbed_cell.as_user("alice", submit_host, "qrsh", "-l", "h=t3", command, input=b"end", stdin=None, text=False)
    assert (done.returncode, done.stderr) == (4, b"")
    output = b"alice\nt3\n" + bytes(8000000) + b"end"
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(output).digest()


@pytest.mark.statement("IA-10", "SE-3")
def test_only_the_owner_gets_to_a_session(testbed_cell: TestbedCell) -> None:
    client = testbed_cell.start_as("alice", "t1", "qrsh", "-l", "h=t2", "-N", "mine", "sleep 1000")
    try:
        eventually("it runs", lambda: " r " in testbed_cell.as_user("alice", "t1", "qstat").stdout)
        job = testbed_cell.as_user("alice", "t1", "qstat").stdout.splitlines()[2].split()[0]
        for refused in (
            testbed_cell.as_user("bob", "t1", "qrsh", "-attach", job),
            testbed_cell.on("tm", "qrsh", "-attach", job),
        ):
            assert refused.returncode == 1 and f'job {job} belongs to "alice"' in refused.stderr
        socket = f"/var/spool/gridengine/test/execd/t2/active_jobs/{job}.1/session"
        look = ("stat", "-c", "%U %a", socket)
        eventually("only root gets to it", lambda: testbed_cell.on("t2", *look).stdout == "root 600\n")
        testbed_cell.as_user("alice", "t3", "qdel", job)
        assert client.wait(timeout=PATIENCE_S) == 137
    finally:
        client.kill()
        client.communicate()


@pytest.mark.statement("IA-9")
def test_a_session_goes_on_when_the_cable_is_back(testbed_cell: TestbedCell) -> None:
    client = testbed_cell.start_as("alice", "t1", "qrsh", "-l", "h=t2", "seq 1 9; read line; echo $line; seq 1 9")
    numbers = b"".join(b"%d\n" % number for number in range(1, 10))
    try:
        assert client.stdout is not None and client.stdout.read(len(numbers)) == numbers
        testbed_cell.power("cut", "t2")
        testbed_cell.power("mend", "t2")
        rest, _ = client.communicate(b"word\n", timeout=PATIENCE_S)
        assert (rest, client.returncode) == (b"word\n" + numbers, 0)
    finally:
        client.kill()
