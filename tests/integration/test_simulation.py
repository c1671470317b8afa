"""A real cell and `gridengine simulate`: the same jobs start in the same order in the same places.

The test submits jobs and ends tasks one at a time, and waits after each step until the scheduler has seen it. So the scheduler
decides the order, not the speed of the machine. All accounting times of a step are moved to its first second: starts of one step
are ties, and limits are as far away as they were in the cell. GRIDENGINE_REPLAY_S makes it submit work for so many seconds, such
as 600.
"""

from __future__ import annotations

import csv
import faulthandler
import os
import random
import re
import time
from bisect import bisect_right

import pytest

from tests.integration.cells import DemoCell, eventually

MIX = (
    "-N one -P gold -l h_rt=1:0:0",
    "-N many -P base -t 1-3 -l h_rt=0:50:0",
    "-N pair -P base -pe smp 2 -l h_rt=2:0:0",
    "-N wide -P gold -pe smp 4 -l h_rt=0:30:0",
    "-N fast -P base -q fast.q -l h_rt=0:5:0",
    "-N long -P base -t 1-2 -l h_rt=9:0:0",
    "-N thin -P base -l h_rt=0:3:0",
    "-N late -P gold -l h_rt=0:3:0",
)
"""Jobs of two projects with different shares: one slot, arrays, a parallel environment, a queue. The wide job gets a
reservation; only short jobs fit before it. A demo cell has one user, so projects have the shares."""
Start = tuple[int, int, int, str]
"""Step, job, task, and queue instance."""


class Steps:
    """A driven cell. `begins`: the second at which each step began."""

    def __init__(self, cell: DemoCell) -> None:
        self.cell = cell
        self.begins: list[int] = []
        self.started, self.ended = cell.work / "started", cell.work / "ended"
        for path in (self.started, self.ended):
            path.mkdir()
        self._program = cell.work / "waits"
        self._program.write_text(
            f'#!/bin/sh\nme=$JOB_ID.$SGE_TASK_ID\ntouch {self.started}/$me\nuntil test -e {self.ended}/$me; do sleep 0.2; done\n'
        )
        self._program.chmod(0o755)

    def submit(self, options: str) -> None:
        self._begin()
        self.cell.must("qsub", "-terse", "-R", "y", "-o", "/dev/null", "-j", "y", *options.split(), str(self._program))
        self._wait_for_scheduler()

    def end(self, task: str) -> None:
        self._begin()
        (self.ended / task).touch()
        eventually(f"task {task} has ended", lambda: task not in self._in_qstat())
        (self.started / task).unlink()
        self._wait_for_scheduler()

    def running(self) -> list[str]:
        """The running tasks, JOB.TASK each, in order."""
        return sorted(path.name for path in self.started.iterdir())

    def pending(self) -> int:
        """The number of jobs with pending tasks."""
        return len(self.cell.must("qstat", "-s", "p").splitlines()[2:])

    def step_of(self, epoch_s: float) -> int:
        return bisect_right(self.begins, epoch_s)

    def _begin(self) -> None:
        """Accounting has whole seconds: a step begins in another second than that of the last start."""
        time.sleep(1.0 - time.time() % 1.0)
        self.begins.append(int(time.time()))

    def _wait_for_scheduler(self) -> None:
        """Wait for a run of the scheduler that began after this step, and for the start of all tasks that it placed."""
        log = self.cell.common / "schedd_runlog"
        before = log.stat().st_mtime_ns if log.exists() else 0
        self.cell.must("qconf", "-tsm")
        eventually("the scheduler has run", lambda: log.exists() and log.stat().st_mtime_ns != before)
        eventually("all placed tasks run", lambda: sorted(self._in_qstat()) == self.running())

    def _in_qstat(self) -> set[str]:
        rows = [line.split() for line in self.cell.must("qstat", "-s", "r").splitlines()[2:]]
        return {f"{row[0]}.{row[9] if len(row) > 9 else 'undefined'}" for row in rows}


def configure(cell: DemoCell) -> None:
    """Two queues in a fixed order, two projects with shares, reservations."""
    for name, shares in (("gold", 300), ("base", 100)):
        text = f"name {name}\noticket 0\nfshare {shares}\nacl NONE\nxacl NONE\n"
        (cell.work / name).write_text(text)
        cell.must("qconf", "-Aprj", str(cell.work / name))
    queue = cell.must("qconf", "-sq", "all.q").replace("all.q", "fast.q")
    (cell.work / "queue").write_text(queue)
    cell.must("qconf", "-Aq", str(cell.work / "queue"))
    for queue, slots, seq_no, pes in (("fast.q", "2", "1", "NONE"), ("all.q", "4", "2", "smp")):
        cell.must("qconf", "-rattr", "queue", "slots", slots, queue)
        cell.must("qconf", "-rattr", "queue", "seq_no", seq_no, queue)
        cell.must("qconf", "-rattr", "queue", "pe_list", pes, queue)
    policy = {"queue_sort_method": "seqno", "max_reservation": "20", "weight_tickets_functional": "10000", "weight_ticket": "1.0"}
    lines = [line for line in cell.must("qconf", "-ssconf").splitlines() if line.split()[0] not in policy]
    (cell.work / "scheduler").write_text("\n".join([*lines, *(f"{name} {value}" for name, value in policy.items())]) + "\n")
    cell.must("qconf", "-Msconf", str(cell.work / "scheduler"))


def work(steps: Steps, work_s: float) -> None:
    """Submit the mix, for `work_s` seconds again and again, and end running tasks in between, until none is left."""
    dice, until = random.Random(4), time.monotonic() + work_s
    waiting = list(MIX)
    while waiting or steps.running():
        if waiting and (len(steps.running()) < 6 or dice.random() < 0.6):
            steps.submit(waiting.pop(0))
        else:
            steps.end(dice.choice(steps.running()))
        if not waiting and time.monotonic() < until and steps.pending() < len(MIX):
            waiting = list(MIX)


def moved(line: str, steps: Steps) -> list[str]:
    """The fields of an accounting record with its times moved to the first second of their steps."""
    fields = line.split(":")
    fields[8:11] = (str(steps.begins[steps.step_of(float(text)) - 1]) for text in fields[8:11])
    return fields


def started_in_cell(records: list[list[str]], steps: Steps) -> list[Start]:
    rows = [(int(each[9]), int(each[5]), int(each[35]), f"{each[0]}@{each[1]}") for each in records]
    return sorted((steps.step_of(at), *rest) for at, *rest in rows)


def simulated(steps: Steps, *options: str) -> list[Start]:
    cell = steps.cell
    cell.must("gridengine", "simulate", "now", "trace", *options, "--csv", "tasks.csv")
    with (cell.work / "tasks.csv").open() as file:
        rows = [(int(row["start"]), int(row["job"]), int(row["task"]), row["place"]) for row in csv.DictReader(file)]
    return sorted((steps.step_of(at), *rest) for at, *rest in rows)


@pytest.mark.statement("SC-7", "SC-8")
def test_a_simulation_starts_the_jobs_of_a_cell_in_the_same_order_in_the_same_places(own_cell: DemoCell) -> None:
    configure(own_cell)
    steps = Steps(own_cell)
    work_s = float(os.environ.get("GRIDENGINE_REPLAY_S", "0"))
    if work_s:
        faulthandler.cancel_dump_traceback_later()  # this long run may outlast the limit of a test
    work(steps, work_s)
    own_cell.must("gridengine", "config", "export", "now")
    lines = (own_cell.common / "accounting").read_text().splitlines()
    records = [moved(line, steps) for line in lines if not line.startswith("#")]
    (own_cell.work / "trace").write_text("".join(":".join(fields) + "\n" for fields in records))
    real = started_in_cell(records, steps)
    assert len(real) >= 11, "all tasks have records"
    assert simulated(steps, "--reserve") == real
    assert simulated(steps) != real, "the reservation of the wide job decides on some starts"
    scheduler = own_cell.work / "now" / "sched_configuration"
    scheduler.write_text(re.sub(r"(weight_tickets_functional +)\d+", r"\g<1>0", scheduler.read_text()))
    assert simulated(steps, "--reserve") != real, "the shares of the projects decide on some starts"
