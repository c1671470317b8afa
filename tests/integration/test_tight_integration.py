"""Parallel jobs with slave tasks on several hosts: a real MPI, refusals, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import TestbedCell, eventually, run
from tests.integration.debian import need

RING = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rank, size, token = 1;
  char host[64];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);
  printf("hello %d of %d on %s\n", rank, size, host);
  if (rank) {
    MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token++;
  }
  MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
  if (!rank) {
    MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("ring %d\n", token);
  }
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture
def work(testbed_cell: TestbedCell) -> Iterator[Path]:
    """A directory that all hosts see and all users may write to; the cell has the PE `tight` meanwhile."""
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-tight-") as name:
        directory = Path(name)
        directory.chmod(0o1777)
        (directory / "pe").write_text(
            "pe_name tight\nslots 99\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args NONE\nstop_proc_args NONE\n"
            "allocation_rule $round_robin\ncontrol_slaves TRUE\njob_is_first_task FALSE\nurgency_slots min\n"
            "accounting_summary FALSE\nqsort_args NONE\n"
        )
        for command in (("-Ap", f"{directory}/pe"), ("-aattr", "queue", "pe_list", "tight", "all.q")):
            assert testbed_cell.on("tm", "qconf", *command).returncode == 0
        yield directory
        testbed_cell.on("tm", "qdel", "-u", "alice")
        testbed_cell.until_empty()
        for command in (("-dattr", "queue", "pe_list", "tight", "all.q"), ("-dp", "tight")):
            assert testbed_cell.on("tm", "qconf", *command).returncode == 0


def submit(cell: TestbedCell, work: Path, slots: int, script: str) -> str:
    path = work / "job.sh"
    path.write_text(f"#!/bin/sh\ncd {work}\n{script}\n")
    path.chmod(0o755)
    arguments = ("-pe", "tight", str(slots), "-masterq", "all.q@t1", "-o", f"{work}/out", "-j", "y")
    done = cell.as_user("alice", "t1", "qsub", "-terse", *arguments, str(path))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def records_in(accounting: str) -> list[tuple[str, str, str]]:
    """Host, failed and exit status of each record that qacct has shown of a job, in the order of their ends."""
    fields = [line.split() for line in accounting.splitlines()]
    found = [[row[1] for row in fields if row[:1] == [name]] for name in ("hostname", "failed", "exit_status")]
    return list(zip(*found, strict=True))


def records(cell: TestbedCell, job: str) -> list[tuple[str, str, str]]:
    """`records_in` the accounting of a job of the cell."""
    return records_in(cell.on("tm", "qacct", "-j", job).stdout)


def marked(cell: TestbedCell, mark: str) -> list[str]:
    """Hosts on which a process has this in its command line."""
    return [host for host in cell.hosts if mark in cell.on(host, "ps", "axww", "-o", "args").stdout]


def asleep(cell: TestbedCell, command: str) -> list[str]:
    """Hosts on which the sleep of a task runs; the client that has asked for it has the words, too."""
    return [host for host in cell.hosts if command in cell.on(host, "ps", "-C", "sleep", "-o", "args=").stdout]


@pytest.mark.statement("TI-1", "TI-2", "TI-4", "TI-5", "PE-9", "PE-13")
def test_a_real_mpi_runs_over_three_hosts(testbed_cell: TestbedCell, work: Path) -> None:
    need("mpicc")
    (work / "ring.c").write_text(RING)
    done = run(["mpicc", str(work / "ring.c"), "-o", str(work / "ring")])
    assert done.returncode == 0, done.stderr
    job = submit(testbed_cell, work, 6, "mpirun ./ring; exit $?")
    eventually("it is over", lambda: len(records(testbed_cell, job)) == 3)
    output = (work / "out").read_text().splitlines()
    assert sorted(line.split()[-1] for line in output if line.startswith("hello")) == ["t1", "t1", "t2", "t2", "t3", "t3"]
    assert "ring 6" in output, output
    found = records(testbed_cell, job)
    assert sorted(found) == [("t1", "0", "0"), ("t2", "0", "0"), ("t3", "0", "0")]
    assert found[-1][0] == "t1", "the master's end comes last"


MAKEFILE = """
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
all: a b c d e f
\t$(MAKE) -C sub
a b c d e f:
\tsleep 0.5; echo "$@ on $$HOSTNAME by $$BASH in $$PWD" > $@
bad:
\tfalse | true
special:
\tSGE_RREQ="-l h=t2" hostname > special
"""


@pytest.mark.statement("QK-1")
def test_make_builds_on_the_hosts_of_a_job(testbed_cell: TestbedCell, work: Path) -> None:
    (work / "Makefile").write_text(MAKEFILE)
    (work / "sub").mkdir()
    (work / "sub").chmod(0o1777)
    (work / "sub" / "makefile").write_text("below: x y\nx y:\n\t@echo $@ below on `hostname` > $@; sleep 0.5\n")

    def qmake(*row: str) -> tuple[int, str, str]:
        command = ["bash", "-c", 'cd "$0" && exec "$@"', str(work), "qmake", *row]
        done = testbed_cell.as_user("alice", "t1", *command)
        return done.returncode, done.stdout, done.stderr

    status, output, errors = qmake("-cwd", "-v", "PATH", "-pe", "tight", "6", "--", "all")
    assert status == 0, output + errors
    built = {name: (work / name).read_text() for name in "abcdef"}
    assert all(text.endswith(f"/bin/bash in {work}\n") for text in built.values()), built
    assert {text.split()[2] for text in built.values()} == {"t1", "t2", "t3"}
    assert {(work / "sub" / name).read_text().split()[0] for name in "xy"} == {"x", "y"}
    assert qmake("-cwd", "-v", "PATH", "-pe", "tight", "2", "--", "bad")[0] == 2, "flags of the shell count"
    status, output, errors = qmake("-cwd", "-v", "PATH", "--", "special")
    assert (status, (work / "special").read_text()) == (0, "t2\n"), output + errors


@pytest.mark.statement("TI-1", "TI-4", "TI-2")
def test_streams_exit_status_and_refusals(testbed_cell: TestbedCell, work: Path) -> None:
    job = submit(
        testbed_cell,
        work,
        2,
        "echo typed | qrsh -inherit -V t2 'cat; echo $JOB_ID $PE $QUEUE; test -d $TMPDIR && echo scratch; exit 3'; echo $?\n"
        "qrsh -inherit t3 hostname; echo $?\n"
        "while qstat -t | grep -q 'SLAVE .*[0-9][.]t2 '; do sleep 0.2; done\n"
        "qrsh -inherit t2 sleep 1000 &\n"
        "until qstat -t | grep -q 'SLAVE .*[0-9][.]t2 '; do sleep 0.2; done\n"
        "qrsh -inherit t2 hostname; echo $?\nexit 7",
    )
    eventually("it is over", lambda: len(records(testbed_cell, job)) == 3)
    output = (work / "out").read_text().splitlines()
    assert output[:4] == ["typed", f"{job} tight all.q", "scratch", "3"]
    assert "not one of its hosts" in output[4] and output[5] == "1"
    assert "in use" in output[6] and output[7] == "1"
    assert records(testbed_cell, job) == [("t2", "0", "3"), ("t2", "100", "137"), ("t1", "0", "7")]
    assert marked(testbed_cell, "sleep 1000") == []


@pytest.mark.statement("TI-2", "TI-5", "SO-46")
def test_deletion_leaves_nothing_on_any_host(testbed_cell: TestbedCell, work: Path) -> None:
    job = submit(testbed_cell, work, 3, "for host in t1 t2 t3; do qrsh -inherit $host sleep 4711 & done; wait")
    eventually("all tasks run", lambda: asleep(testbed_cell, "sleep 4711") == ["t1", "t2", "t3"])
    assert testbed_cell.as_user("alice", "t3", "qdel", job).returncode == 0
    eventually("nothing of it runs", lambda: marked(testbed_cell, "sleep 4711") == [])
    eventually("it is over", lambda: len(records(testbed_cell, job)) == 4)


@pytest.mark.statement("TI-5", "QI-3")
def test_a_host_that_is_cut_off_does_not_hold_the_job(testbed_cell: TestbedCell, work: Path) -> None:
    job = submit(testbed_cell, work, 3, f"qrsh -inherit t3 sleep 4712 & until [ -e {work}/go ]; do sleep 0.2; done; exit 5")
    eventually("the task runs", lambda: asleep(testbed_cell, "sleep 4712") == ["t3"])
    testbed_cell.power("cut", "t3")
    try:
        (work / "go").touch()
        eventually("the job ends", lambda: records(testbed_cell, job)[-1:] == [("t1", "0", "5")])
    finally:
        testbed_cell.power("mend", "t3")
    eventually("nothing of it is left", lambda: marked(testbed_cell, "sleep 4712") == [])


def test_a_task_list_uses_the_slots_of_all_hosts_of_its_job(testbed_cell: TestbedCell, work: Path) -> None:
    (work / "begun").mkdir()
    (work / "begun").chmod(0o777)
    # no command ends before each host has begun one
    wait = f"touch {work}/begun/$(hostname); while [ $(ls {work}/begun | wc -l) -lt 3 ]; do sleep 0.1; done"
    (work / "list").write_text(f'{wait}; echo "$(hostname) $SGE_TASKS_NUMBER"\n' * 12)
    options = ("-pe", "tight", "4", "-masterq", "all.q@t1", "-wd", str(work), "-o", f"{work}/out", "-j", "y")
    done = testbed_cell.as_user("alice", "t1", "qsub", "-terse", "-sync", "y", *options, "-tasks", f"{work}/list")
    output = (work / "out").read_text()
    assert done.returncode == 0, done.stderr + output
    rows = [line.split() for line in output.splitlines()]
    assert sorted(int(number) for _, number in rows) == list(range(1, 13))
    assert {host for host, _ in rows} == {"t1", "t2", "t3"}
    job = done.stdout.split()[0]
    listed = testbed_cell.as_user("alice", "t1", "qtasks", "list", job, "-d", f"{work}/list.t{job}")
    assert {line.split()[5] for line in listed.stdout.splitlines()[1:]} == {"t1", "t2", "t3"}
