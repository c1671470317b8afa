"""Unit choice: the named units of resource maps that a task gets with its grants.

Owns the choice, which is the same for the same state: of each map the free units that are listed first. Amounts are checked
before (`gridengine.placement.match`), so units lack only where an administrator removed units that a reservation counts on.
Called by `daemons.qmaster.admit` at dispatch, and by listings of free units. Source: adr/0320.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from gridengine.placement.values import Offer, format_value
from gridengine.state.bookings import GLOBAL, Once
from gridengine.state.jobs import Grant, GrantedUnits
from gridengine.state.state import State
from gridengine.syntax.resource_map import RSMAP, format_map, parse_map

_NO_UNITS: Mapping[str, int] = {}


def resource_maps(state: State) -> frozenset[str]:
    """The complexes of the type RSMAP."""
    return frozenset(name for name in state.complexes if state.complexes[name].type == RSMAP)


def place_of(state: State, host: str, resource: str) -> str:
    """The place whose units a task on a host gets: the host, else the cluster; "" if neither has the resource."""
    return next((place for place in (host, GLOBAL) if resource in _values(state, place)), "")


def shares_of(state: State, place: str, resource: str) -> Mapping[str, int]:
    """The configured shares of each unit of a place, in the order of the list; empty if it has no such map."""
    text = _values(state, place).get(resource)
    return parse_map(text) if text is not None else _NO_UNITS


def free_shares(state: State, place: str, resource: str) -> dict[str, int]:
    """The free shares of each unit that has any, in the order of the list."""
    used = state.units_in_use.of(place, resource)
    left = ((unit, shares - used.get(unit, 0)) for unit, shares in shares_of(state, place, resource).items())
    return {unit: number for unit, number in left if number > 0}


def offer_text(state: State, offer: Offer, host: str, whole: bool = True) -> str:
    """The value of an offer as -F prints it: of a resource map with the names of its free units. `whole`: see `format_value`."""
    if offer.entry.type != RSMAP or isinstance(offer.value, str):
        return format_value(offer.entry.type, offer.value, whole)
    place = GLOBAL if offer.level == "g" else host
    return format_map(free_shares(state, place, offer.entry.name), int(offer.value))


def _values(state: State, place: str) -> Mapping[str, str]:
    known = state.exec_hosts.get(place)
    return known.complex_values if known is not None else {}


class UnitChooser:
    """The choices for a batch of grants, none of which is in the state yet: a share is given once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._maps = state.derived(resource_maps)
        self._needs: dict[tuple[str, str], tuple[Once, int]] = {}
        self._sources: dict[tuple[str, str], tuple[str, Iterator[str]]] = {}

    def choose(self, granted: list[Grant], charged: Mapping[str, str]) -> list[GrantedUnits] | None:
        """The units for grants of one task; None if units lack. `charged`: as `Task.resources`."""
        if not self._maps or self._maps.isdisjoint(charged):
            return []
        slots: dict[str, int] = {}
        for grant in granted:
            host = grant.host
            slots[host] = slots.get(host, 0) + grant.slots
        found: list[GrantedUnits] = []
        for resource, text in charged.items():
            if resource not in self._maps:
                continue
            once, amount = self._need(resource, text)
            for host, number in slots.items():
                needed = amount if once else amount * number
                place, free = self._source(host, resource)
                if place:  # else a default amount, where nothing has the resource
                    units = list(islice(free, needed))
                    if len(units) < needed:
                        return None
                    found.append(GrantedUnits(host, resource, units, place == GLOBAL))
                if once == "JOB":
                    break
        return found

    def _need(self, resource: str, text: str) -> tuple[Once, int]:
        """Whether an amount is charged for each slot, once or on each host, and the amount."""
        key = resource, text
        found = self._needs.get(key)
        if found is None:
            found = self._needs[key] = self._state.once(resource), round(float(text))
        return found

    def _source(self, host: str, resource: str) -> tuple[str, Iterator[str]]:
        """The place whose units a task on a host gets, and its free shares that this batch has not given."""
        key = host, resource
        found = self._sources.get(key)
        if found is None:
            place = place_of(self._state, host, resource)
            if place == GLOBAL != host:
                found = self._source(GLOBAL, resource)
            else:
                free = free_shares(self._state, place, resource)
                found = place, (unit for unit, shares in free.items() for _ in range(shares))
            self._sources[key] = found
        return found
