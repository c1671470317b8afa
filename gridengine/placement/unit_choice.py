"""Unit choice: the named units of resource maps that a task gets with its grants.

Owns the choice, which is the same for the same state: of each map the free units that are listed first; where units have
properties, of the classes that fit the request, and near each other. Amounts are checked before (`gridengine.placement.match`),
so units lack only where an administrator removed units that a reservation counts on.
Called by `daemons.qmaster.admit` at dispatch, and by listings of free units. Source: adr/0320, adr/0340.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.placement_request import Request
from gridengine.placement.unit_bookings import class_use, needs
from gridengine.placement.unit_classes import Pick
from gridengine.placement.values import Offer, format_value
from gridengine.state.bookings import GLOBAL, Once, host_holder
from gridengine.state.jobs import Grant, GrantedUnits
from gridengine.state.machines.closed_units import closed_units
from gridengine.state.state import State
from gridengine.syntax.resource_map import RSMAP, format_map, parse_map
from gridengine.syntax.unit_list import UnitProperties, excluded_units

_NO_UNITS: Mapping[str, int] = {}
_UNKNOWN = UnitProperties()
_FEW = 16
"""Up to so many free units each is tried as the first of a choice."""


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
    """The free shares of each unit that has any, in the order of the list. A unit with a slice in use has none, and the other way
    round."""
    used = state.units_in_use.of(place, resource)
    left = ((unit, shares - used.get(unit, 0)) for unit, shares in shares_of(state, place, resource).items())
    listed = state.host_units[place].get(resource) if state.has("host_units", place) else None
    excluded = excluded_units(listed, used) if listed and used else ()
    return {unit: number for unit, number in left if number > 0 and unit not in excluded}


def offer_text(state: State, offer: Offer, host: str, whole: bool = True) -> str:
    """The value of an offer as -F prints it: of a resource map with the names of its free units. `whole`: see `format_value`."""
    if offer.entry.type != RSMAP or isinstance(offer.value, str):
        return format_value(offer.entry.type, offer.value, whole)
    place, name = (GLOBAL if offer.level == "g" else host), offer.entry.name
    free = free_shares(state, place, name)
    # a unit in use takes its slices along, which the amount does not count
    amount = min(offer.value, sum(free.values())) if state.has("host_units", place) else offer.value
    closed = "; ".join(f"{unit}: {reason}" for unit, reason in closed_units(state, place, name).items())
    return format_map(free, int(amount)) + (f" closed: {closed}" if closed else "")


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
        self._free: dict[tuple[str, str], dict[str, int]] = {}

    def choose(
        self,
        config_snapshot: PlacementConfig,
        ledger: Ledger,
        request: Request,
        granted: list[Grant],
        charged: Mapping[str, str],
        planned: Iterable[GrantedUnits] = (),
    ) -> list[GrantedUnits] | None:
        """The units for grants of one task; None if units lack. `ledger`: with the units of the batch so far, by class;
        `charged`: as `Task.resources`; `planned`: the scheduler's choice of classes, which holds if they are still free."""
        if not self._maps or self._maps.isdisjoint(charged):
            return []
        of_classes: dict[tuple[str, str], list[Pick] | None] = {}
        for host, classes, amount, times in needs(config_snapshot, request, granted):
            used = class_use(ledger, request, host_holder(host))
            picks = None
            for each in planned:
                if each.resource == classes.resource and each.host == host and len(each.units) == amount * times:
                    picks = classes.planned_picks(request.unit_demands, used, each.units)
            of_classes[host, classes.resource] = picks or classes.picks(request.unit_demands, used, amount, times)
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
                if (host, resource) in of_classes:
                    place, units = host, self._of_classes(host, resource, of_classes[host, resource] or ())
                else:
                    place, free = self._source(host, resource)
                    units = list(islice(free, needed))
                if place:  # else a default amount, where nothing has the resource
                    if len(units) < needed:
                        return None
                    found.append(GrantedUnits(host, resource, units, place == GLOBAL))
                if once == "JOB":
                    break
        for given in found:
            if (given.host, given.resource) in of_classes:
                for unit in given.units:
                    self._free[given.host, given.resource][unit] -= 1
        return found

    def _of_classes(self, host: str, resource: str, picks: Iterable[Pick]) -> list[str]:
        """Free units of these classes, near each other where possible."""
        free = self._free.get((host, resource))
        if free is None:
            free = self._free[host, resource] = free_shares(self._state, host, resource)
        found: list[str] = []
        for unit_class, number in picks:
            if number == 1 and not found:
                found += islice((unit for unit in unit_class.units if free.get(unit)), 1)
                continue
            names = [unit for unit in unit_class.units for _ in range(free.get(unit, 0))]
            found += nearest(names, number, self._state.host_units[host][resource], found) if len(names) > number else names
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


def nearest(free: list[str], number: int, units: Mapping[str, UnitProperties], beside: Iterable[str] = ()) -> list[str]:
    """So many of the free units, and the closest to each other and to the units `beside`; of equal choices the first. Linked
    units are closer than units of one NUMA node."""

    def closeness(one: str, other: str) -> int:
        first, second = units.get(one, _UNKNOWN), units.get(other, _UNKNOWN)
        if other in first.links or one in second.links:
            return 2
        return int(first.numa_node == second.numa_node >= 0)

    if not any(each.links or each.numa_node >= 0 for each in units.values()):
        return free[:number]
    best: tuple[int, list[str]] = (-1, [])
    for first in range(len(free) if number > 1 and len(free) <= _FEW else 1):
        rest, chosen, total = list(free), list(beside), 0
        for position in range(number):
            sums = [sum(closeness(unit, other) for other in chosen) for unit in rest]
            index = first if not position and not beside else sums.index(max(sums))
            total += sums[index]
            chosen.append(rest.pop(index))
        if total > best[0]:
            best = total, chosen[len(chosen) - number :]
    return best[1]
