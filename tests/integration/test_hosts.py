"""Several hosts, each with a network, processes and disk of its own: the effects of a host's failure and return."""

from __future__ import annotations

import pytest

from gridengine import __version__
from tests.integration.cells import GATE, TestbedCell, eventually


def state_codes(cell: TestbedCell) -> dict[str, str]:
    """State letters of the instances of all.q by host."""
    lines = cell.on("tm", "qstat", "-f").stdout.splitlines()
    rows = [line.split() for line in lines if line.startswith("all.q@")]
    return {row[0].partition("@")[2]: (row[5] if len(row) > 5 else "") for row in rows}


def submit(cell: TestbedCell, *arguments: str) -> str:
    done = cell.as_user("alice", "t1", "qsub", "-terse", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(".")[0].strip()


def running_on(cell: TestbedCell, job: str) -> str:
    """Host of a running job, "" when it does not run."""
    for line in cell.on("tm", "qstat", "-u", "*").stdout.splitlines()[2:]:
        row = line.split()
        if row[0] == job and row[4] in ("r", "Rr"):
            return row[7].partition("@")[2]
    return ""


def behind_gate(cell: TestbedCell, host: str) -> bool:
    """Whether processes of a job wait there for GATE, independent of the master's data."""
    return str(GATE) in cell.on(host, "ps", "axww").stdout


def record(cell: TestbedCell, job: str) -> dict[str, str]:
    output = cell.as_user("alice", "t1", "qacct", "-j", job).stdout
    return {fields[0]: fields[1].strip() for line in output.splitlines() if len(fields := line.split(None, 1)) == 2}


@pytest.mark.statement("EX-10", "QI-3", "LS-8", "QC-17", "QI-18")
def test_a_host_without_power_is_unknown_and_its_jobs_are_reported_correctly(testbed_cell: TestbedCell) -> None:
    once = submit(testbed_cell, "-l", "h=t3", "-r", "n", "sleep", "600")
    again = submit(testbed_cell, "-q", "all.q@t3,all.q@t2", "-l", "h=t3", "-r", "y", "sleep", "600")
    eventually("both run on t3", lambda: {running_on(testbed_cell, job) for job in (once, again)} == {"t3"})
    testbed_cell.power("kill", "t3")
    eventually("t3 is unknown", lambda: state_codes(testbed_cell) == {"t1": "", "t2": "", "t3": "u"})
    elsewhere = submit(testbed_cell, "sleep", "1")
    eventually("other hosts go on", lambda: record(testbed_cell, elsewhere).get("exit_status") == "0")
    testbed_cell.power("boot", "t3")
    testbed_cell.start("t3")
    eventually("t3 is back", lambda: state_codes(testbed_cell)["t3"] == "")
    eventually("the job that may run again does", lambda: running_on(testbed_cell, again) == "t3")
    eventually("the other one is told truly", lambda: record(testbed_cell, once).get("failed", "").startswith("19 "))
    testbed_cell.on("tm", "qdel", again)
    testbed_cell.until_empty()


@pytest.mark.statement("QI-3", "EX-9")
def test_a_job_outlives_a_cut_cable_and_is_reported_when_the_cable_is_back(testbed_cell: TestbedCell, gate: str) -> None:
    job = submit(testbed_cell, "-l", "h=t2", "sh", "-c", gate)
    eventually("it runs", lambda: running_on(testbed_cell, job) == "t2")
    testbed_cell.power("cut", "t2")
    eventually("t2 is unknown", lambda: state_codes(testbed_cell)["t2"] == "u")
    GATE.touch()
    eventually("it ends unseen", lambda: not behind_gate(testbed_cell, "t2"))
    assert running_on(testbed_cell, job) == "t2"
    testbed_cell.power("mend", "t2")
    eventually("t2 is back", lambda: state_codes(testbed_cell)["t2"] == "")
    eventually("its end is known", lambda: record(testbed_cell, job).get("exit_status") == "5")


def losses(cell: TestbedCell, host: str) -> int:
    """The number of times that a host's daemon has lost the master and waited for it."""
    return cell.on(host, "cat", f"/var/spool/gridengine/test/execd/{host}/messages").stdout.count("is gone: this host waits")


@pytest.mark.statement("SP-3", "EX-9", "GC-5")
def test_the_master_is_stopped_and_started_while_jobs_run_elsewhere(testbed_cell: TestbedCell, gate: str) -> None:
    jobs = [submit(testbed_cell, "-l", f"h=t{number}", "sh", "-c", gate) for number in (1, 2, 3)]
    eventually("they run", lambda: all(running_on(testbed_cell, job) for job in jobs))
    before = {host: losses(testbed_cell, host) for host in testbed_cell.hosts}
    assert testbed_cell.on("tm", "gridengine", "stop").returncode == 0
    done = testbed_cell.as_user("alice", "t1", "qstat")
    assert done.returncode == 1 and "unable to contact" in done.stderr and "Traceback" not in done.stderr
    for host in testbed_cell.hosts:
        eventually("its node has ended", lambda host=host: losses(testbed_cell, host) > before[host])
    GATE.touch()
    eventually("they end unseen", lambda: not any(behind_gate(testbed_cell, host) for host in testbed_cell.hosts))
    testbed_cell.start("tm")
    eventually("all hosts are back", lambda: set(state_codes(testbed_cell).values()) == {""})
    eventually("all ends are known", lambda: [record(testbed_cell, job).get("exit_status") for job in jobs] == ["5"] * 3)


@pytest.mark.statement("SE-3", "QF-36", "QM-7")
def test_users_are_who_their_hosts_say_they_are(testbed_cell: TestbedCell) -> None:
    job = submit(testbed_cell, "sleep", "600")
    eventually("it runs", lambda: running_on(testbed_cell, job) != "")
    refused = testbed_cell.as_user("bob", "t2", "qdel", job)
    assert refused.returncode == 1 and "privileges" in refused.stderr
    assert testbed_cell.as_user("bob", "t2", "qconf", "-dq", "all.q").returncode == 1
    key = testbed_cell.as_user("bob", "t2", "cat", "/var/spool/gridengine/test/execd/t2/keys/gdi_key")
    assert key.returncode != 0
    assert testbed_cell.as_user("alice", "t3", "qdel", job).returncode == 0
    testbed_cell.until_empty()


def test_installed_commands_say_their_version(testbed_cell: TestbedCell) -> None:
    for program in ("qsub", "qconf", "gridengine"):
        done = testbed_cell.on("t1", program, "--version")
        assert (done.returncode, done.stderr) == (0, "") and f"gridengine {__version__}" in done.stdout
