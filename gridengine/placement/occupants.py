"""Occupants: the running tasks that hold the resources that a pending job lacks, the amounts, and until when.

Owns this search and its sentences. Called by `gridengine.placement.explanation`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.expected_start import run_time_limit
from gridengine.placement.placement_request import Request
from gridengine.placement.quotas import claim_of
from gridengine.placement.reasons import Reason
from gridengine.placement.values import format_value
from gridengine.state.bookings import CLUSTER, Holder, holders_at, host_holder
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.values.units import INFINITY, format_moment

_OFFERS = ("cluster_offers", "host_offers", "queue_offers", "units")
_EXCLUSIVE = ("cluster_exclusive", "host_exclusive", "queue_exclusive")
_TOO_FEW_SLOTS = ("pe_offers", "rule_offers")


def occupants(
    state: State, job: Job, instances: Iterable[str], reasons: Iterable[Reason], of_quotas: bool, zone: tzinfo
) -> list[str]:
    """The running tasks that hold the resources of these refusals of a job, the first to end first; each once.

    instances: the instances that could run the job; of_quotas: resources used under quotas, else the instances' resources.
    """
    of_kind = [reason for reason in reasons if (reason.code == "quota") == of_quotas]
    lacking, fitting = _lacking(state, job, instances, of_kind), _fitting_units(state, job, of_kind)
    found: list[tuple[float, int, int, str]] = []
    for other in state.jobs.values() if lacking else ():
        for task in other.placed:
            if held := _held(state, other, task, lacking, fitting):
                end = task.start_time + run_time_limit(state, other, task)
                found.append((end, other.id, task.id, f"{_task_label(other, task)} has {held} {_until(end, zone)}"))
    return [text for *_, text in sorted(found)]


def _lacking(state: State, job: Job, instances: Iterable[str], reasons: Iterable[Reason]) -> dict[Holder, set[str]]:
    """Holder -> the consumables of it that the job lacks."""
    lacking: dict[Holder, set[str]] = {}
    for reason in reasons:
        if reason.code == "full":
            lacking.setdefault(holders_at(reason.place)[0], set()).add("slots")
        elif reason.code in _OFFERS and reason.resource in state.complexes:
            lacking.setdefault(_holder(reason), set()).add(reason.resource)
        elif reason.code in _EXCLUSIVE:
            lacking.setdefault(_holder(reason), set()).add("slots")  # every task there is in the way
        elif reason.code in _TOO_FEW_SLOTS:
            for name in instances:
                lacking.setdefault(holders_at(name)[0], set()).add("slots")
        elif reason.code == "quota":
            for bucket in _buckets(state, job):
                lacking.setdefault(bucket, set()).add(reason.resource)
    return lacking


def _holder(reason: Reason) -> Holder:
    """The holder of the refused resource."""
    if reason.code.startswith("cluster"):
        return CLUSTER
    return host_holder(reason.place) if reason.code.startswith(("host", "units")) else holders_at(reason.place)[0]


def _buckets(state: State, job: Job) -> set[Holder]:
    config_snapshot = PlacementConfig.of(state)
    claim = claim_of(config_snapshot, Request.of(config_snapshot, job))
    return {bucket for name in state.instances for bucket in claim.all_buckets(name)} if claim is not None else set()


def _fitting_units(state: State, job: Job, reasons: Iterable[Reason]) -> dict[tuple[Holder, str], frozenset[str]]:
    """Where free units of a resource do not fit the job, the units that fit it, with their wholes and slices."""
    config_snapshot, found = PlacementConfig.of(state), {}
    demands = Request.of(config_snapshot, job).unit_demands
    for holder, resource in {(_holder(reason), reason.resource) for reason in reasons if reason.code == "units"}:
        classes = config_snapshot.capacities[holder].units[resource]
        names = {name for each in classes.matching(demands) for name in (each.name, *each.excludes)}
        found[holder, resource] = frozenset(unit for each in classes.classes if each.name in names for unit in each.units)
    return found


def _held(
    state: State, other: Job, task: Task, lacking: dict[Holder, set[str]], fitting: dict[tuple[Holder, str], frozenset[str]]
) -> str:
    """The lacking resources that a task holds, as `2 slots, lic=1`, "" if none. `fitting`: of units that fit only some."""
    sums: dict[tuple[str, str], float] = {}
    for holder, taken in (*state.bookings_of(task), *state.quotas.bookings_of(other, task.granted, task.pe, task.resources)):
        for name in lacking.get(holder, set()) & taken.keys():
            fits = fitting.get((holder, name))
            if fits is not None and not any(fits.intersection(each.units) for each in task.units if each.resource == name):
                continue
            sums[name, holder.kind] = sums.get((name, holder.kind), 0.0) + taken[name]
    amounts: dict[str, float] = {}
    for (name, _), amount in sums.items():  # a slot of an instance is also one of its host
        amounts[name] = max(amounts.get(name, 0.0), amount)
    return ", ".join(_amount(state, task, name, amounts[name]) for name in sorted(amounts))


def _amount(state: State, task: Task, name: str, amount: float) -> str:
    if name == "slots":
        return "1 slot" if amount == 1 else f"{amount:g} slots"
    units = " ".join(unit for grant in task.units if grant.resource == name for unit in grant.units)
    return f"{name}={format_value(state.complexes[name].type, amount)}" + (f"({units})" if units else "")


def _task_label(job: Job, task: Task) -> str:
    return f"job {job.label(task.id)} of {job.owner}"


def _until(end: float, zone: tzinfo) -> str:
    return "and no run time limit" if end == INFINITY else f"until {format_moment(end, zone)} at the latest"
