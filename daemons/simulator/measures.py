"""ReplayMeasures of an outcome: waiting times, slowdown, utilisation, and the shares of users and projects.

Owns the formulas. Pure. Called by the command `simulate`. Source: Feitelson, "Metrics for parallel job scheduling" (bounded
slowdown); Jain (index of fairness).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from daemons.simulator.replay import ReplayedTask, ReplayOutcome

SHORT_S = 10.0
"""Shortest run time in a slowdown: tasks of a second would decide on the mean."""


@dataclass(frozen=True, slots=True)
class ReplayMeasures:
    """Of `tasks` that ended: mean, median and 90th percentile of waiting times (`wait_mean`, `wait_median`, `wait_90`, s) and of
    bounded slowdowns (`slowdown_mean`, `slowdown_median`, `slowdown_90`). `makespan`: s from first submission to last end.

    `utilisation`: use of all slots in this time, 0 to 1. `fairness`: index of Jain of the mean slowdowns of users, 1 at best.
    """

    tasks: int
    wait_mean: float
    wait_median: float
    wait_90: float
    slowdown_mean: float
    slowdown_median: float
    slowdown_90: float
    utilisation: float
    makespan: float
    fairness: float


@dataclass(frozen=True, slots=True)
class UsageShare:
    """A user or project: `used`: slot seconds of its `tasks`; `share`: its part of all use. `wait_mean`: s; `slowdown_mean`."""

    name: str
    tasks: int
    used: float
    share: float
    wait_mean: float
    slowdown_mean: float


def slowdown(run: ReplayedTask) -> float:
    """Bounded slowdown of a task, at least 1."""
    return max(1.0, (run.wait_s + run.run_s) / max(run.run_s, SHORT_S))


def percentile(values: Sequence[float], part: float) -> float:
    """The nearest-rank percentile of sorted values; 0.0 of none."""
    return values[max(0, min(len(values) - 1, -int(-part * len(values) // 1) - 1))] if values else 0.0


def measures(outcome: ReplayOutcome) -> ReplayMeasures:
    """The measures of all tasks that ended; zeros without any."""
    runs = outcome.runs
    if not runs:
        return ReplayMeasures(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    waits, slowdowns = sorted(run.wait_s for run in runs), sorted(map(slowdown, runs))
    span = max(run.end_time for run in runs) - min(run.submit_time for run in runs)
    used = sum(run.slots * run.run_s for run in runs)
    return ReplayMeasures(
        len(runs),
        fmean(waits),
        median(waits),
        percentile(waits, 0.9),
        fmean(slowdowns),
        median(slowdowns),
        percentile(slowdowns, 0.9),
        used / (outcome.slots * span) if span else 0.0,
        span,
        jain([share.slowdown_mean for share in shares(runs, lambda run: run.owner)]),
    )


def jain(values: Sequence[float]) -> float:
    """The index of fairness: 1 if all values are alike, 1/n if one has everything."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def shares(runs: Iterable[ReplayedTask], key: Callable[[ReplayedTask], str]) -> list[UsageShare]:
    """By user or project, the largest use first."""
    grouped: dict[str, list[ReplayedTask]] = {}
    for run in runs:
        grouped.setdefault(key(run), []).append(run)
    used = {name: sum(run.slots * run.run_s for run in of) for name, of in grouped.items()}
    whole = sum(used.values()) or 1.0
    found = [
        UsageShare(name, len(of), used[name], used[name] / whole, fmean(run.wait_s for run in of), fmean(map(slowdown, of)))
        for name, of in grouped.items()
    ]
    return sorted(found, key=lambda share: (-share.used, share.name))
