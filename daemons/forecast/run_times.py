"""Run times: how long jobs of a kind ran, learned from accounting records.

Owns the kinds, from narrow to wide, and the quantiles. A kind counts from LEAST ended tasks on. Kinds with equal requests are
compared in seconds; wide kinds, if limits are known, by the part of its limit (h_rt) that each task used. Pure.
Called by `answers`.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from daemons.qmaster.notifications.accounting import category
from gridengine.errors import InvalidValueError
from gridengine.state.jobs import Job
from gridengine.usage.accounting import AccountingRecord
from gridengine.values.units import INFINITY, parse_time

LEAST = 5
"""Ended tasks of a kind from which its run times are learned."""
QUANTILES = (0.1, 0.5, 0.9)
_LIMIT = re.compile(r"[ ,]h_rt=([^, ]+)")
Kind = tuple[str, ...]


class EndedTask(NamedTuple):
    """A task that has run. `limit`, `seconds`: its limit h_rt, INFINITY for none, and its run time."""

    owner: str
    name: str
    category: str
    limit: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Likely run times of a job in seconds, by QUANTILES: `low`, `usual` and `high`. `basis`: the ended tasks from which they are
    learned, as a noun; `count`: their number."""

    low: float
    usual: float
    high: float
    count: int
    basis: str


def ended_tasks(records: Iterable[AccountingRecord]) -> list[EndedTask]:
    """The tasks of these records that have run; slave tasks are left out."""
    found = []
    for record in records:
        if record.pe_taskid == "NONE" and record.start_time not in ("0", ""):
            seconds, limit = _seconds(record.ru_wallclock), _limit(record.category)
            if seconds is not None:
                found.append(EndedTask(record.owner, record.job_name, record.category, limit, seconds))
    return found


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None


def _limit(category_text: str) -> float:
    match = _LIMIT.search(category_text.partition("-soft")[0])
    try:
        return float(parse_time(match[1])) if match else INFINITY
    except InvalidValueError:
        return INFINITY


class RunTimes:
    """The run times of `ended` tasks. `count`: their number."""

    def __init__(self, ended: Sequence[EndedTask]) -> None:
        self.count = len(ended)
        self._seconds: dict[Kind, list[float]] = defaultdict(list)
        self._parts: dict[Kind, list[float]] = defaultdict(list)
        self._means: dict[Kind, float] = {}
        for task in ended:
            for kind in _kinds(task.owner, task.name, task.category):
                self._seconds[kind].append(task.seconds)
                if 0 < task.limit < INFINITY and not _is_narrow(kind):
                    self._parts[kind].append(min(1.0, task.seconds / task.limit))
        for values in (*self._seconds.values(), *self._parts.values()):
            values.sort()

    def estimate(self, job: Job, limit: float, elapsed: float = 0.0) -> Estimate | None:
        """The likely run time of a job that has run for `elapsed` seconds. limit: seconds, INFINITY for none. None: nothing is
        known of tasks that ran longer."""
        longer = self._longer(job, limit, elapsed)
        if longer is None:
            return None
        kind, values, scale = longer
        low, usual, high = (min(limit, _quantile(values, part) * scale) for part in QUANTILES)
        return Estimate(low, usual, high, len(values), _noun(kind, job))

    def drawn(self, dice: random.Random, job: Job, limit: float, elapsed: float) -> float:
        """The run time in seconds of a task that is drawn from such tasks; the limit where nothing is known."""
        longer = self._longer(job, limit, elapsed)
        if longer is None:
            return limit
        _, values, scale = longer
        return min(limit, values[int(dice.random() * len(values))] * scale)

    def mean(self, job: Job, limit: float) -> float:
        """The mean of the likely run time in seconds; the limit where nothing is known."""
        longer = self._longer(job, limit, 0.0)
        if longer is None:
            return limit
        kind, values, scale = longer
        if kind not in self._means:
            self._means[kind] = sum(values) / len(values)
        return min(limit, self._means[kind] * scale)

    def _longer(self, job: Job, limit: float, elapsed: float) -> tuple[Kind, Sequence[float], float] | None:
        """The narrowest kind with enough tasks, the sorted run times of tasks that ran longer than `elapsed`, and the seconds of
        their unit."""
        for kind in _kinds(job.owner, job.name, category(job)):
            parts = self._parts.get(kind, ())
            scale = limit if len(parts) >= LEAST and limit < INFINITY else 1.0
            values = parts if scale == limit else self._seconds.get(kind, ())
            if len(values) < LEAST:
                continue
            longer = values[bisect_right(values, elapsed / scale) :] if elapsed and scale else values
            if longer:
                return kind, longer, scale
        return None


def _kinds(owner: str, name: str, category_text: str) -> tuple[Kind, ...]:
    """The kinds of a job, the narrowest first."""
    narrow = (("same", owner, name, category_text), ("name", owner, name), ("requests", owner, category_text))
    return *narrow, ("owner", owner), ("all",)


def _is_narrow(kind: Kind) -> bool:
    return kind[0] in ("same", "name", "requests")


def _noun(kind: Kind, job: Job) -> str:
    return {
        "same": f'tasks of {job.owner} named "{job.name}" with the same requests',
        "name": f'tasks of {job.owner} named "{job.name}"',
        "requests": f"tasks of {job.owner} with the same requests",
        "owner": f"tasks of {job.owner}",
        "all": "tasks of all users",
    }[kind[0]]


def _quantile(values: Sequence[float], part: float) -> float:
    """The value at `part` (0..1) of sorted values, between two of them by their distance."""
    position = part * (len(values) - 1)
    low = int(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)
