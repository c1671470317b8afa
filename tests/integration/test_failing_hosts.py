"""Hosts whose daemon is killed, whose disk is full, whose users vanish: the visible effects, and the automatic recovery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import GATE, TestbedCell, eventually, run
from tests.integration.test_hosts import behind_gate, record, running_on, state_codes, submit

SPOOL = "/var/spool/gridengine/test/execd/t3"


@pytest.fixture
def small_spool(testbed_cell: TestbedCell) -> Iterator[None]:
    """t3 has a spool directory of 2 MiB, with nothing in it but the host's keys."""

    def around(*command: str) -> None:
        assert testbed_cell.on("t3", "gridengine", "stop").returncode == 0
        assert testbed_cell.on("t3", *command).returncode == 0
        testbed_cell.start("t3")
        eventually("t3 is there", lambda: state_codes(testbed_cell)["t3"] == "")

    kept = f"{SPOOL}.keys"
    mount = f"cp -a {SPOOL}/keys {kept}; mount -t tmpfs -o size=2m,mode=755 tmpfs {SPOOL}; mv {kept} {SPOOL}/keys"
    around("sh", "-ec", mount)
    yield
    around("umount", SPOOL)


def set_global(cell: TestbedCell, name: str, value: str) -> None:
    """Change one parameter of the global configuration."""
    lines = cell.on("tm", "qconf", "-sconf", "global").stdout.splitlines()
    text = [f"{name} {value}" if line.startswith(f"{name} ") else line for line in lines if not line.startswith("#")]
    with TemporaryDirectory(dir="/var/tmp") as directory:  # shared by all hosts
        (Path(directory) / "global").write_text("\n".join(text) + "\n")
        done = cell.on("tm", "qconf", "-Mconf", f"{directory}/global")
        assert done.returncode == 0, done.stderr


def explained(cell: TestbedCell) -> str:
    return cell.on("tm", "qstat", "-f", "-explain", "E").stdout


@pytest.mark.statement("QI-10", "QI-14", "EX-4", "EX-9")
def test_a_full_spool_keeps_jobs_away_and_loses_none(testbed_cell: TestbedCell, small_spool: None, gate: str) -> None:
    cell = testbed_cell
    runs, deleted = submit(cell, "-l", "h=t3", "sh", "-c", gate), submit(cell, "-l", "h=t3", "sleep", "1000")
    eventually("both run", lambda: running_on(cell, runs) == running_on(cell, deleted) == "t3")
    cell.on("t3", "dd", "if=/dev/zero", f"of={SPOOL}/fill", "bs=4k")
    waits = submit(cell, "-l", "h=t3", "true")
    eventually("t3 takes no jobs", lambda: state_codes(cell)["t3"] == "E")
    assert f"{SPOOL} takes no files: No space left on device" in explained(cell)
    elsewhere = submit(cell, "true")
    eventually("other hosts go on", lambda: record(cell, elsewhere).get("failed") == "0")
    cell.on("tm", "qdel", deleted)
    GATE.touch()
    eventually("the job's processes are gone", lambda: not behind_gate(cell, "t3"))
    assert running_on(cell, runs) == "t3", "nobody knows yet how it ended"
    cell.on("t3", "rm", f"{SPOOL}/fill")
    eventually("t3 takes jobs again by itself", lambda: state_codes(cell)["t3"] == "")
    eventually("its true end is known", lambda: record(cell, runs).get("exit_status") == "5")
    eventually("the deletion was carried out", lambda: record(cell, deleted).get("exit_status", "").startswith("137"))
    eventually("what waited has run", lambda: record(cell, waits).get("failed") == "0")


@pytest.mark.statement("QI-10", "QI-14", "EX-4", "EX-9")
@pytest.mark.parametrize("place", ["", "/active_jobs"])
def test_a_spool_that_becomes_read_only_closes_the_host_until_it_is_writable(testbed_cell: TestbedCell, place: str) -> None:
    cell = testbed_cell
    mount = f"mount --bind {SPOOL}{place} {SPOOL}{place} && mount -o remount,ro,bind {SPOOL}{place}"
    assert cell.on("t3", "sh", "-ec", mount).returncode == 0
    try:
        jobs = [submit(cell, "-l", "h=t3", "true"), submit(cell, "-t", "1-5:2", "-l", "h=t3", "true")]
        eventually("t3 takes no jobs", lambda: state_codes(cell)["t3"] == "E")
        assert f"{SPOOL} takes no files: Read-only file system" in explained(cell)
        assert "Eqw" not in cell.on("tm", "qstat", "-u", "*").stdout
        doctor = cell.on("t3", "gridengine", "doctor")
        assert f"{SPOOL}{place} is mounted read-only" in doctor.stdout + doctor.stderr
    finally:
        cell.on("t3", "umount", f"{SPOOL}{place}")
    eventually("t3 takes jobs again by itself", lambda: state_codes(cell)["t3"] == "")
    for job in jobs:
        eventually("what waited has run", lambda job=job: record(cell, job).get("failed") == "0")  # type: ignore[misc]


@pytest.mark.statement("QI-3", "EX-9", "EX-12")
def test_a_killed_execd_leaves_the_jobs_and_finds_them_again(testbed_cell: TestbedCell, gate: str) -> None:
    cell = testbed_cell
    job = submit(cell, "-l", "h=t3", "sh", "-c", gate)
    eventually("it runs", lambda: running_on(cell, job) == "t3")
    assert cell.on("t3", "sh", "-c", f"kill -9 $(cut -d' ' -f1 {SPOOL}/execd.pid)").returncode == 0
    eventually("t3 is unknown", lambda: state_codes(cell)["t3"] == "u")
    GATE.touch()
    eventually("the job ends without the daemon", lambda: not behind_gate(cell, "t3"))
    assert running_on(cell, job) == "t3"
    cell.start("t3")
    eventually("t3 is back", lambda: state_codes(cell)["t3"] == "")
    eventually("its true end is known", lambda: record(cell, job).get("exit_status") == "5")


@pytest.mark.statement("EX-11", "AC-5", "QC-17")
def test_a_job_of_a_dead_host_runs_elsewhere_and_its_old_copy_is_killed(testbed_cell: TestbedCell, gate: str) -> None:
    cell = testbed_cell
    cell.on("tm", "qconf", "-rattr", "queue", "rerun", "TRUE", "all.q")
    set_global(cell, "reschedule_unknown", "0:0:2")
    try:
        job = submit(cell, "-q", "all.q@t3,all.q@t2", "-soft", "-q", "all.q@t3", "-hard", "sh", "-c", gate)
        eventually("it runs", lambda: running_on(cell, job) == "t3")
        cell.power("cut", "t3")
        eventually("it runs elsewhere", lambda: running_on(cell, job) == "t2")
        assert behind_gate(cell, "t3"), "the cut-off host cannot know"
        cell.power("mend", "t3")
        eventually("the old copy is killed", lambda: not behind_gate(cell, "t3"))
        assert running_on(cell, job) == "t2"
        GATE.touch()
        eventually("the new one ends", lambda: running_on(cell, job) == "")
        output = cell.on("tm", "qacct", "-j", job).stdout
        assert [line.split()[1] for line in output.splitlines() if line.startswith("failed ")] == ["25", "0"]
    finally:
        set_global(cell, "reschedule_unknown", "0:0:0")
        cell.on("tm", "qconf", "-rattr", "queue", "rerun", "FALSE", "all.q")
        cell.power("mend", "t3")


@pytest.mark.statement("EX-4", "EX-5")
def test_a_user_who_is_deleted_and_comes_back(testbed_cell: TestbedCell, gate: str) -> None:
    cell = testbed_cell
    run(["userdel", "-r", "-f", "gecarol"])  # who may be left of a session that was killed
    add = ["useradd", "-m", "-u", "4711", "gecarol"]
    assert run(add).returncode == 0
    try:
        submitting = ("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-j", "y", "-l", "h=t1")
        runs = cell.as_user("gecarol", "t1", *submitting, "sh", "-c", gate).stdout.strip()
        waits = cell.as_user("gecarol", "t1", *submitting, "-h", "true").stdout.strip()
        eventually("one runs", lambda: running_on(cell, runs) == "t1")
        assert run(["userdel", "-f", "gecarol"]).returncode in (0, 8)
        cell.on("tm", "qrls", "-h", "u", waits)
        eventually("the other cannot be started", lambda: "Eqw" in cell.on("tm", "qstat", "-u", "*").stdout)
        assert "gecarol" in cell.on("tm", "qstat", "-j", waits).stdout
        assert state_codes(cell)["t1"] == "", "the queue is not to blame"
        GATE.touch()
        eventually("the running one ends as if nothing were", lambda: record(cell, runs).get("exit_status") == "5")
        run(add)
        cell.on("tm", "qmod", "-cj", waits)
        eventually("the other succeeds", lambda: record(cell, waits).get("failed") == "0")
    finally:
        cell.on("tm", "qdel", "-u", "gecarol")
        run(["userdel", "-r", "-f", "gecarol"])


@pytest.mark.statement("CK-5", "CK-4", "QF-34")
def test_a_checkpointing_job_leaves_a_host_whose_daemon_is_shut_down(testbed_cell: TestbedCell, gate: str) -> None:
    cell = testbed_cell
    with TemporaryDirectory(dir="/var/tmp") as directory:
        (Path(directory) / "save").write_text(
            "ckpt_name save\ninterface userdefined\nckpt_command none\nmigr_command none\nrestart_command none\n"
            "clean_command none\nckpt_dir /tmp\nsignal none\nwhen s\n"
        )
        assert cell.on("tm", "qconf", "-Ackpt", f"{directory}/save").returncode == 0
    cell.on("tm", "qconf", "-aattr", "queue", "ckpt_list", "save", "all.q")
    try:
        places = ("-q", "all.q@t3,all.q@t2", "-soft", "-q", "all.q@t3", "-hard")
        moves = submit(cell, "-ckpt", "save", *places, "sh", "-c", gate)
        ends = submit(cell, *places, "sleep", "1000")
        eventually("both run", lambda: running_on(cell, moves) == running_on(cell, ends) == "t3")
        assert cell.on("tm", "qconf", "-kej", "t3").returncode == 0
        eventually("it goes on elsewhere", lambda: running_on(cell, moves) == "t2")
        eventually("the other was killed", lambda: record(cell, ends).get("exit_status", "").startswith("137"))
        cell.start("t3")
        GATE.touch()
        eventually("it ends", lambda: record(cell, moves).get("exit_status") == "5")
        eventually("t3 is back", lambda: state_codes(cell)["t3"] == "")
    finally:
        cell.on("tm", "qconf", "-dattr", "queue", "ckpt_list", "save", "all.q")
        cell.on("tm", "qconf", "-dckpt", "save")


@pytest.mark.statement("QF-34")
@pytest.mark.parametrize("option", ["-ke", "-kej"])
def test_a_daemon_may_be_started_as_soon_as_the_old_daemon_got_its_signal(testbed_cell: TestbedCell, option: str) -> None:
    cell = testbed_cell
    job = submit(cell, "-l", "h=t3", "sleep", "1000")
    eventually("it runs", lambda: running_on(cell, job) == "t3")
    first = cell.on("t3", "cat", f"{SPOOL}/execd.pid").stdout
    assert cell.on("tm", "qconf", option, "t3").returncode == 0
    cell.start("t3")
    assert cell.on("t3", "cat", f"{SPOOL}/execd.pid").stdout != first
    eventually("t3 is back", lambda: state_codes(cell)["t3"] == "")
    if option == "-ke":
        cell.on("tm", "qdel", job)
    eventually("the job is gone", lambda: record(cell, job).get("exit_status", "").startswith("137"))
