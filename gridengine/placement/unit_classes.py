"""Unit classes: the named units of a resource on a host that no request can tell apart, and how many of them are free.

Owns the classes, which units a request matches, and the choice among classes: the least valuable that fit come first, so that
others stay free for requests that need them. Each class is booked under a name of its own beside the amount of the resource,
so placement counts and never searches names. A unit and its slices exclude each other. Must not know bookings: `left` counts.
Called by `match`, `unit_bookings` and `unit_choice`. Source: adr/0340.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from typing import NamedTuple

from gridengine.placement.demand import Demand
from gridengine.placement.values import RELATIONS, Value, typed_value
from gridengine.state.configured.objects import ComplexEntry
from gridengine.syntax.unit_list import PlacementProperties
from gridengine.values.ranges import MAX_SLOTS

MARK = " "
"""Part of the names of class bookings, and of no complex."""
NEAR = "_near"
"""The BOOL complex `gpu_near` demands that the units of `gpu` that are requested together are near each other."""

Left = Callable[[str], float]
"""The amount in use or reserved of a class, by the name of its bookings."""
Pick = tuple["UnitClass", int]
_NO_PROPERTIES = PlacementProperties()


class UnitClass(NamedTuple):
    """Units with equal values. `name`: of its bookings; `units`: in the order of the list; `shares`: of all of them; `values`:
    complex -> value; `worth`: higher for units that satisfy more requests; `place`: number of the group of units near each
    other, -1 for none; `whole`: name of the class of which these are slices, "" for none; `excludes`: names of the classes that
    must not be in use while a unit of this class is.
    """

    name: str
    units: tuple[str, ...]
    shares: int
    values: Mapping[str, Value]
    worth: int = 0
    place: int = -1
    whole: str = ""
    excludes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class UnitDemands:
    """The properties that a request demands of its units: `hard` and `soft` demands that name attributes of units, `near`: the
    resources whose units have to be near each other. Equal demands are one object, so caches compare no texts."""

    hard: tuple[Demand, ...] = ()
    soft: tuple[Demand, ...] = ()
    near: frozenset[str] = frozenset()

    @classmethod
    def of(cls, hard: Iterable[Demand], soft: Iterable[Demand] = (), near: Iterable[str] = ()) -> UnitDemands:
        """The object of these demands."""
        return _unit_demands(*(tuple((each.entry, each.text) for each in demands) for demands in (hard, soft)), frozenset(near))


Pair = tuple[ComplexEntry, str]
"""A complex and the text of a request for it."""


@lru_cache(maxsize=4096)
def _unit_demands(hard: tuple[Pair, ...], soft: tuple[Pair, ...], near: frozenset[str]) -> UnitDemands:
    return UnitDemands(tuple(Demand(*each) for each in hard), tuple(Demand(*each) for each in soft), near)


NO_DEMANDS = UnitDemands.of(())
_MOST_KNOWN = 1000
"""Demands of which a host remembers the matching classes."""


class UnitClasses:
    """The classes of one resource on a host. `attributes`: complexes of which a unit has a value; `of_unit`: unit -> its class;
    `is_plain`: no unit excludes another unit, and the host is not divided into places."""

    __slots__ = ("resource", "classes", "attributes", "of_unit", "is_plain", "_has_slices", "_matching")

    def __init__(self, resource: str, classes: Iterable[UnitClass]) -> None:
        self.resource, self.classes = resource, tuple(classes)
        self.attributes = frozenset(name for each in self.classes for name in each.values)
        self.of_unit = {unit: each for each in self.classes for unit in each.units}
        self._has_slices = any(each.excludes for each in self.classes)
        self.is_plain = not self._has_slices and all(each.place < 0 for each in self.classes)
        self._matching: dict[UnitDemands, tuple[UnitClass, ...]] = {}

    def within(self, held: Mapping[str, float]) -> UnitClasses:
        """The same classes with the shares of a reservation, by the names of their bookings."""
        return UnitClasses(self.resource, (each._replace(shares=int(held.get(each.name, 0))) for each in self.classes))

    def matching(self, demands: UnitDemands) -> tuple[UnitClass, ...]:
        """The classes that satisfy the hard demands: first those classes that satisfy soft demands, then the least valuable."""
        found = self._matching.get(demands)
        if found is None:
            if len(self._matching) >= _MOST_KNOWN:
                self._matching.clear()
            suiting = [each for each in self.classes if not self._violations(demands.hard, each)]
            suiting.sort(key=lambda each: (self._violations(demands.soft, each), each.worth))
            found = self._matching[demands] = tuple(suiting)
        return found

    def _violations(self, demands: Iterable[Demand], unit_class: UnitClass) -> int:
        """Demands that the class does not satisfy, of attributes that units here have: others concern the host."""
        values = unit_class.values
        return sum(
            not (demand.name in values and demand.accepts(values[demand.name]))
            for demand in demands
            if demand.name in self.attributes
        )

    def free(self, demands: UnitDemands, left: Left) -> list[Pick]:
        """The free shares of each matching class that has any, in the order of choice. Of a unit and its slices only one side is
        counted: that with more free shares."""
        found = []
        for each in self.matching(demands):
            free = each.shares - left(each.name)
            if free > 0 and not (each.excludes and any(left(name) > 0 for name in each.excludes)):
                found.append((each, int(free)))
        return self._one_side(found, demands, left) if self._has_slices else found

    def _one_side(self, found: list[Pick], demands: UnitDemands, left: Left) -> list[Pick]:
        of_slices = Counter[str]()
        for each, free in found:
            if each.whole:
                of_slices[each.whole] += free
        wholes = {each.name: free for each, free in found}
        kept = [
            (each, free)
            for each, free in found
            if (of_slices[each.whole] >= wholes.get(each.whole, 0) if each.whole else of_slices[each.name] < free)
        ]
        # a unit that is in slices already comes first: others stay whole
        begun = {each.whole for each in self.classes if each.whole and left(each.name) > 0}
        kept.sort(key=lambda pick: (self._violations(demands.soft, pick[0]), pick[0].worth, pick[0].whole not in begun))
        return kept

    def slots(self, demands: UnitDemands, left: Left, amount: float, once: bool) -> int:
        """Slots for which the free units suffice, of which each takes `amount`, or all together if `once`."""
        if once and self.is_plain and not demands.near:
            for each in self.matching(demands):
                amount -= max(0, each.shares - left(each.name))
                if amount <= 0:
                    return MAX_SLOTS
            return 0
        free = self.free(demands, left)
        if self.resource in demands.near and amount > 1:
            fitting = sum(int(number // amount) for number in _by_place(free).values())
        else:
            fitting = int(sum(number for _, number in free) // amount)
        return fitting if not once else MAX_SLOTS if fitting >= 1 else 0

    def picks(self, demands: UnitDemands, left: Left, amount: int, times: int) -> list[Pick] | None:
        """The number of shares of each class for `times` times `amount`; None if they lack. Each amount is of one place where
        the request demands a place, and else where possible."""
        if self.is_plain and not demands.near:
            number = amount * times
            found: list[Pick] = []
            for each in self.matching(demands):
                shares = int(each.shares - left(each.name))
                if shares >= number:
                    return [*found, (each, number)]
                if shares > 0:
                    found.append((each, shares))
                    number -= shares
            return None
        free = self.free(demands, left)
        if amount > 1 and any(each.place >= 0 for each, _ in free):
            return _picks_by_place(free, amount, times, self.resource in demands.near)
        return _taken(free, amount * times)


    def planned_picks(self, demands: UnitDemands, left: Left, units: list[str]) -> list[Pick] | None:
        """The shares of the classes for which these units stand; None if they are not all free for the request."""
        if self.is_plain and len(units) == 1:
            planned = self.of_unit.get(units[0])
            fits = planned is not None and planned in self.matching(demands) and left(planned.name) < planned.shares
            return [(planned, 1)] if fits and planned is not None else None
        counts = Counter(self.of_unit[unit].name for unit in units if unit in self.of_unit)
        found = [(each, counts[each.name]) for each, free in self.free(demands, left) if 0 < counts[each.name] <= free]
        return found if len(found) == len(counts) else None


def _by_place(free: Iterable[Pick]) -> Counter[int]:
    found = Counter[int]()
    for each, number in free:
        if each.place >= 0:
            found[each.place] += number
    return found


def _taken(free: Iterable[Pick], number: int) -> list[Pick] | None:
    """So many shares of the classes that come first; None if there are fewer."""
    found = []
    for each, shares in free:
        if shares > 0:
            found.append((each, min(shares, number)))
            number -= shares
            if number <= 0:
                return found
    return None


def _picks_by_place(free: list[Pick], amount: int, times: int, demanded: bool) -> list[Pick] | None:
    """Each amount from the place with the fewest free shares that suffice; from several places if that is not `demanded`."""
    shares = {each.name: number for each, number in free}
    found = Counter[str]()
    for _ in range(times):
        left = [(each, shares[each.name]) for each, _ in free]
        places = [(number, place) for place, number in _by_place(left).items() if number >= amount]
        if not places and demanded:
            return None
        place = min(places)[1] if places else None
        taken = _taken((pick for pick in left if place is None or pick[0].place == place), amount)
        if taken is None:
            return None
        for each, number in taken:
            found[each.name] += number
            shares[each.name] -= number
    return [(each, found[each.name]) for each, _ in free if found[each.name]]


# --- how classes are made ----------------------------------------------------------------------------------------


def make_classes(
    resource: str,
    shares: Mapping[str, int],
    units: Mapping[str, PlacementProperties],
    entry: Callable[[str], ComplexEntry | None],
    by_place: bool,
) -> UnitClasses:
    """The classes of a resource on a host. `shares`: of the units in its map; `units`: their properties; `entry`: a complex by
    name or shortcut; `by_place`: units near each other are classes of their own."""
    places = _places(units) if by_place else {}
    wholes = {each.parent for each in units.values() if each.parent}
    members: dict[tuple[object, ...], list[str]] = {}
    values: dict[str, dict[str, Value]] = {}
    for unit in dict.fromkeys((*shares, *units)):  # units that were removed from the map may be in use, and exclude others
        properties = units.get(unit, _NO_PROPERTIES)
        values[unit] = _typed(properties, entry)
        family = properties.parent or (unit if unit in wholes else "")
        key: tuple[object, ...] = (*sorted(values[unit].items()), None, places.get(unit, -1), family, unit in wholes)
        members.setdefault(key, []).append(unit)
    relops = {known.name: known.relop for each in units.values() for name, _ in each.values if (known := entry(name))}
    worth = _worth([values[listed[0]] for listed in members.values()], relops)
    names = {made_of: f"{resource}{MARK}{number}" for number, made_of in enumerate(members)}
    of_unit = {unit: names[made_of] for made_of, listed in members.items() for unit in listed}
    found = []
    for (made_of, listed), rank in zip(members.items(), worth, strict=True):
        first = listed[0]
        whole = of_unit[units[first].parent] if first in units and units[first].parent else ""
        slices = dict.fromkeys(of_unit[name] for name, each in units.items() if each.parent == first)
        side = 0 if whole else 2 if slices else 1  # of equal units slices are worth the least, and units with slices most
        total = sum(shares.get(unit, 0) for unit in listed)
        found.append(
            UnitClass(
                names[made_of], tuple(listed), total, values[first], 3 * rank + side, places.get(first, -1), whole,
                (whole,) if whole else tuple(slices),
            )
        )
    return UnitClasses(resource, found)


def _typed(properties: PlacementProperties, entry: Callable[[str], ComplexEntry | None]) -> dict[str, Value]:
    known = ((entry(name), text) for name, text in properties.values)
    return {each.name: typed_value(each.type, text) for each, text in known if each is not None}


def _worth(values: list[dict[str, Value]], relops: Mapping[str, str]) -> list[int]:
    """The number of values here that satisfy fewer requests, over all attributes with an order."""
    found = [0] * len(values)
    for name, relop in relops.items():
        if relop not in RELATIONS or relop in ("==", "!="):
            continue
        numbers = {float(each[name]) for each in values if name in each}
        ranks = {number: rank for rank, number in enumerate(sorted(numbers, reverse=relop in (">", ">=")), 1)}
        for position, each in enumerate(values):
            if name in each:
                found[position] += ranks[float(each[name])]
    return found


def _places(units: Mapping[str, PlacementProperties]) -> dict[str, int]:
    """Unit -> number of its group: units of one NUMA node, or linked, also indirectly, are near each other. A unit of
    which neither is known is near none."""
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for unit, properties in units.items():
        ends = [f"numa {properties.numa_node}"] if properties.numa_node >= 0 else []
        ends += [f"unit {other}" for other in (*properties.links, unit)] if properties.links or ends else []
        for end in ends:
            group.setdefault(end, end)
        for end in ends[1:]:
            group[root(end)] = root(ends[0])
    numbers: dict[str, int] = {}
    return {unit: numbers.setdefault(root(f"unit {unit}"), len(numbers)) for unit in units if f"unit {unit}" in group}


def units_of(unit_class: UnitClass, number: int) -> list[str]:
    """Units of a class that stand for `number` of its shares."""
    if number == 1:
        return [unit_class.units[0]]
    return [unit for unit, _ in zip(cycle(unit_class.units), range(number), strict=False)]
