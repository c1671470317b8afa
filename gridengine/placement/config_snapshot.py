"""The configuration snapshot for placement: complex entries, and the configured values of each level, typed.

Owns their caches. A PlacementConfig is valid until the configuration changes; the state caches it until then, see
`PlacementConfig.of(state)`. Must not know load, use or states: see `gridengine.placement.ledger`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import Any

from gridengine.placement.unit_classes import NEAR, UnitClasses, make_classes
from gridengine.placement.values import EXCLUSIVE, STRING_TYPES, Value, typed_value
from gridengine.state.bookings import Booking, Bookings, Holder, holders_at, host_holder
from gridengine.state.configured.objects import ComplexEntry, ExecHost
from gridengine.state.jobs import GrantedUnits
from gridengine.state.queues import InstanceConfig
from gridengine.state.quotas import Claimant
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.syntax.resource_map import RSMAP, parse_map
from gridengine.values.instance_name import queue_of

QUEUE_ATTRIBUTES = (
    "qname", "hostname", "tmpdir", "seq_no", "rerun", "calendar",
    *(f"{kind}_{limit}" for limit in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem") for kind in "sh"),
    "min_cpu_interval", "notify",
)
"""Attributes of a queue that are resources. Source: complex(5), CX-21."""


_NO_UNITS: Mapping[str, UnitClasses] = {}
_NO_AMOUNTS: Mapping[str, float] = {}


class Capacity:
    """Configured values of one object: `fixed` values, among them `consumables` (amounts), `exclusives`, `forced`. `units`: the
    classes of the units of resource maps, where the units of a host have properties."""

    __slots__ = ("fixed", "attributes", "consumables", "exclusives", "forced", "access", "units")

    def __init__(
        self, config_snapshot: PlacementConfig, values: dict[str, str], access: ExecHost | InstanceConfig | None
    ) -> None:
        self.access = access
        self.attributes: dict[str, Value] = {}
        self.fixed: dict[str, Value] = {}
        self.consumables: dict[str, float] = {}
        self.exclusives: list[str] = []
        self.forced: list[str] = []
        self.units: Mapping[str, UnitClasses] = _NO_UNITS
        for given, text in values.items():
            entry = config_snapshot.entry(given)
            if entry is None:
                continue
            value = self.fixed[entry.name] = typed_value(entry.type, text)
            if entry.requestable == "FORCED":
                self.forced.append(entry.name)
            if entry.relop == EXCLUSIVE:
                if value:
                    self.exclusives.append(entry.name)
            elif entry.is_consumable and not isinstance(value, str):
                self.consumables[entry.name] = value

    def has_unit_attribute(self, name: str) -> bool:
        """Whether a unit of the host has a value of a complex."""
        return any(name in classes.attributes for classes in self.units.values())

    def with_amounts(self, amounts: Mapping[str, float], units: Mapping[str, float] = _NO_AMOUNTS) -> Capacity:
        """The same object with these amounts of consumables, and of `units` by class: the share of a reservation."""
        capacity = Capacity.__new__(Capacity)
        capacity.access, capacity.attributes, capacity.exclusives = self.access, self.attributes, self.exclusives
        capacity.forced = self.forced
        capacity.consumables = {name: amounts.get(name, 0.0) for name in self.consumables}
        capacity.fixed = {**self.fixed, **capacity.consumables}
        capacity.units = {name: classes.within(units) for name, classes in self.units.items()}
        return capacity

    @classmethod
    def of_slots(cls, slots: int) -> Capacity:
        """The capacity of an object with slots alone."""
        capacity = cls.__new__(cls)
        capacity.access, capacity.attributes, capacity.exclusives, capacity.forced = None, {}, [], []
        capacity.fixed, capacity.consumables = {"slots": float(slots)}, {"slots": float(slots)}
        capacity.units = _NO_UNITS
        return capacity


_PRIVATE_SLOTS = ("_shortcuts", "_profiles", "_groups", "_overlay", "_classes")


class _Capacities(dict[Holder, Capacity]):
    """The capacities by holder, each read at its first use."""

    __slots__ = ("_config_snapshot",)

    def __init__(self, config_snapshot: PlacementConfig) -> None:
        self._config_snapshot = config_snapshot

    def __missing__(self, holder: Holder) -> Capacity:
        found = self[holder] = self._config_snapshot.read(holder)
        return found


class PlacementConfig:
    """Typed configuration of the cluster. `defaults`: amounts of consumables for jobs without a request (CX-40).

    `capacities[holder]`: configured values of a queue instance, a host, the cluster or a PE. Objects with equal
    configuration share a mapping. `has_units`: units of some host have properties; `unit_attributes`: complexes of which a unit
    has a value.
    """

    __slots__ = (
        "state", "entries", "defaults", "scheduler", "claims", "requests", "capacities", "has_units", "unit_attributes",
        *_PRIVATE_SLOTS,
    )

    def __init__(self, state: State) -> None:
        self.state = state
        self.entries: dict[str, ComplexEntry] = {name: state.complexes[name] for name in state.complexes}
        self._shortcuts = {entry.shortcut: entry for entry in self.entries.values()}
        self.defaults: dict[str, float] = {}
        for entry in self.entries.values():
            if entry.is_consumable and entry.relop != EXCLUSIVE and entry.name != "slots":
                amount = typed_value(entry.type, entry.default) if entry.default.upper() != "NONE" else 0.0
                if amount and not isinstance(amount, str):
                    self.defaults[entry.name] = amount
        self.scheduler = state.scheduler
        self.capacities = _Capacities(self)
        self._profiles: dict[tuple[object, ...], Capacity] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._overlay: _Overlay | None = None
        self.claims: dict[Claimant, Any] = {}  # cache of `gridengine.placement.quotas`
        self.requests: dict[tuple[object, ...], Any] = {}  # cache of `gridengine.placement.placement_request`
        self._classes: dict[tuple[object, ...], UnitClasses] = {}
        self.has_units = bool(state.kind("host_units"))
        self.unit_attributes = self._unit_attributes()

    @classmethod
    def of(cls, state: State) -> PlacementConfig:
        """The cached snapshot of a state; with a thousand hosts making one costs more than most questions."""
        return state.derived(cls)

    def within(self, reservation: AdvanceReservation) -> PlacementConfig:
        """The cluster as a reservation sees it, with its share as capacities. Valid as long as this configuration."""
        made = copy(self)
        made._overlay = _Overlay(self, reservation)
        made.capacities = _Capacities(made)
        return made

    def entry(self, name: str) -> ComplexEntry | None:
        """A complex entry by name or shortcut."""
        return self.entries.get(name) or self._shortcuts.get(name)

    def host(self, name: str) -> Capacity:
        """The capacity of a host, or of the cluster for "global"."""
        return self.capacities[host_holder(name)]

    def queue(self, instance: str) -> Capacity:
        """The capacity of a queue instance."""
        return self.capacities[holders_at(instance)[0]]

    def read(self, holder: Holder) -> Capacity:
        """Read the capacity of a holder that is not cached yet."""
        if self._overlay is not None:
            return self._overlay.capacity(holder)
        if holder.kind == "instance":
            queue = queue_of(holder.name)
            config = self.state.configs[holder.name]
            key: tuple[object, ...] = (queue, *(config.text | {"hostlist": ""}).values())
            return self._profiles.get(key) or self._profiles.setdefault(key, self._queue_capacity(queue, config))
        if holder.kind == "pe":
            return Capacity.of_slots(self.state.pes[holder.name].slots)
        text = self.state.kind("exec_host").get(holder.name, {}) | {"hostname": ""}
        units = self._units(holder.name) if self.has_units else _NO_UNITS
        key = ("", *text.values(), *map(id, units.values()))
        return self._profiles.get(key) or self._profiles.setdefault(key, self._host_capacity(holder.name, units))

    def _host_capacity(self, name: str, units: Mapping[str, UnitClasses]) -> Capacity:
        host: ExecHost | None = self.state.exec_hosts.get(name)
        capacity = Capacity(self, host.complex_values if host else {}, host)
        capacity.units = units
        return capacity

    def _units(self, host: str) -> Mapping[str, UnitClasses]:
        """The classes of the units of a host. Hosts whose units differ in names of devices alone share them."""
        listed = self.state.host_units.get(host) or {}
        known = self.state.exec_hosts.get(host) if listed else None
        found = {}
        for resource, text in known.complex_values.items() if known is not None else ():
            entry = self.entry(resource)
            if entry is None or entry.type != RSMAP or resource not in listed:
                continue
            units = {name: each.for_placement() for name, each in listed[resource].items()}
            key = (resource, text, *units.items())
            if key not in self._classes:
                by_place = resource + NEAR in self.entries
                self._classes[key] = make_classes(resource, parse_map(text), units, self.entry, by_place)
            found[resource] = self._classes[key]
        return found

    def _unit_attributes(self) -> frozenset[str]:
        """The complexes of which a unit of some host has a value."""
        listed = (self.state.host_units[host] for host in self.state.kind("host_units"))
        names = {name for units in listed for of in units.values() for each in of.values() for name in each.values}
        return frozenset(entry.name for name in names if (entry := self.entry(name)) is not None)

    def _queue_capacity(self, queue: str, config: InstanceConfig) -> Capacity:
        """`attributes`: the queue's own (CX-21)."""
        capacity = Capacity(self, config.complex_values, config)
        slots = self.entries.get("slots")
        if slots is not None and slots.is_consumable:
            capacity.fixed["slots"] = capacity.consumables["slots"] = float(config.slots)
        for name in QUEUE_ATTRIBUTES:
            entry = self.entries.get(name)
            if entry is None or name == "hostname" or name in capacity.fixed:
                continue
            text = queue if name == "qname" else config.text.get(name, "NONE")
            if text.upper() != "NONE" or entry.type in STRING_TYPES:
                capacity.attributes[name] = typed_value(entry.type, text)
        return capacity

    def groups(self, host: str) -> tuple[str, ...]:
        """The host groups that contain a host, each with its @."""
        found = self._groups.get(host)
        if found is None:
            found = self._groups[host] = tuple(self.state.groups.groups_of(host))
        return found

    def adjustments(self) -> dict[str, float]:
        """job_load_adjustments, typed: load name -> correction for one job; empty if it would decay at once.

        Source: sge_sched_conf(5), LS-6; O for the latter.
        """
        found: dict[str, float] = {}
        if not self.scheduler.load_adjustment_decay_time_s:
            return found
        for given, text in self.scheduler.job_load_adjustments.items():
            entry = self.entry(given)
            value = typed_value(entry.type, text) if entry is not None else ""
            if entry is not None and not isinstance(value, str):
                found[entry.name] = value
        return found


class _Overlay:
    """The share of a reservation in each object, in place of the object's capacity."""

    __slots__ = ("_config_snapshot", "_held", "_units")

    def __init__(self, config_snapshot: PlacementConfig, reservation: AdvanceReservation) -> None:
        self._config_snapshot, self._held = config_snapshot, config_snapshot.state.reserved.held[reservation.id]
        self._units = Bookings()
        self._units.book(bookings_of_units(config_snapshot, reservation.units))

    def capacity(self, holder: Holder) -> Capacity:
        """The share of a holder; a PE is not limited by a reservation."""
        capacity = self._config_snapshot.capacities[holder]
        return capacity.with_amounts(self._held.at(holder), self._units.at(holder)) if holder.kind != "pe" else capacity


def bookings_of_units(config_snapshot: PlacementConfig, granted: Iterable[GrantedUnits]) -> Iterator[Booking]:
    """The bookings of named units under the names of their classes; none for units that have none."""
    for grant in granted if config_snapshot.has_units else ():
        holder = host_holder(grant.host)
        classes = config_snapshot.capacities[holder].units.get(grant.resource) if not grant.of_cluster else None
        if classes is None:
            continue
        if len(grant.units) == 1:
            known = classes.of_unit.get(grant.units[0])
            counts: dict[str, int] = {known.name: 1} if known is not None else {}
        else:
            counts = Counter(classes.of_unit[unit].name for unit in grant.units if unit in classes.of_unit)
        if counts:
            yield holder, counts
