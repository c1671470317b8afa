"""Priorities: POSIX priority, urgency and tickets of jobs, each normalised to 0..1, and their weighted sum.

Owns sge_priority(5). Must not know where jobs can run. Called by the cycle for all pending and running jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from daemons.schedd.reserved import AnyCategory
from gridengine.placement.urgency import deadline_urgency, finite
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.jobs import Job

Priority = tuple[float, float, float, float]
"""(prio, npprior, nurg, ntckts)."""

NEUTRAL = 0.5
"""The normalised value of jobs that do not differ (X-19)."""


class Weights:
    """The weights of sge_sched_conf(5) that priorities need."""

    __slots__ = ("priority", "urgency", "ticket", "waiting_time", "deadline")

    def __init__(self, scheduler: SchedulerConfiguration) -> None:
        self.priority = finite(scheduler.weight_priority)
        self.urgency = finite(scheduler.weight_urgency)
        self.ticket = finite(scheduler.weight_ticket)
        self.waiting_time = finite(scheduler.weight_waiting_time)
        self.deadline = finite(scheduler.weight_deadline)


def normalised(values: Sequence[float]) -> list[float]:
    """Map the values, all finite, to 0..1 from the least to the greatest; all NEUTRAL if they do not differ."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high <= low:
        return [NEUTRAL] * len(values)
    # halved: the difference of the greatest and the least float would overflow
    least, span = low / 2, high / 2 - low / 2
    return [(value / 2 - least) / span for value in values]


def part_of_most(values: Sequence[float]) -> list[float]:
    """The values as fractions of the greatest; all NEUTRAL if that is 0. Source: O (ntckts of qstat -ext)."""
    most = max(values, default=0.0)
    return [value / most for value in values] if most > 0 else [NEUTRAL] * len(values)


def prioritise(
    weights: Weights, jobs: Sequence[tuple[Job, AnyCategory]], tickets: Sequence[float], now: float
) -> list[Priority]:
    """Priorities of jobs that are compared with each other, in their order: finite numbers. Source: PR-1 … PR-3.

    tickets: of each job by all policies. npprior: -p 0 is 0.5.
    """
    waiting, deadline = weights.waiting_time, weights.deadline
    urgencies = [
        category.urgency
        + (waiting * (now - job.submit_time) if waiting else 0.0)
        + (deadline_urgency(deadline, job.deadline, now) if job.deadline else 0.0)
        for job, category in jobs
    ]
    if not isfinite(sum(urgencies)):
        urgencies = [finite(value) for value in urgencies]
    by_priority, by_urgency, by_tickets = weights.priority, weights.urgency, weights.ticket
    found: list[Priority] = []
    for (job, _), nurg, ntckts in zip(jobs, normalised(urgencies), part_of_most(tickets), strict=True):
        npprior = (job.priority + 1024) / 2048
        prio = by_priority * npprior + by_urgency * nurg + by_tickets * ntckts
        found.append((prio if isfinite(prio) else finite(prio), npprior, nurg, ntckts))
    return found
