"""Units in use: the shares of the named units of resource maps that tasks have, by the place that has the units.

Owns these counts. A place is a host or the cluster ("global"). The amounts of a resource map are booked like any consumable
(`gridengine.state.bookings`); `gridengine.placement.unit_choice` names the units at dispatch, and only `gridengine.state.apply`
books and releases them. Units that were removed from the configuration stay in use until their tasks end. Source: adr/0320.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from gridengine.state.bookings import GLOBAL, Booking, host_holder
from gridengine.state.jobs import GrantedUnits

_NONE: Mapping[str, int] = MappingProxyType({})


class UnitsInUse(dict[tuple[str, str], dict[str, int]]):
    """(place, resource) -> unit -> shares in use. Units without use have no entry."""

    __slots__ = ()

    def of(self, place: str, resource: str) -> Mapping[str, int]:
        """The shares in use of each unit of a resource."""
        return self.get((place, resource), _NONE)

    def book(self, granted: Iterable[GrantedUnits], sign: int = 1) -> None:
        """Book (`sign` 1) or release (-1)."""
        for grant in granted:
            key = place_of(grant), grant.resource
            counts = self.setdefault(key, {})
            for unit in grant.units:
                counts[unit] = counts.get(unit, 0) + sign
                if not counts[unit]:
                    del counts[unit]
            if not counts:
                del self[key]


def place_of(grant: GrantedUnits) -> str:
    """The host or cluster that has the units."""
    return GLOBAL if grant.of_cluster else grant.host


def units_on(granted: Iterable[GrantedUnits], host: str) -> dict[str, list[str]]:
    """Resource -> units that a task has on a host."""
    return {grant.resource: grant.units for grant in granted if grant.host == host}


def held_amounts(granted: Iterable[GrantedUnits]) -> Iterator[Booking]:
    """The bookings, in their host alone, of units that a host holds for finished attempts."""
    for grant in granted:
        yield host_holder(grant.host), {grant.resource: float(len(grant.units))}
