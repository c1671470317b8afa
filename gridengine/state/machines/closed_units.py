"""Closed units: units of resource maps that no job gets, because their device fails or is gone.

Owns the bookings of their free shares (`State.closed_shares`): a closed unit counts as in use, so amounts, names and listings
need no rule of their own. A task that has a closed unit keeps the unit until the task ends. Called by `gridengine.state.apply`,
and by the machines of hosts, tasks, held units and configuration. Source: adr/0345.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.state.bookings import Bookings
from gridengine.state.jobs import GrantedUnits, Task
from gridengine.state.state import State
from gridengine.state.units_in_use import UnitsInUse, held_amounts
from gridengine.syntax.resource_map import RSMAP, parse_map

_NONE: Mapping[str, str] = {}


class ClosedUnit(NamedTuple):
    """A closed `unit` of a `resource` of a `host`, and the `reason`."""

    host: str
    resource: str
    unit: str
    reason: str


def closed_units(state: State, host: str, resource: str) -> Mapping[str, str]:
    """The closed units of a resource of a host, with the reason of each."""
    known = state.hosts.get(host)
    return known.closed_units.get(resource, _NONE) if known is not None else _NONE


def closed_units_of(state: State, task: Task) -> Iterator[ClosedUnit]:
    """The units of a task that are closed. The task goes on, and keeps them until its end."""
    for grant in task.units:
        closed = _NONE if grant.of_cluster else closed_units(state, grant.host, grant.resource)
        units = (unit for unit in dict.fromkeys(grant.units) if unit in closed)
        yield from (ClosedUnit(grant.host, grant.resource, unit, closed[unit]) for unit in units)


def holders_of_unit(state: State, host: str, resource: str, unit: str) -> list[str]:
    """The tasks that have a unit of a host, as `7` or `7.2`, in order."""
    found = []
    for job_id, task_id in sorted(state.tasks_on.get(host, ())):
        job = state.jobs[job_id]
        granted = [each for each in job.tasks[task_id].units if (each.host, each.resource) == (host, resource)]
        if any(unit in each.units and not each.of_cluster for each in granted):
            found.append(job.label(task_id))
    return found


def book_closed_units(state: State, host: str) -> None:
    """Book the free shares of the closed units of a host anew: units have been closed, opened, taken or released."""
    for grant in state.closed_shares.pop(host, ()):
        _book(state, grant, -1)
    known = state.hosts.get(host)
    if known is None or not known.closed_units:
        return
    booked = state.closed_shares[host] = []
    for resource, closed in known.closed_units.items():
        used = state.units_in_use.of(host, resource)
        shares = _shares(state, host, resource)
        listed = (state.host_units.get(host) or {}).get(resource, {})
        wholes = closed.keys() & shares.keys()
        # a slice of a closed whole that jobs can get is closed with the whole
        separate = [unit for unit in closed if unit not in listed or listed[unit].parent not in wholes]
        free = [unit for unit in separate for _ in range(shares.get(unit, 0) - used.get(unit, 0))]
        if free:
            grant = GrantedUnits(host, resource, free)
            booked.append(grant)
            _book(state, grant)


def rebook_closed_units(state: State) -> None:
    """The configuration has changed. The sums are copied first: a branch of the state shares them."""
    if not state.closed_shares:
        return
    state.bookings = Bookings({holder: dict(sums) for holder, sums in state.bookings.items()})
    state.units_in_use = UnitsInUse({key: dict(counts) for key, counts in state.units_in_use.items()})
    state.closed_shares = dict(state.closed_shares)
    for host in list(state.closed_shares):
        book_closed_units(state, host)


def _book(state: State, grant: GrantedUnits, sign: int = 1) -> None:
    state.units_in_use.book((grant,), sign)
    state.bookings.book(held_amounts((grant,)), sign)


def _shares(state: State, host: str, resource: str) -> Mapping[str, int]:
    """The shares of each unit of a resource map of a host, none if it has no such map."""
    known = state.exec_hosts.get(host)
    text = known.complex_values.get(resource) if known is not None else None
    entry = state.complexes.get(resource)
    if text is None or entry is None or entry.type != RSMAP:
        return {}
    try:
        return parse_map(text)
    except InvalidValueError:
        return {}
