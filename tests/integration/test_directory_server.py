"""Users who exist in a directory server alone, and a cell whose directory server hangs or is away."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import Done, TestbedCell, eventually
from tests.integration.directory_server import DirectoryServer
from tests.integration.sssd import Sssd

#: minutes long: `make sites`
pytestmark = pytest.mark.apart

#: the hosts that ask the directory; t3 does not
HOSTS = ("tm", "t1", "t2")


@pytest.fixture
def directory(testbed_cell: TestbedCell) -> Iterator[DirectoryServer]:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="ge-test-") as name:
        Path(name).chmod(0o755)
        server = DirectoryServer(Path(name))
        try:
            for host in HOSTS:
                server.serve(testbed_cell, host)
            yield server
        finally:
            for host in HOSTS:
                server.leave(testbed_cell, host)
            server.remove()
            testbed_cell.on("tm", "qdel", "-f", "-u", "*")


def as_user(cell: TestbedCell, user: str, host: str, *command: str) -> Done:
    """A command as a user whom the host looks up, with all of their groups."""
    ids = ["setpriv", "--reuid", user, "--regid", "physics", "--init-groups"]
    return cell.on(host, *ids, "sh", "-c", 'cd ~$0 && HOME=$PWD exec "$@"'.replace("~$0", f"~{user}"), user, *command)


def submitted(done: Done) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()[2]


def state(cell: TestbedCell, job: str) -> str:
    lines = [line.split() for line in cell.on("tm", "qstat", "-u", "*").stdout.splitlines()]
    return next((fields[4] for fields in lines if fields[:1] == [job]), "")


def output(directory: DirectoryServer, job: str, name: str = "id") -> str:
    return (directory.homes["lena"] / f"{name}.o{job}").read_text()


def test_a_user_of_the_directory_alone_runs_jobs_with_all_groups_and_access_lists_know_the_groups(
    testbed_cell: TestbedCell, directory: DirectoryServer
) -> None:
    job = submitted(as_user(testbed_cell, "lena", "t1", "qsub", "-b", "y", "-j", "y", "-sync", "y", "-q", "all.q@t2", "id"))
    assert "uid=61001(lena) gid=61001(physics) " in output(directory, job)
    assert "61002(lattice)" in output(directory, job)
    on_master = ("tm", "qconf")
    assert testbed_cell.on(*on_master, "-au", "@physics", "ge-test-readers").returncode == 0
    try:
        assert testbed_cell.on(*on_master, "-aattr", "queue", "user_lists", "ge-test-readers", "all.q").returncode == 0
        verified = [as_user(testbed_cell, "lena", "t1", "qsub", "-w", "v", "-b", "y", "id")]
        verified.append(testbed_cell.as_user("alice", "t1", "qsub", "-w", "v", "-b", "y", "id"))
        assert ["found suitable queue" in done.stdout for done in verified] == [True, False]
    finally:
        testbed_cell.on(*on_master, "-dattr", "queue", "user_lists", "ge-test-readers", "all.q")
        testbed_cell.on(*on_master, "-dul", "ge-test-readers")


@pytest.fixture
def host_with_sssd(testbed_cell: TestbedCell, directory: DirectoryServer) -> Iterator[str]:
    """A host that asks the directory by SSSD."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="ge-test-") as name:
        sssd = Sssd(testbed_cell, "t3", directory.uri, Path(name))
        try:
            sssd.begin()
            yield "t3"
        finally:
            sssd.remove()


def test_a_user_of_the_directory_alone_runs_jobs_with_all_groups_on_a_host_with_sssd(
    testbed_cell: TestbedCell, directory: DirectoryServer, host_with_sssd: str
) -> None:
    for submit_host in ("t1", host_with_sssd):
        command = ("qsub", "-b", "y", "-j", "y", "-sync", "y", "-q", f"all.q@{host_with_sssd}", "id")
        job = submitted(as_user(testbed_cell, "lena", submit_host, *command))
        assert "uid=61001(lena) gid=61001(physics) " in output(directory, job)
        assert "61002(lattice)" in output(directory, job)


@pytest.mark.statement("EX-4")
def test_a_user_unknown_on_one_host_has_the_job_in_error_but_not_the_queue(
    testbed_cell: TestbedCell, directory: DirectoryServer
) -> None:
    job = submitted(as_user(testbed_cell, "lena", "t1", "qsub", "-b", "y", "-j", "y", "-q", "all.q@t3", "id"))
    eventually("the job is in error", lambda: "E" in state(testbed_cell, job))
    assert 'user "lena" is unknown on this host' in testbed_cell.on("tm", "qstat", "-j", job).stdout
    assert "t3" in {line.split()[0].partition("@")[2] for line in testbed_cell.on("tm", "qstat", "-f").stdout.splitlines()
                    if line.startswith("all.q@") and len(line.split()) == 5}


def test_a_directory_that_hangs_holds_up_only_users_who_are_not_known_yet(
    testbed_cell: TestbedCell, directory: DirectoryServer
) -> None:
    # from t3: to become a user on a host that asks the directory would hang as well
    on_t1 = ("qsub", "-b", "y", "-j", "y", "-q", "all.q@t1")
    submitted(testbed_cell.as_user("alice", "t3", *on_t1, "-sync", "y", "-o", "/dev/null", "true"))
    submitted(as_user(testbed_cell, "lena", "t1", *on_t1, "-sync", "y", "true"))
    directory.hang()
    try:
        waiting = submitted(testbed_cell.as_user("bob", "t3", *on_t1, "-o", "/dev/null", "true"))
        until = time.monotonic() + 15  # longer than the answers are fresh
        rounds = 0
        while time.monotonic() < until or rounds < 2:
            submitted(testbed_cell.as_user("alice", "t3", *on_t1, "-sync", "y", "-o", "/dev/null", "true"))
            rounds += 1
    finally:
        directory.go_on()
    eventually("the job that waited ends", lambda: state(testbed_cell, waiting) == "")
    assert "failed       0" in testbed_cell.on("tm", "qacct", "-j", waiting).stdout


def test_while_the_directory_is_away_known_users_work_with_their_groups_and_others_get_a_clear_error(
    testbed_cell: TestbedCell, directory: DirectoryServer
) -> None:
    job = ("qsub", "-b", "y", "-j", "y", "-q", "all.q@t1", "-sync", "y", "id")
    submitted(as_user(testbed_cell, "lena", "t1", *job))
    by_ids = ["setpriv", "--reuid", "61001", "--regid", "61001", "--clear-groups", "env", f"HOME={directory.homes['lena']}"]
    stranger = ["setpriv", "--reuid", "61003", "--regid", "61001", "--clear-groups"]
    in_home = ["sh", "-c", f'cd {directory.homes["lena"]} && exec "$@"', "sh"]
    directory.end()
    refused = testbed_cell.on("t1", *stranger, "qsub", "-b", "y", "id")
    assert refused.returncode == 1
    assert "cannot look up user id 61003: the name service of this host (nsswitch.conf) does not answer" in refused.stderr
    assert "61002" in output(directory, submitted(testbed_cell.on("t1", *by_ids, *in_home, *job)))
    directory.begin()
    assert as_user(testbed_cell, "otto", "t1", "qsub", "-b", "y", "-sync", "y", "-q", "all.q@t1", "true").returncode == 0
