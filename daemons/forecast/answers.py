"""Answers: the questions of the request `forecast`, about jobs of one state.

Owns the choice of the jobs and of the question. Pure but for the processor time that bounds a forward run. Called by the program
of this package, `python -m daemons.forecast`. Shapes: docs/gdi.md.
"""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

from daemons.forecast.calibration import Remembered
from daemons.forecast.copies import OnCopy
from daemons.forecast.order import Order
from daemons.forecast.run_times import RunTimes
from daemons.forecast.start import ForecastBasis, StartForecast
from daemons.qmaster.selection import select_jobs
from daemons.schedd.survey import ranked_jobs
from daemons.schedd.view import View
from gridengine.placement.causes import causes_of_job
from gridengine.placement.expected_start import run_time_limit
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.values.units import INFINITY

Body = dict[str, Any]
SAMPLED = 4
"""Jobs whose forecasts are remembered at one moment. Few: those of one moment share their fate, so it is moments that teach."""


def answer(state: State, on_copy: OnCopy, basis: ForecastBasis, body: Body) -> Body:
    """The data of the answer. Body: `about` (order, start, duration or calibration), `jobs` (ids, names, patterns). `on_copy`: as
    of `StartForecast`. Raises InvalidValueError for a malformed job list."""
    now = basis.now
    jobs, unknown = _selected(state, list(body["jobs"]))
    if body["about"] == "start":
        return {"jobs": StartForecast(state, on_copy, basis).of_jobs(jobs), "unknown": unknown}
    if body["about"] == "duration":
        return {"jobs": [_duration(state, basis.run_times, job, now) for job in jobs], "unknown": unknown}
    if body["about"] == "calibration":
        return {"jobs": [], "unknown": [], "classes": basis.calibration.figures()}
    order = Order(state, ranked_jobs(View(state), now), now)
    return {"jobs": [_place(state, order, job, now) for job in jobs], "unknown": unknown, "order": order.overview()}


def remember(state: State, on_copy: OnCopy, basis: ForecastBasis) -> None:
    """Have the calibration note forecasts for pending jobs, drawn by lot."""
    basis.calibration.note(drawn_forecasts(state, on_copy, basis, SAMPLED))


def drawn_forecasts(state: State, on_copy: OnCopy, basis: ForecastBasis, count: int) -> list[Remembered]:
    """Forecasts for up to `count` pending jobs, drawn by lot; none for a job without an expected start."""
    now = basis.now
    waiting = [job for job in state.jobs.values() if job.waits and not job.error]
    drawn = random.Random(int(now)).sample(waiting, min(count, len(waiting)))
    forecasts = []
    for row in StartForecast(state, on_copy, basis).of_jobs(drawn):
        if row["expected"] > now:
            expected = row["expected"] - now
            low, high, _ = basis.calibration.range(expected, row["overtaken"], now) or (-1.0, -1.0, 0)
            forecasts.append(Remembered(row["id"], now, expected, row["overtaken"], low, high))
    return forecasts


def _selected(state: State, targets: list[str]) -> tuple[list[Job], list[str]]:
    found: dict[int, Job] = {}
    unknown = []
    for target, selected in select_jobs(state, targets) if targets else ():
        if not selected:
            unknown.append(target)
        found.update((each.job.id, each.job) for each in selected)
    return [found[number] for number in sorted(found)], unknown


def _place(state: State, order: Order, job: Job, now: float) -> Body:
    """The figures of a job; a job that takes no part has only `texts`: why."""
    figures = order.of_job(job.id)
    if figures is not None:
        return figures | {"texts": []}
    texts = [cause.text for cause in causes_of_job(state, job, now)]
    return {"id": job.id, "name": job.name, "owner": job.owner, "place": 0, "texts": texts or ["none of its tasks may start now"]}


def _duration(state: State, run_times: RunTimes, job: Job, now: float) -> Body:
    """The likely run time of a task of the job: of its first running task, or of its next task."""
    task = next(iter(job.placed), Task(0))
    limit = run_time_limit(state, job, task)
    elapsed = max(0.0, now - task.start_time) if task.granted else 0.0
    found = run_times.estimate(job, limit, elapsed)
    row: Body = {"id": job.id, "name": job.name, "owner": job.owner, "elapsed": elapsed}
    row["limit"] = None if limit == INFINITY else limit
    return row | {"estimate": None if found is None else asdict(found), "learned_from": run_times.count}
