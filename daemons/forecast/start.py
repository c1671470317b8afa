"""Start: the expected start of a pending job as a range, with the basis of the range.

Owns the two forward runs (run times learned, run times at their limits) and the sentences. Called by `answers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import tzinfo
from typing import Any, NamedTuple

from daemons.forecast.forward_run import ForwardRun, RunTime
from daemons.forecast.run_times import LEAST, RunTimes
from gridengine.placement.causes import causes_of_job
from gridengine.placement.expected_start import run_time_limit
from gridengine.placement.verify import verify
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.values.units import format_moment

LONGEST_CPU_S = 0.4
"""Processor time of all forward runs of an answer, in seconds."""
_LASTING = ("error", "hold")
"""Kinds of causes that last until a user acts."""


class Reached(NamedTuple):
    """The outcome of a forward run. `start`: of the job, 0.0 if it did not start; `until`: the time of the last step;
    `is_complete`: nothing more can happen; `endless`: running tasks without an end."""

    start: float
    until: float
    is_complete: bool
    endless: int


class StartForecast:
    """Forecasts for jobs of a `state`, which the last run changes. `make_state()`: a new copy of the state; copies are costly.
    now: epoch seconds."""

    def __init__(
        self, state: State, make_state: Callable[[], State], run_times: RunTimes, now: float, zone: tzinfo
    ) -> None:
        self.state, self._make_state, self._run_times, self._now, self._zone = state, make_state, run_times, now, zone

    def of_jobs(self, jobs: Iterable[Job], longest_cpu_s: float = LONGEST_CPU_S) -> list[dict[str, Any]]:
        """A forecast of each job: `earliest`, `latest` and `later_than` (epoch s, 0.0 for none), and `texts`, sentences."""
        jobs = list(jobs)
        hopeful = {job.id for job in jobs if job.waits and not self._lasting(job)}
        learned = self._run_times.count >= LEAST
        share = longest_cpu_s / 2 if learned else longest_cpu_s
        rows = [self._head(job) for job in jobs]
        usual = self._run(self._make_state(), hopeful, self._usual, share) if learned and hopeful else {}
        at_limit = self._run(self.state, hopeful, self._at_limit, share) if hopeful else {}
        for row in rows:
            if not row["texts"]:
                row |= self._range(row["id"], usual.get(row["id"]), at_limit[row["id"]])
        return rows

    def _run(
        self, state: State, hopeful: set[int], run_time: Callable[[State], RunTime], longest_cpu_s: float
    ) -> dict[int, Reached]:
        run = ForwardRun(state, self._now, self._zone, run_time(state))
        until = time.process_time() + longest_cpu_s
        run.run(hopeful, lambda: time.process_time() < until)
        return {job: Reached(run.starts.get(job, 0.0), run.reached, run.is_complete, run.endless) for job in hopeful}

    def _usual(self, state: State) -> RunTime:
        def seconds(job: Job, task: Task) -> float:
            elapsed = max(0.0, self._now - task.start_time)
            return self._run_times.usual(job, run_time_limit(state, job, task), elapsed)

        return seconds

    def _at_limit(self, state: State) -> RunTime:
        return lambda job, task: run_time_limit(state, job, task)

    # --- sentences -----------------------------------------------------------------------------------------

    def _lasting(self, job: Job) -> list[str]:
        """Causes that no end of a job removes."""
        return [cause.text for cause in causes_of_job(self.state, job, self._now) if cause.kind in _LASTING]

    def _head(self, job: Job) -> dict[str, Any]:
        """The row of a job before the runs; with `texts` if no run is needed."""
        row = {"id": job.id, "name": job.name, "owner": job.owner, "array": job.is_array, "pending": str(job.waiting)}
        row |= {"earliest": 0.0, "latest": 0.0, "later_than": 0.0}
        if not job.waits:
            return row | {"texts": ["it is not pending"]}
        return row | {"texts": [f"it does not start: {text}" for text in self._lasting(job)]}

    def _range(self, number: int, usual: Reached | None, at_limit: Reached) -> dict[str, Any]:
        """The times and the sentences by the outcome of the runs."""
        reached = [each for each in (usual, at_limit) if each is not None]
        starts = sorted(each.start for each in reached if each.start)
        texts = [*self._texts(usual, at_limit)]
        if not starts:
            if why := self._no_start(number, reached):
                return {"texts": why}
            bounds = [each.until for each in reached if not each.is_complete]
            return {"later_than": min(bounds, default=0.0), "texts": texts}
        is_bounded = bool(at_limit.start)
        later_than = 0.0 if is_bounded or at_limit.is_complete else at_limit.until
        return {"earliest": starts[0], "latest": starts[-1] if is_bounded else 0.0, "later_than": later_than, "texts": texts}

    def _texts(self, usual: Reached | None, at_limit: Reached) -> Iterable[str]:
        if usual is None:
            yield f"run times are not learned yet: fewer than {LEAST} ended tasks are in the accounting records"
        elif usual.start:
            yield f"if jobs end as such jobs usually do ({self._run_times.count} ended tasks): {self._moment(usual.start)}"
        elif not usual.is_complete:
            yield f"if jobs end as such jobs usually do: {self._beyond(usual)}"
        if at_limit.start:
            yield f"if no job ends before its limit: {self._moment(at_limit.start)}"
        elif at_limit.is_complete and at_limit.endless:
            jobs = f"{at_limit.endless} running {'task has' if at_limit.endless == 1 else 'tasks have'}"
            yield f"no latest time can be named: {jobs} no run time limit (h_rt)"
        elif not at_limit.is_complete:
            yield f"if no job ends before its limit: {self._beyond(at_limit)}"
        yield "jobs that are submitted or changed later may change this"

    def _no_start(self, number: int, reached: list[Reached]) -> list[str]:
        """The reasons why the job never starts; [] if a run was bounded, or depends on tasks without limit."""
        job = self.state.jobs.get(number)
        if job is None or not all(each.is_complete for each in reached):
            return []
        if not job.ar and not verify(self.state, job, True, self._now, self._zone)[0]:
            return [f"it can never start as it is requested: qexplain {number} has the reason"]
        causes = [cause.text for cause in causes_of_job(self.state, job, self._now)]
        if causes:
            return [f"it does not start: {text}" for text in causes]
        return [] if reached[-1].endless else [f"it does not start: qexplain {number} has the reason"]

    def _moment(self, time_s: float) -> str:
        return "now" if time_s <= self._now + 1.0 else format_moment(time_s, self._zone)

    def _beyond(self, reached: Reached) -> str:
        return f"later than {format_moment(reached.until, self._zone)} (computed no further)"
