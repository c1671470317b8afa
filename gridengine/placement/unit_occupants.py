"""Unit occupants: which units of a resource map are in use, and by which jobs, as a sentence for people.

Owns this sentence, which `qexplain` shows in place of the remaining amount, and the search for units that a reservation lacks.
Called by `gridengine.placement.causes`.
Source: adr/0320.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridengine.placement.reasons import Reason, UnitsLeft
from gridengine.placement.unit_choice import free_shares, place_of, resource_maps, shares_of
from gridengine.state.bookings import GLOBAL
from gridengine.state.jobs import Job
from gridengine.state.machines.closed_units import closed_units
from gridengine.state.state import State

_LISTED = 8
"""Units that a sentence names."""
_LEVELS = {"cluster_offers": "the cluster", "host_offers": 'host "{place}"'}


def reason_text(state: State, reason: Reason) -> str:
    """`host "h1", gpu: 2 of 2 in use (0 by job 7, 1 by job 9)` where units lack, else the detailed text of the reason.

    Where units are free that do not fit, the detailed text is before the colon.
    """
    left = reason.left if isinstance(reason.left, UnitsLeft) else None
    level = _LEVELS.get(reason.code)
    if (level is None and (left is None or left.configured)) or reason.resource not in state.derived(resource_maps):
        return reason.detailed_text
    place = GLOBAL if reason.code == "cluster_offers" else reason.place
    uses = list(_uses(state, place, reason.resource))
    if not uses:
        return reason.detailed_text
    head = f"{level.format(place=place)}, {reason.resource}" if level is not None else reason.detailed_text
    total = sum(shares_of(state, place, reason.resource).values())
    shown = [*uses[:_LISTED], *([f"{len(uses) - _LISTED} more"] if len(uses) > _LISTED else [])]
    return f"{head}: {len(uses)} of {total} in use ({', '.join(shown)})"


def units_lacking_in_reservation(state: State, job: Job) -> str:
    """The resource of which no host of the job's reservation has units left for a slot, "" if none lacks: an administrator
    removed units on which the reservation counts."""
    reservation = state.reservations.get(job.ar)
    if reservation is None:
        return ""
    for resource in job.hard.keys() & state.derived(resource_maps):
        places = {place_of(state, grant.host, resource) for grant in reservation.granted}
        if all(sum(free_shares(state, place, resource).values()) < int(job.hard[resource]) for place in places):
            return resource
    return ""


def _uses(state: State, place: str, resource: str) -> Iterator[str]:
    """Each share in use with its job, in the order of jobs."""
    keys = state.tasks_on.get(place, set()) if place != GLOBAL else {key for keys in state.tasks_on.values() for key in keys}
    for job_id, task_id in sorted(keys):
        job = state.jobs[job_id]
        for grant in job.tasks[task_id].units:
            if grant.resource == resource and (grant.of_cluster if place == GLOBAL else grant.host == place):
                yield from (f"{unit} by job {job.label(task_id)}" for unit in grant.units)
    host = state.hosts.get(place)
    for held in host.held_units if host is not None else ():
        for grant in held.granted:
            if grant.resource == resource:
                yield from (f"{unit} by job {held.keys[0].job}, which its host has still to end" for unit in grant.units)
    for grant in state.closed_shares.get(place, ()):
        if grant.resource == resource:
            closed = closed_units(state, place, resource)
            yield from (f"{unit} is closed: {closed[unit]}" for unit in dict.fromkeys(grant.units))
