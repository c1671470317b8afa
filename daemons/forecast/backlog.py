"""Backlog: the work of the pending jobs in the order of the scheduler, for jobs that a forward run does not reach.

Owns the estimate as of a liquid: the work before a job, in slot seconds, flows away through the slots that are in use. Also says
which jobs newer jobs overtake. Pure. Called by `start`. Source: adr/0330.
"""

from __future__ import annotations

from collections.abc import Container

from daemons.forecast.run_times import RunTimes
from daemons.schedd.survey import RankedJob, ranked_jobs
from daemons.schedd.view import View
from gridengine.placement.expected_start import run_time_limit
from gridengine.placement.urgency import assumed_slots
from gridengine.state.jobs import Task
from gridengine.state.state import State
from gridengine.values.units import INFINITY

_TASK = Task(0)
_RECENT_S = 86_400.0
"""Age of the submissions that stand for those of the future."""


class Backlog:
    """The pending jobs of a state at `now` (epoch s)."""

    def __init__(self, state: State, run_times: RunTimes, now: float) -> None:
        self._state, self._run_times = state, run_times
        self._of_task: dict[tuple[int, str, str], float] = {}
        ranked = ranked_jobs(View(state), now)
        self._in_use = max(1, sum(task.slots for job in state.jobs.values() for task in job.placed))
        self._pending = [(each.job.id, self._work(each)) for each in ranked if each.is_pending]
        self._priorities = {each.job.id: each.priority[0] for each in ranked}
        recent = [each for each in ranked if now - each.job.submit_time < _RECENT_S]
        self._recent = [(each.priority[0], self._work(each)) for each in recent]
        self._overtaken: dict[float, bool] = {}

    def waits_after(self, started: Container[int]) -> dict[int, float]:
        """Job -> seconds until the work before it has begun, without the jobs that have `started`."""
        found, before = {}, 0.0
        for number, work in self._pending:
            if number not in started:
                found[number] = before / self._in_use
                before += work
        return found

    def is_overtaken(self, number: int) -> bool:
        """Whether more than half of the work that was submitted recently comes before this job, whenever it is submitted."""
        own = self._priorities.get(number, float("inf"))
        if own not in self._overtaken:
            before = sum(work for priority, work in self._recent if priority > own)
            self._overtaken[own] = before > sum(work for _, work in self._recent) / 2
        return self._overtaken[own]

    def _work(self, ranked: RankedJob) -> float:
        """Slot seconds of all tasks of a job that wait; of one task for a job that runs."""
        job, category = ranked.job, ranked.category
        key = id(category), job.owner, job.name
        if key not in self._of_task:
            seconds = self._run_times.mean(job, run_time_limit(self._state, job, _TASK))
            slots = assumed_slots(self._state, category.request)
            self._of_task[key] = slots * seconds if seconds < INFINITY else 0.0
        return self._of_task[key] * max(1, len(job.pending))
