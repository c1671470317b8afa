"""Start: the expected start of a pending job as a range, with the basis of the range.

Owns the forward runs (run times drawn from such tasks, run times at their limits), the range from the calibration, and the
sentences. Called by `answers`. Source: adr/0310, adr/0330.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from daemons.forecast.backlog import Backlog
from daemons.forecast.calibration import PART, Calibration
from daemons.forecast.copies import OnCopy, Reached
from daemons.forecast.forward_run import ForwardRun, RunTime
from daemons.forecast.run_times import LEAST, RunTimes
from gridengine.placement.causes import causes_of_job
from gridengine.placement.expected_start import run_time_limit
from gridengine.placement.verify import verify
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.values.units import format_moment

DRAWS = 3
"""Forward runs with drawn run times."""
LONGEST_CPU_S = 0.2
"""Processor time of each forward run, in seconds."""
_LASTING = ("error", "hold")
"""Kinds of causes that last until a user acts."""


class ForecastBasis(NamedTuple):
    """The basis of forecasts. `run_times`: of ended tasks; `calibration`: of earlier forecasts; `now`: epoch s; `zone`: of texts
    and calendars."""

    run_times: RunTimes
    calibration: Calibration
    now: float
    zone: tzinfo


class Usual(NamedTuple):
    """The start of a job by drawn run times: `start`, the median, epoch s, and the `earliest`; 0.0 for none. `is_scaled`: beyond
    the computed time, by the backlog. `is_complete`: all runs reached the end of all events; `until`: the
    time that all runs reached, epoch s."""

    start: float
    earliest: float
    is_scaled: bool
    is_complete: bool
    until: float


class StartForecast:
    """Forecasts for jobs of a `state`. `on_copy`: begins a forward run on a copy of it."""

    def __init__(self, state: State, on_copy: OnCopy, basis: ForecastBasis) -> None:
        self.state, self._on_copy, self._basis = state, on_copy, basis
        self._now, self._zone = basis.now, basis.zone

    def of_jobs(self, jobs: Iterable[Job], longest_cpu_s: float = LONGEST_CPU_S) -> list[dict[str, Any]]:
        """A forecast of each job: `expected`, `earliest`, `latest` and `later_than` (epoch s, 0.0 for none), `overtaken`:
        newer jobs tend to come before it, and `texts`, sentences. longest_cpu_s: processor time of each run."""
        jobs = list(jobs)
        hopeful = {job.id for job in jobs if job.waits and not self._lasting(job)}
        draws = DRAWS if self._basis.run_times.count >= LEAST else 0
        rows = [self._head(job) for job in jobs]
        if not hopeful:
            return rows
        dice = [None, *(random.Random(number) for number in range(draws))]
        works = [partial(self._run, interest=hopeful, dice=each, longest_cpu_s=longest_cpu_s) for each in dice]
        begun = [self._on_copy(work) for work in works]
        backlog = Backlog(self.state, self._basis.run_times, self._now)  # while the children run
        ended = [wait() for wait in begun]
        at_limit, *drawn = [each._replace(until=max(each.until, self._now)) for each in ended]
        beyond = [{} if run.is_complete or run.until <= self._now else backlog.starts_beyond(run) for run in drawn]
        for row in rows:
            if not row["texts"]:
                row["overtaken"] = backlog.is_overtaken(row["id"])
                row |= self._range(row, self._usual(row["id"], drawn, beyond), at_limit)
        return rows

    def _run(self, state: State, interest: set[int], dice: random.Random | None, longest_cpu_s: float) -> Reached:
        """A forward run with run times that the dice draw; without dice with run times at their limits."""
        run = ForwardRun(state, self._now, self._zone, self._drawn(state, dice) if dice else _at_limit(state))
        until = time.process_time() + longest_cpu_s
        run.run(interest, lambda: time.process_time() < until)
        return Reached(run.starts, run.reached, run.is_complete, run.endless)

    def _drawn(self, state: State, dice: random.Random) -> RunTime:
        def seconds(job: Job, task: Task) -> float:
            elapsed = max(0.0, self._now - task.start_time)
            return self._basis.run_times.drawn(dice, job, run_time_limit(state, job, task), elapsed)

        return seconds

    # --- from runs to a range ------------------------------------------------------------------------------

    def _usual(self, number: int, drawn: Sequence[Reached], beyond: Sequence[dict[int, float]]) -> Usual | None:
        """The start by the runs with drawn run times, else by the backlog `beyond` each; None without such runs."""
        if not drawn:
            return None
        starts = [run.starts.get(number) or beyond.get(number, 0.0) for run, beyond in zip(drawn, beyond, strict=True)]
        is_scaled = not all(number in run.starts for run in drawn)
        is_complete, until = all(run.is_complete for run in drawn), min(run.until for run in drawn)
        if not all(starts):
            return Usual(0.0, 0.0, is_scaled, is_complete, until)
        return Usual(median(starts), min(starts), is_scaled, is_complete, until)

    def _range(self, row: dict[str, Any], usual: Usual | None, at_limit: Reached) -> dict[str, Any]:
        """The times and the sentences by the outcome of the runs."""
        number = row["id"]
        latest = at_limit.starts.get(number, 0.0)
        texts = [*self._texts(number, usual, at_limit, row["overtaken"])]
        is_bounded = bool(latest)
        later_than = 0.0 if is_bounded or at_limit.is_complete else at_limit.until
        if usual is not None and usual.start:
            learned = self._basis.calibration.range(usual.start - self._now, row["overtaken"], self._now)
            found: dict[str, Any] = {"expected": usual.start, "texts": texts}
            if self._is_now(usual.start) and self._is_now(latest):
                return found | {"earliest": usual.start, "latest": latest}
            if learned is not None:
                low, high, count = learned
                part = f"such ranges hold {PART:.0%} of the starts ({count} forecasts compared)"
                return found | {"earliest": self._now + low, "latest": self._now + high, "texts": [part, *texts]}
            latest = max(latest, usual.start) if latest else 0.0
            return found | {"earliest": usual.earliest, "latest": latest, "later_than": later_than}
        if not is_bounded:
            complete = [at_limit.is_complete, *([usual.is_complete] if usual is not None else [])]
            if all(complete) and (why := self._no_start(number, at_limit)):
                return {"texts": why}
            bounds = [*([usual.until] if usual is not None and not usual.is_complete else [])]
            bounds += [] if at_limit.is_complete else [at_limit.until]
            return {"later_than": min(bounds, default=0.0), "texts": texts}
        return {"earliest": latest, "latest": latest, "later_than": later_than, "texts": texts}

    # --- sentences -----------------------------------------------------------------------------------------

    def _lasting(self, job: Job) -> list[str]:
        """Causes that no end of a job removes."""
        texts = [cause.text for cause in causes_of_job(self.state, job, self._now) if cause.kind in _LASTING]
        if job.ar and not texts and not verify(self.state, job, True, self._now, self._zone)[0]:
            texts = [f"it does not fit in advance reservation {job.ar}"]
        return texts

    def _head(self, job: Job) -> dict[str, Any]:
        """The row of a job before the runs; with `texts` if no run is needed."""
        row = {"id": job.id, "name": job.name, "owner": job.owner, "array": job.is_array, "pending": str(job.waiting)}
        row |= {"expected": 0.0, "earliest": 0.0, "latest": 0.0, "later_than": 0.0, "overtaken": False}
        if not job.waits:
            return row | {"texts": ["it is not pending"]}
        return row | {"texts": [f"it does not start: {text}" for text in self._lasting(job)]}

    def _texts(self, number: int, usual: Usual | None, at_limit: Reached, overtaken: bool) -> Iterable[str]:
        """The basis of the times."""
        if usual is None:
            yield f"run times are not learned yet: fewer than {LEAST} ended tasks are in the accounting records"
        elif usual.start:
            computed = f" (computed until {format_moment(usual.until, self._zone)}, then by the jobs before it)"
            learned = f"{self._basis.run_times.count} ended tasks"
            start = self._moment(usual.start) + (computed if usual.is_scaled else "")
            yield f"if jobs end as such jobs usually do ({learned}): {start}"
        elif not usual.is_complete:
            yield f"if jobs end as such jobs usually do: {self._beyond(usual.until)}"
        latest = at_limit.starts.get(number, 0.0)
        if latest:
            yield f"if no job ends before its limit: {self._moment(latest)}"
        elif at_limit.is_complete and at_limit.endless:
            jobs = f"{at_limit.endless} running {'task has' if at_limit.endless == 1 else 'tasks have'}"
            yield f"no latest time can be named: {jobs} no run time limit (h_rt)"
        elif not at_limit.is_complete:
            yield f"if no job ends before its limit: {self._beyond(at_limit.until)}"
        yield f"jobs that are submitted or changed later {'tend to come before it' if overtaken else 'may change this'}"

    def _no_start(self, number: int, at_limit: Reached) -> list[str]:
        """The reasons why the job never starts; [] if this depends on tasks without limit."""
        job = self.state.jobs[number]
        if not job.ar and not verify(self.state, job, True, self._now, self._zone)[0]:
            return [f"it can never start as it is requested: qexplain {number} has the reason"]
        causes = [cause.text for cause in causes_of_job(self.state, job, self._now)]
        if causes and not at_limit.endless:
            return [f"it does not start: {text}" for text in causes]
        return [] if at_limit.endless else [f"it does not start: qexplain {number} has the reason"]

    def _is_now(self, time_s: float) -> bool:
        return 0.0 < time_s <= self._now + 1.0

    def _moment(self, time_s: float) -> str:
        return "now" if self._is_now(time_s) else format_moment(time_s, self._zone)

    def _beyond(self, until: float) -> str:
        return f"later than {format_moment(until, self._zone)} (computed no further)"


def _at_limit(state: State) -> RunTime:
    return lambda job, task: run_time_limit(state, job, task)
