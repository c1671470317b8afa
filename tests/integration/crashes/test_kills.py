"""kill -9 of any process while jobs run: the jobs go on, every acknowledged job ends exactly once, without help."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, eventually
from tests.integration.kill_play import SLOTS, KillPlay
from tests.integration.victims import VICTIMS, command_line, is_daemon, kill

JOBS = SLOTS


def start_jobs(cell: DemoCell, tag: str) -> list[str]:
    """Jobs that leave a mark when they begin and end after a file appears; all of them running."""
    script = cell.work / f"{tag}.sh"
    script.write_text(
        "#!/bin/sh\n#$ -S /bin/sh -j y -o /dev/null\n"
        f"echo $JOB_ID >> {cell.work}/{tag}.began\n"
        f"while [ ! -e {cell.work}/{tag}.end ]; do sleep 1; done\n"  # fifty of them ask
        f"echo $JOB_ID >> {cell.work}/{tag}.ended\n"
    )
    jobs = [cell.must("qsub", "-terse", str(script)).strip() for _ in range(JOBS)]
    eventually("all jobs run", lambda: len(lines(cell.work / f"{tag}.began")) == JOBS)
    return jobs


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def late_job(cell: DemoCell) -> str:
    """A job that is over soon, "" while no command is answered."""
    done = cell.command("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", "/bin/true")
    assert "Traceback" not in done.stderr
    return done.stdout.strip()


def all_over(cell: DemoCell) -> bool:
    done = cell.command("qstat", "-u", "*")
    return done.returncode == 0 and not done.stdout


@pytest.mark.statement("EX-9", "SP-3")
@pytest.mark.parametrize("role", [role for role in VICTIMS if role != "control store"])
def test_jobs_survive_kill_9(cell: DemoCell, role: str) -> None:
    tag = role.replace(" ", "-")
    try:
        kill_while_jobs_run(cell, role, tag)
    finally:
        (cell.work / f"{tag}.end").touch()  # a failure must not leave the jobs to the next test


def kill_while_jobs_run(cell: DemoCell, role: str, tag: str) -> None:
    jobs = start_jobs(cell, tag)
    kill(cell, role)
    time.sleep(1.0)  # what still answers in the first moment may be about to go
    if is_daemon(role):
        cell.must("gridengine", "start", "--host-name", cell.host)
    late: list[str] = []
    eventually(f"commands answer after the {role} was killed", lambda: late.extend(late_job(cell).split()) or late)
    (cell.work / f"{tag}.end").touch()
    eventually("all jobs have ended", lambda: all_over(cell))
    assert Counter(lines(cell.work / f"{tag}.began")) == Counter(jobs), "a job was lost or run twice"
    assert Counter(lines(cell.work / f"{tag}.ended")) == Counter(jobs)
    ended_well(cell, *jobs, *late)


def ended_well(cell: DemoCell, *jobs: str) -> None:
    """Each of the jobs has one accounting record, with exit status 0."""
    output = cell.must("qacct", "-j", ",".join(jobs))
    rows = [line.split()[:2] for line in output.splitlines()]
    assert Counter(fields[1] for fields in rows if fields[:1] == ["jobnumber"]) == Counter(jobs)
    ends = [fields for fields in rows if fields[:1] in (["exit_status"], ["failed"])]
    assert len(ends) == 2 * len(jobs) and all(fields[1] == "0" for fields in ends), output


@pytest.mark.statement("EX-9", "SP-3", "QC-17")
@pytest.mark.parametrize(("role", "moment", "seed"), [("control store", "submitted", 1), ("execd actor", "acknowledged", 2)])
def test_a_kill_while_tasks_start_and_end_makes_no_task_run_twice(cell: DemoCell, role: str, moment: str, seed: int) -> None:
    """`make kills` plays the other processes and moments, for as long as one likes."""
    KillPlay(cell, seed).act(role, moment, rerun="n")


@pytest.mark.statement("SP-3", "SP-4", "QI-13")
def test_the_whole_cell_is_stopped_and_started_again(cell: DemoCell) -> None:
    jobs = start_jobs(cell, "restart")
    held = cell.must("qsub", "-terse", "-h", "-N", "waits", "-b", "y", "/bin/true").strip()
    cell.must("qmod", "-d", "all.q")
    cell.must("gridengine", "stop")
    eventually("no actor is left", lambda: not any("ray::" in command_line(pid) for pid in cell.processes()))
    (cell.work / "restart.end").touch()
    eventually("the jobs end without any daemon", lambda: len(lines(cell.work / "restart.ended")) == JOBS)
    cell.must("gridengine", "start", "--host-name", cell.host)
    eventually("the ends are accounted for", lambda: len(cell.must("qstat", "-u", "*").splitlines()) == 3)
    assert " hqw " in cell.must("qstat")
    assert " d" in [line for line in cell.must("qstat", "-f").splitlines() if line.startswith("all.q@")][0][-8:]
    ended_well(cell, *jobs)
    cell.must("qmod", "-e", "all.q")
    following = cell.must("qsub", "-terse", "-sync", "y", "-b", "y", "-o", "/dev/null", "/bin/true").split()[0]
    assert int(following) == int(held) + 1
    cell.must("qdel", held)
