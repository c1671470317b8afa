"""Explanation: all that keeps a pending job from starting, ranked; what change would let it start; when it may start.

Owns how these three come together. Every question goes to the rules that place jobs, so an explanation cannot disagree with
the scheduler. Called by the reading request `explain_job` (qexplain).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, tzinfo

from msgspec import Struct

from gridengine.placement.causes import Cause, causes_of_job, causes_of_places, grouped, ranked
from gridengine.placement.expected_start import expected_start, not_before, opening
from gridengine.placement.reasons import Reason
from gridengine.placement.smallest_change import Change, smallest_change, without
from gridengine.placement.verify import verify
from gridengine.state.jobs import Job
from gridengine.state.state import State


class Explanation(Struct, omit_defaults=True):
    """`change.now`: the job could start at once. `expected_start`: epoch s, 0 where it cannot be known."""

    causes: list[Cause]
    change: Change | None = None
    expected_start: float = 0.0


def explanation(state: State, job: Job, now: float, zone: tzinfo = UTC) -> Explanation:
    """Why the waiting tasks of a job wait. now: epoch seconds. Without causes: the next cycle will start it."""
    causes = causes_of_job(state, job, now)
    if job.error:
        return Explanation(ranked(causes))  # no place can be sought for what the scheduler cannot handle
    ever, why_never = verify(state, job, True, now, zone)
    reported = _reported(state, why_never)
    if not ever and reported:
        # what hosts report may come to be enough
        ever, why_never = verify(state, without(job, [("hard", name) for name in reported]), True, now, zone)
    if not ever and not job.ar:
        causes.append(grouped("never", "no place in the cluster can ever run it as it is requested", why_never))
        return Explanation(ranked(causes), smallest_change(state, job, now, True, zone))
    current, why_not = verify(state, job, False, now, zone)
    if current:
        timed = all(cause.kind == "start_time" for cause in causes)
        return Explanation(ranked(causes), None, not_before(job, now) if timed else 0.0)
    causes += causes_of_places(why_not, reported)
    change = smallest_change(state, job, now, False, zone)
    blocked = any(cause.kind in ("error", "hold", "dependency", "reservation", "limit") for cause in causes)
    if blocked:
        return Explanation(ranked(causes), change)
    expected = opening(state, why_not, now, zone) or expected_start(state, job, now, zone)
    return Explanation(ranked(causes), change, max(expected, not_before(job, now)))


def _reported(state: State, reasons: Iterable[Reason]) -> set[str]:
    """Resources that are unknown in an empty cluster because they are load values of hosts."""
    unknown = {reason.resource for reason in reasons if reason.code == "unknown"}
    return {name for name in unknown if any(name in host.load for host in state.hosts.values())}
