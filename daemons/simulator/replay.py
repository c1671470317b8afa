"""A trace replayed in a virtual cell: jobs are timers, and no wait takes time.

Owns the order of changes at one moment: tasks end, calendars change, jobs are submitted, the scheduler runs. Deterministic:
the same configuration and the same trace give the same starts. Called by the command `simulate`. Source: adr/0315.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from msgspec.structs import replace

from daemons.simulator.trace import JobTrace, TracedJob, TracedTask, TraceFaults
from daemons.simulator.virtual_cell import VirtualCell
from daemons.simulator.virtual_master import Started
from gridengine.protocols.delivery import Ended
from gridengine.protocols.gdi.requests import Answer, Caller, Submit
from gridengine.state.jobs import Job, Task
from gridengine.usage.failed import ENFORCED
from gridengine.values.task_key import TaskKey
from gridengine.values.units import INFINITY, parse_time

_ID = 1_000_000
"""User and group id of all users: above each min_uid and min_gid."""
_MOST_SHAPES = 10_000
"""Shapes of jobs that are remembered."""
_STEPS_WITHOUT_EVENT = 10_000
"""Runs of the scheduler without a start or an end, after which the rest of the jobs never starts."""
_REPORTED = 256
"""Ended tasks between two reports of progress."""


@dataclass(slots=True)
class ReplayedTask:
    """A task that ended: `number` of its job, and `task` in the trace, 0 without an array; times in epoch s.

    `place`: the queue instance of its first slot. `killed`: by a limit of its run time.
    """

    number: int
    task: int
    owner: str
    project: str
    slots: int
    submit_time: float
    start_time: float
    end_time: float
    place: str
    killed: bool = False

    @property
    def wait_s(self) -> float:
        return self.start_time - self.submit_time

    @property
    def run_s(self) -> float:
        return self.end_time - self.start_time


@dataclass(slots=True)
class ReplayOutcome:
    """`runs` in the order of their ends; `slots` of the cell. `refused`: jobs that the qmaster refused. `left`: number of tasks
    that never started. `cycles`: runs of the scheduler."""

    runs: list[ReplayedTask]
    slots: int
    refused: TraceFaults
    left: int
    cycles: int


class Replay:
    """One replay. `on_progress` is called with the number of ended tasks."""

    def __init__(self, cell: VirtualCell, trace: JobTrace, on_progress: Callable[[int], None] = lambda ended: None) -> None:
        self._cell, self._trace, self._on_progress = cell, trace, on_progress
        self._next = 0
        self._ends: list[tuple[float, int, TaskKey, ReplayedTask, TracedTask]] = []
        self._jobs: dict[int, TracedJob] = {}
        self._accepted: dict[tuple[object, ...], Job] = {}
        self._outcome = ReplayOutcome([], cell.slots, TraceFaults(), 0, 0)
        self._order = 0

    def run(self) -> ReplayOutcome:
        """Replay the whole trace."""
        thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(100_000, 10, 1000)
        try:
            self._run()
        finally:
            gc.set_threshold(*thresholds)
            gc.unfreeze()
        jobs = self._cell.state.jobs
        self._outcome.left = sum(len(jobs[number].pending) for number in self._jobs)
        return self._outcome

    def _run(self) -> None:
        cell, idle = self._cell, 0
        while (now := self._next_moment()) < INFINITY and idle < _STEPS_WITHOUT_EVENT:
            cell.now = max(now, cell.now)
            idle = 0 if self._happen(cell.now) else idle + 1

    def _next_moment(self) -> float:
        jobs = self._trace.jobs
        submission = jobs[self._next].submit_time if self._next < len(jobs) else INFINITY
        end = self._ends[0][0] if self._ends else INFINITY
        if not self._cell.state.jobs:
            return submission
        requested = self._cell.next_time if self._cell.next_time > self._cell.now else INFINITY
        return min(submission, end, requested, self._cell.calendar_time)

    def _happen(self, now: float) -> bool:
        """Carry out the changes that are due, and run the scheduler. Returns whether any task ended, came or started."""
        ended = came = 0
        while self._ends and self._ends[0][0] <= now:
            self._end(*heappop(self._ends)[2:])
            ended += 1
        self._cell.change_calendars()
        jobs = self._trace.jobs
        while self._next < len(jobs) and jobs[self._next].submit_time <= now:
            self._submit(jobs[self._next])
            self._next += 1
            came += 1
        started = self._cell.cycle()
        self._outcome.cycles += 1
        for each in started:
            self._begin(each)
        return bool(ended or came or started)

    # --- jobs ------------------------------------------------------------------------------------------------

    def _submit(self, job: TracedJob) -> None:
        """Submit a job. The first of each shape is checked in full, and verified against the empty cell: a job that is too wide
        never starts."""
        of_job = (job.owner, job.group, job.project, job.pe, job.pe_range, job.queues, job.master_queues, job.reserve)
        shape = (*of_job, *job.hard, "", *job.soft, job.is_array and len(job.tasks))
        known = self._accepted.get(shape)
        answer = self._submit_first(job) if known is None else self._cell.submit_like(known, job.name)
        if answer.status:
            reason = next((text for level, text in answer.answers if level == "error"), "").partition("\n")[0]
            self._outcome.refused.note(f"refused jobs ({reason.removeprefix('error: ')})", f"job {job.number}")
            return
        number = int(answer.data["job_id"])  # type: ignore[index]
        self._jobs[number] = job
        if known is None:
            if len(self._accepted) >= _MOST_SHAPES:
                self._accepted.clear()
            self._accepted[shape] = replace(self._cell.state.jobs[number], tasks={}, holds={})

    def _submit_first(self, job: TracedJob) -> Answer:
        request = Submit(
            name=job.name,
            script_file="job",
            binary=True,
            hard=job.hard,
            soft=job.soft,
            hard_queues=job.queues,
            master_queues=job.master_queues,
            pe=job.pe,
            pe_range=job.pe_range,
            reserve=job.reserve,
            project=job.project if job.project in self._cell.state.projects else "",
            tasks=f"1-{len(job.tasks)}" if job.is_array else "",
            verify="e",
        )
        return self._cell.submit(request, Caller(job.owner, _ID, job.group, _ID, self._cell.submit_host))

    def _begin(self, started: Started) -> None:
        job, task = started
        traced = self._jobs[job.id]
        of_task = traced.tasks[task.id - 1]
        limit = self._limit(job, task)
        now = self._cell.now
        run = ReplayedTask(
            traced.number, of_task.id, traced.owner, job.project or traced.project, task.slots, traced.submit_time, now,
            now + min(of_task.run_s, limit), task.granted[0].instance, of_task.run_s > limit,
        )  # fmt: skip
        self._order += 1
        heappush(self._ends, (run.end_time, self._order, TaskKey(job.id, task.id, task.attempt), run, of_task))

    def _limit(self, job: Job, task: Task) -> float:
        """Seconds after which the task is killed: h_rt of the job, else of the queue."""
        if text := job.hard.get("h_rt"):
            return float(parse_time(text))
        return self._cell.state.configs[task.granted[0].instance].execution.limits.get("h_rt", INFINITY)

    def _end(self, key: TaskKey, run: ReplayedTask, traced: TracedTask) -> None:
        failed = run.killed or traced.failed
        used = {"ru_wallclock": run.run_s, "cpu": traced.cpu, "mem": traced.mem, "io": traced.io}
        # exit status 1: a job of the past that failed is not run again
        ended = Ended(key, ENFORCED if run.killed else 0, int(failed), 0, "", run.start_time, run.end_time, used)
        self._cell.end(ended)
        self._outcome.runs.append(run)
        if key.job not in self._cell.state.jobs:
            del self._jobs[key.job]
        if not len(self._outcome.runs) % _REPORTED:
            self._on_progress(len(self._outcome.runs))
