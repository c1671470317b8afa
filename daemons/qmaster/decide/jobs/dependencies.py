"""Dependencies: the jobs selected by -hold_jid and its variants.

Owns the reading of the lists when a job is submitted or changed, and their checks. `gridengine.state.apply` removes
predecessors from a job at their end. Source: DP-1 … DP-5; docs/adr/0020-dependencies-on-success-and-failure.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decision import World
from daemons.qmaster.selection import predecessors
from gridengine.protocols.gdi.requests import Submit
from gridengine.state.jobs import Job
from gridengine.state.state import State

FIELDS = frozenset(("hold_jid", "hold_jid_ad", "hold_jid_ok", "hold_jid_fail"))


def dependency_fields(
    state: State, request: Submit, owner: str, changed: Collection[str], world: World, job: Job | None = None
) -> dict[str, Any]:
    """Fields of `Job` that follow from the lists. `job`: the job to change; its other lists stay as they were resolved. Raises
    RefusedError."""
    fields: dict[str, Any] = {}
    if "hold_jid_ad" in changed:
        fields["array_predecessors"] = tuple(_arrays(state, request, owner, world))
        fields["array_predecessors_requested"] = request.hold_jid_ad
    if FIELDS & set(changed) - {"hold_jid_ad"}:
        plain, conditions = _unchanged_lists(job, changed)
        if "hold_jid" in changed:
            plain = _resolve_predecessors(state, request.hold_jid, owner, world)
            fields["predecessors_requested"] = request.hold_jid
        how: Literal["ok", "fail"]
        for option, how in (("hold_jid_ok", "ok"), ("hold_jid_fail", "fail")):
            if option in changed:
                requested = getattr(request, option)
                conditions |= _conditions(state, requested, owner, how, world)
                fields[option] = requested
        fields["predecessors"] = (*plain, *(other for other in conditions if other not in plain))
        fields["conditions"] = conditions
    if job is not None:
        _check_circle(state, job, [*fields.get("predecessors", ()), *fields.get("array_predecessors", ())])
    return fields


def _unchanged_lists(job: Job | None, changed: Collection[str]) -> tuple[list[int], dict[int, Any]]:
    """Predecessors of the lists that do not change: plain predecessors of -hold_jid, and predecessors with conditions."""
    if job is None:
        return [], {}
    plain = [other for other in job.predecessors if other not in job.conditions]
    return plain, {other: how for other, how in job.conditions.items() if f"hold_jid_{how}" not in changed}


def _resolve_predecessors(state: State, requested: Iterable[str], owner: str, world: World) -> list[int]:
    try:
        return predecessors(state, requested, owner, world.looked_up)
    except ValueError as error:
        raise RefusedError(f"job rejected: {error}") from None


def _conditions(
    state: State, requested: Iterable[str], owner: str, how: Literal["ok", "fail"], world: World
) -> dict[int, str]:
    """Jobs that must end in one way; jobs that have ended already must have ended in that way."""
    for item in requested:
        if item.isdecimal() and int(item) not in state.jobs:
            succeeded = world.outcome(int(item))
            if succeeded is None:
                raise RefusedError(f"job rejected: -hold_jid_{how}: job {item} is unknown, and so is its outcome")
            if succeeded != (how == "ok"):
                ended = "succeeded" if succeeded else "failed"
                raise RefusedError(f"job rejected: -hold_jid_{how}: job {item} has {ended}, so this job could never run")
    return dict.fromkeys(_resolve_predecessors(state, requested, owner, world), how)


def _arrays(state: State, request: Submit, owner: str, world: World) -> list[int]:
    """Array predecessors: arrays over the same range of ids as the job's own (DP-4)."""
    if not request.hold_jid_ad:
        return []
    if not request.tasks:
        raise RefusedError("job rejected: -hold_jid_ad is for array jobs (-t)")
    own = request.tasks.partition(":")[0]
    arrays = _resolve_predecessors(state, request.hold_jid_ad, owner, world)
    for other_id in arrays:
        other = state.jobs[other_id]
        if not other.is_array:
            raise RefusedError(f"job rejected: -hold_jid_ad is for array jobs (-t), job {other_id} is none")
        if other.task_range is not None and own != "{}-{}".format(*other.task_range):
            text = f"{own} is not the range {other.task_range[0]}-{other.task_range[1]} of job {other_id}"
            raise RefusedError(f"job rejected: an array must have the same range of tasks as the arrays of -hold_jid_ad, {text}")
    return arrays


def _check_circle(state: State, job: Job, others: list[int]) -> None:
    """A job must not wait for itself, neither directly nor through other jobs."""
    seen: set[int] = set()
    ahead = list(others)
    while ahead:
        number = ahead.pop()
        if number == job.id:
            raise RefusedError(f"denied: job {job.id} would wait for itself")
        if number not in seen and number in state.jobs:
            seen.add(number)
            ahead += (*state.jobs[number].predecessors, *state.jobs[number].array_predecessors)
