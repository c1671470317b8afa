"""The configuration as placement reads it: complex entries, and values that are configured on each level, typed.

Owns the caches of that. A Site is valid until the configuration changes: `Site.of(state)` is the one that the state keeps
until then. Must not look at load, use or states: see `gridengine.placement.ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from gridengine.placement.values import STRING_TYPES, Value, typed_value
from gridengine.state.bookings import GLOBAL
from gridengine.state.configured.objects import ComplexEntry, ExecHost
from gridengine.state.queues import InstanceConfig
from gridengine.state.quotas import Claimant
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State

EXCLUSIVE = "EXCL"

QUEUE_ATTRIBUTES = (
    *("qname", "hostname", "tmpdir", "seq_no", "rerun", "calendar"),
    *(f"{kind}_{limit}" for limit in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem") for kind in "sh"),
    *("min_cpu_interval", "notify"),
)
"""Attributes of a queue that are resources. Source: complex(5), CX-21."""


class Level:
    """What is configured on one object: `fixed` values, of these `consumables` (capacities), `exclusives`, `forced`."""

    __slots__ = ("fixed", "attributes", "consumables", "exclusives", "forced", "access")

    def __init__(self, site: Site, values: dict[str, str], access: ExecHost | InstanceConfig | None) -> None:
        self.access = access
        self.attributes: dict[str, Value] = {}
        self.fixed: dict[str, Value] = {}
        self.consumables: dict[str, float] = {}
        self.exclusives: list[str] = []
        self.forced: list[str] = []
        for given, text in values.items():
            entry = site.entry(given)
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


    def limited(self, amounts: Mapping[str, float]) -> Level:
        """The same object with these amounts for capacities: what a reservation holds of it."""
        level = Level.__new__(Level)
        level.access, level.attributes, level.exclusives = self.access, self.attributes, self.exclusives
        level.forced = self.forced
        level.consumables = {name: amounts.get(name, 0.0) for name in self.consumables}
        level.fixed = {**self.fixed, **level.consumables}
        return level


_OWN = ("_shortcuts", "_hosts", "_profiles", "_queues", "_groups", "_overlay")


class Site:
    """Typed configuration of the cluster. `defaults`: amounts of consumables that jobs get without asking (CX-40)."""

    __slots__ = ("state", "entries", "defaults", "scheduler", "claims", *_OWN)

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
        self._hosts: dict[str, Level] = {}
        self._profiles: dict[tuple[str, ...], Level] = {}
        self._queues: dict[int, tuple[InstanceConfig, Level]] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._overlay: _Overlay | None = None
        self.claims: dict[Claimant, Any] = {}  # what quotas have to say: `gridengine.placement.quotas`

    @classmethod
    def of(cls, state: State) -> Site:
        """The site of a state as it is configured now; with a thousand hosts making one costs more than most questions."""
        found: Site | None = state.kept.get(Site)
        if found is None:
            found = state.kept[Site] = cls(state)
        return found

    def within(self, reservation: AdvanceReservation) -> Site:
        """The cluster as a reservation sees it: capacities are what it holds. Valid as long as this one."""
        made = copy(self)
        made._hosts, made._queues = {}, {}
        made._overlay = _Overlay(self, reservation)
        return made

    def entry(self, name: str) -> ComplexEntry | None:
        """A complex entry by name or shortcut."""
        return self.entries.get(name) or self._shortcuts.get(name)

    def host(self, name: str) -> Level:
        """The level of a host, or of the cluster for "global". Hosts that are configured alike share one object."""
        level = self._hosts.get(name)
        if level is None and self._overlay is not None:
            level = self._hosts[name] = self._overlay.host(name)
        if level is None:
            text = self.state.kind("exec_host").get(name, {})
            key = ("", *(value for attribute, value in text.items() if attribute != "hostname"))
            level = self._profiles.get(key)
            if level is None:
                host: ExecHost | None = self.state.exec_hosts.get(name)
                level = self._profiles[key] = Level(self, host.complex_values if host else {}, host)
            self._hosts[name] = level
        return level

    @property
    def cluster(self) -> Level:
        return self.host(GLOBAL)

    def queue(self, queue: str, config: InstanceConfig) -> Level:
        """The level of the instances of a queue that are configured alike. `attributes`: the queue's own (CX-21)."""
        found = self._queues.get(id(config))
        if found is None and self._overlay is not None:
            found = self._queues[id(config)] = (config, self._overlay.queue(queue, config))
        if found is None:
            text = config.text
            key = (queue, *(value for name, value in text.items() if name != "hostlist"))
            level = self._profiles.get(key)
            if level is None:
                level = self._profiles[key] = self._queue_level(queue, config)
            # the configuration is kept as well, so that its id stays its own
            found = self._queues[id(config)] = (config, level)
        return found[1]

    def _queue_level(self, queue: str, config: InstanceConfig) -> Level:
        level = Level(self, config.complex_values, config)
        slots = self.entries.get("slots")
        if slots is not None and slots.is_consumable:
            level.fixed["slots"] = level.consumables["slots"] = float(config.slots)
        for name in QUEUE_ATTRIBUTES:
            entry = self.entries.get(name)
            if entry is None or name == "hostname" or name in level.fixed:
                continue
            text = queue if name == "qname" else config.text.get(name, "NONE")
            if text.upper() != "NONE" or entry.type in STRING_TYPES:
                level.attributes[name] = typed_value(entry.type, text)
        return level

    def groups(self, host: str) -> tuple[str, ...]:
        """The host groups that hold a host, each with its @."""
        found = self._groups.get(host)
        if found is None:
            found = self._groups[host] = tuple(self.state.groups.groups_of(host))
        return found

    def adjustments(self) -> dict[str, float]:
        """job_load_adjustments, typed: load name -> correction for one job; none that would decay at once.

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
    """What a reservation holds of each object, in place of what the object has."""

    __slots__ = ("_site", "_held", "_instance_of")

    def __init__(self, site: Site, reservation: AdvanceReservation) -> None:
        state = site.state
        self._site, self._held = site, state.reserved.held[reservation.id]
        granted = (grant.instance for grant in reservation.granted if grant.instance in state.configs)
        # each reserved instance has a configuration object of its own
        self._instance_of = {id(state.configs[name]): name for name in granted}

    def host(self, name: str) -> Level:
        """The level of a host or of the cluster."""
        amounts = self._held.cluster if name == GLOBAL else self._held.hosts.get(name, {})
        return self._site.host(name).limited(amounts)

    def queue(self, queue: str, config: InstanceConfig) -> Level:
        """The level of the reserved instance that is configured so."""
        name = self._instance_of.get(id(config), queue)
        return self._site.queue(queue, config).limited(self._held.instances.get(name, {}))
