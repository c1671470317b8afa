"""Explanation: the causes why a pending job does not start, ranked; the change that would let it start; the expected start.

Owns the combination of these three. Causes and changes apply the rules that place jobs, so an explanation cannot disagree
with the scheduler. Called by the reading request `explain_job` (qexplain).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, tzinfo

from msgspec import Struct

from gridengine.placement.causes import EXAMPLES, Asker, Cause, causes_of_instances, causes_of_job, group_reasons, sort_causes
from gridengine.placement.expected_start import calendar_opening, expected_start, not_before
from gridengine.placement.occupants import occupants
from gridengine.placement.reasons import Reason
from gridengine.placement.smallest_change import Change, smallest_change, without_requests
from gridengine.placement.verify import Verifier, verify
from gridengine.state.jobs import Grant, Job
from gridengine.state.state import State
from gridengine.values.instance_name import host_of


class Explanation(Struct, omit_defaults=True):
    """`causes`: why the job waits, by kind. `change`: the smallest change with which it could start, None for none; `change.now`:
    the job could start at once. `expected_start`: epoch s, 0 if unknown."""

    causes: list[Cause]
    change: Change | None = None
    expected_start: float = 0.0


def explanation(state: State, job: Job, now: float, zone: tzinfo = UTC, asker: Asker = "operator") -> Explanation:
    """Explain why the pending tasks of a job do not start. now: epoch seconds. Without causes the next cycle will start it."""
    causes = causes_of_job(state, job, now, asker)
    if job.error:
        return Explanation(sort_causes(causes))  # the scheduler cannot handle it, so placement cannot be checked
    ever, why_never = _verify_ever(state, job, now, zone)
    reported, without_load_requests = _reported(state, why_never), job
    if not ever and reported:
        # reported load values may become sufficient
        without_load_requests = without_requests(job, [("hard", name) for name in reported])
        ever, why_never = _verify_ever(state, without_load_requests, now, zone)
    if not ever and not job.ar:
        causes.append(_never(state, why_never))
        return Explanation(sort_causes(causes), smallest_change(state, job, now, True, zone))
    current, why_not = verify(state, job, False, now, zone)
    if current:
        timed = all(cause.kind == "start_time" for cause in causes)
        return Explanation(sort_causes(causes), None, not_before(job, now) if timed else 0.0)
    causes += _current_causes(state, job, without_load_requests, why_not, reported, now, zone)
    change = smallest_change(state, job, now, False, zone)
    blocked = any(cause.kind in ("error", "hold", "dependency", "reservation", "limit") for cause in causes)
    if blocked:
        return Explanation(sort_causes(causes), change)
    expected = calendar_opening(state, why_not, now, zone) or expected_start(state, job, now, zone)
    return Explanation(sort_causes(causes), change, max(expected, not_before(job, now)))


def _verify_ever(state: State, job: Job, now: float, zone: tzinfo) -> tuple[list[Grant], list[Reason]]:
    """Whether an empty cluster could run the job. Its reservations end, so they are no reason; -w v counts them as 8.1.9 does."""
    return Verifier(state, True, now, zone, reservations=bool(job.ar)).verify(job)


def _never(state: State, why_never: list[Reason]) -> Cause:
    if not state.instances:
        return Cause("never", "no queue of this cell has a host")
    return group_reasons(state, "never", "no place in the cluster can ever run it as it is requested", why_never)


def _current_causes(
    state: State, job: Job, without_load_requests: Job, why_not: list[Reason], reported: set[str], now: float, zone: tzinfo
) -> list[Cause]:
    """Causes of the instances that could run the job; the other instances are no cause. `without_load_requests`: the job
    without its requests for load values."""
    could: set[str] = set()
    if not job.ar:
        could = Verifier(state, True, now, zone).suiting(without_load_requests)
        why_not = Verifier(state, False, now, zone).verify(job, among=could)[1] or why_not
    causes = causes_of_instances(state, why_not, reported, zone)
    for cause in causes:
        if cause.kind in ("busy", "quota") and (holders := occupants(state, job, could, why_not, cause.kind == "quota", zone)):
            cause.holders, cause.holder_count = holders[:EXAMPLES], len(holders)
    return causes


def _reported(state: State, reasons: Iterable[Reason]) -> set[str]:
    """Resources that are unknown in an empty cluster because they are load values, possibly of unreachable hosts."""
    return {
        reason.resource
        for reason in reasons
        if reason.code == "unknown"
        and (_is_away(state, host_of(reason.place)) or any(reason.resource in host.load for host in state.hosts.values()))
    }


def _is_away(state: State, host: str) -> bool:
    return host not in state.hosts or not state.hosts[host].up
