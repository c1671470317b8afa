"""Backlog: the work of the pending jobs in the order of the scheduler, for jobs that a forward run does not reach.

Owns the estimate as of a liquid: the work before a job, in slot seconds, flows away through the slots that are in use; and by the
rate of starts. Also says which jobs newer jobs overtake. Pure. Called by `start`. Source: adr/0330.
"""

from __future__ import annotations

from daemons.forecast.copies import Reached
from daemons.forecast.run_times import RunTimes
from daemons.schedd.survey import RankedJob, ranked_jobs
from daemons.schedd.view import View
from gridengine.placement.expected_start import run_time_limit
from gridengine.placement.urgency import assumed_slots
from gridengine.state.jobs import Task
from gridengine.state.state import State
from gridengine.values.units import INFINITY

LEAST_STARTS = 20
"""Starts of a run from which their rate is taken."""
_TASK = Task(0)
_RECENT_S = 86_400.0
"""Age of the submissions that stand for future submissions."""


class Backlog:
    """The pending jobs of a state at `now` (epoch s)."""

    def __init__(self, state: State, run_times: RunTimes, now: float) -> None:
        self._state, self._run_times, self._now = state, run_times, now
        self._of_task: dict[tuple[int, str, str], float] = {}
        ranked = ranked_jobs(View(state), now)
        self._in_use = max(1, sum(task.slots for job in state.jobs.values() for task in job.placed))
        self._pending = [(each.job.id, self._work(each)) for each in ranked if each.is_pending]
        self._priorities = {each.job.id: each.priority[0] for each in ranked}
        recent = [each for each in ranked if now - each.job.submit_time < _RECENT_S]
        self._recent = [(each.priority[0], self._work(each)) for each in recent]
        self._overtaken: dict[float, bool] = {}

    def starts_beyond(self, run: Reached) -> dict[int, float]:
        """The starts (epoch s) of jobs that a bounded run did not reach: the earlier of two estimates. The work before a job
        counts too much where narrow jobs slip past wide ones, the rate of starts too little where wide jobs are first."""
        found, before = {}, 0.0
        pace = (run.until - self._now) / max(1, len(run.starts))
        for place, (number, work) in enumerate(self._pending, 1):
            if number not in run.starts:
                by_work, by_rate = run.until + before / self._in_use, self._now + pace * place
                found[number] = max(run.until, min(by_work, by_rate) if len(run.starts) >= LEAST_STARTS else by_work)
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
