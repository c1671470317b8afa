"""Verify: may a job run at all (-w e|w|v), may it run now (-w p), and why is it pending (qstat -j)?

Owns these three questions for one job; the scheduler asks the same rules for all jobs at once. Source:
sge_submit(1) -w, SO-41; qstat(1) -j.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridengine.placement.ledger import Ledger
from gridengine.placement.match import static_refusal, use_refusal
from gridengine.placement.obstacles import obstacle
from gridengine.placement.pending import waiting_reason
from gridengine.placement.reasons import Reason
from gridengine.placement.requests import Request
from gridengine.placement.reserved import ReservedSite, place_reserved, reservation_waits, reserved_request
from gridengine.placement.site import Site
from gridengine.placement.spread import Candidates, place_parallel
from gridengine.placement.timeline import Timeline
from gridengine.state.jobs import Grant, Job, Task
from gridengine.state.state import State

FOUND = "verification: found suitable queue(s)"
NOT_FOUND = "verification: no suitable queues"


def verify(
    state: State, job: Job, assume_empty: bool, now: float = 0.0, ended: Iterable[Task] = ()
) -> tuple[list[Grant], list[Reason]]:
    """Where a task of the job would run ([] if nowhere), and why not elsewhere.

    assume_empty: nothing runs, every instance is open, only static load values are known (-w e|w|v); else the
    cluster as it is (-w p). Holds, dependencies and times are not looked at; what advance reservations hold from `now`
    (epoch s) on is, unless the job asks for one: then it has to fit inside (AR-87). `ended`: running tasks that are taken
    for ended.
    """
    site, ledger = Site.of(state), Ledger(state, empty=assume_empty)
    for task in ended:
        held = {name: (float(amount), state.per_job(name)) for name, amount in task.resources.items()}
        ledger.charge(task.granted, held, task.pe, -1)
    if job.ar in state.reservations:
        inside = ReservedSite(site, state.reservations[job.ar])
        granted, _, refusals = place_reserved(inside, ledger.within(job.ar), reserved_request(inside, job))
        return granted, refusals
    if state.reservations:
        ledger.timeline = Timeline(state, now, tasks=not assume_empty)
    request = Request(site, job)
    open_instances: list[str] = []
    reasons: dict[Reason, None] = {}
    for name in sorted(state.instances):
        found = None if assume_empty else obstacle(site, ledger, state.instances[name])
        found = found or static_refusal(site, ledger, request, name)
        if found is None:
            open_instances.append(name)
        else:
            reasons[found] = None
    if request.parallel:
        why_not: list[Reason] = []
        granted, _ = place_parallel(site, ledger, request, Candidates.of(open_instances), why_not)
        return granted, [*reasons, *why_not]
    granted = []
    for name in open_instances:
        found = use_refusal(site, ledger, request, name)
        if found is None:
            granted = granted or [Grant(name, 1)]
        else:
            reasons[found] = None
    return granted, list(reasons)


def verification(state: State, job: Job, assume_empty: bool, now: float = 0.0) -> tuple[bool, list[str]]:
    """Whether a suitable place exists, and the lines to print for -w v or p, the verdict last."""
    granted, reasons = verify(state, job, assume_empty, now)
    lines = [f"Job {job.id} {reason.text}" for reason in reasons]
    return bool(granted), [*lines, FOUND if granted else NOT_FOUND]


def explain(state: State, job: Job, now: float) -> list[Reason]:
    """Why a pending job is pending at this moment: the `scheduling info` of qstat -j. [] if it could start.

    now: epoch seconds, for `-a`. Computed when asked for, so it is never older than the state.
    """
    waiting = waiting_reason(state, job, now)
    if waiting is not None:
        return [waiting]
    if job.ar and (waiting := reservation_waits(state, job, now)):
        return [waiting]
    granted, reasons = verify(state, job, assume_empty=False, now=now)
    return [] if granted else reasons
