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

LONGEST_CPU_S = 0.8
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
    """Forecasts for jobs of one state. `make_state()`: a new copy of the state, which a run changes. now: epoch seconds."""

    def __init__(self, make_state: Callable[[], State], run_times: RunTimes, now: float, zone: tzinfo) -> None:
        self._make_state, self._run_times, self._now, self._zone = make_state, run_times, now, zone
        self.state = make_state()

    def of_jobs(self, jobs: Iterable[Job], longest_cpu_s: float = LONGEST_CPU_S) -> list[dict[str, Any]]:
        """A forecast of each job: `earliest`, `latest` and `later_than` (epoch s, 0.0 for none), and `texts`, sentences."""
        jobs = list(jobs)
        hopeful = {job.id for job in jobs if job.waits and not self._lasting(job)}
        learned = self._run_times.count >= LEAST
        share = longest_cpu_s / 2 if learned else longest_cpu_s
        usual = self._run(hopeful, self._usual, share) if learned and hopeful else {}
        at_limit = self._run(hopeful, self._at_limit, share) if hopeful else {}
        return [self._row(job, usual.get(job.id), at_limit.get(job.id)) for job in jobs]

    def _run(self, hopeful: set[int], run_time: Callable[[State], RunTime], longest_cpu_s: float) -> dict[int, Reached]:
        state = self._make_state()
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

    def _row(self, job: Job, usual: Reached | None, at_limit: Reached | None) -> dict[str, Any]:
        row = {"id": job.id, "name": job.name, "owner": job.owner, "array": job.is_array, "pending": str(job.waiting)}
        row |= {"earliest": 0.0, "latest": 0.0, "later_than": 0.0}
        if not job.waits:
            return row | {"texts": ["it is not pending"]}
        if at_limit is None:
            return row | {"texts": [f"it does not start: {text}" for text in self._lasting(job)]}
        starts = sorted(each.start for each in (usual, at_limit) if each is not None and each.start)
        texts = [*self._texts(usual, at_limit)]
        if not starts:
            if why := self._no_start(job, usual or at_limit, at_limit):
                return row | {"texts": why}
            return row | {"later_than": min(each.until for each in (usual, at_limit) if each is not None), "texts": texts}
        is_bounded = bool(at_limit.start)
        row |= {"earliest": starts[0], "latest": starts[-1] if is_bounded else 0.0, "texts": texts}
        return row | {"later_than": 0.0 if is_bounded or at_limit.is_complete else at_limit.until}

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

    def _no_start(self, job: Job, *reached: Reached) -> list[str]:
        """The reasons why the job never starts; [] if a run was bounded, or depends on tasks without limit."""
        if not all(each.is_complete for each in reached):
            return []
        if not job.ar and not job.error and not verify(self.state, job, True, self._now, self._zone)[0]:
            return [f"it can never start as it is requested: qexplain {job.id} has the reason"]
        causes = [cause.text for cause in causes_of_job(self.state, job, self._now)]
        if causes:
            return [f"it does not start: {text}" for text in causes]
        return [] if reached[-1].endless else [f"it does not start: qexplain {job.id} has the reason"]

    def _moment(self, time_s: float) -> str:
        return "now" if time_s <= self._now + 1.0 else format_moment(time_s, self._zone)

    def _beyond(self, reached: Reached) -> str:
        return f"later than {format_moment(reached.until, self._zone)} (computed no further)"
