"""The log of queue instances and hosts in the reporting file: states, use of consumables, load values.

Owns the choice and the time of these records: states and use when they have changed, load values when a host has reported new
values. A consumable is logged if `log_consumables` or the report_variables of the host, or of all hosts, select it. Made from
the state after a transaction. Called by the master. Source: sge_reporting(5) queue, queue_consumable, host, host_consumable;
RP-1, RP-2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from daemons.qmaster.decision import Record
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.values import reported_value
from gridengine.state.affected import Affected
from gridengine.state.bookings import GLOBAL, Holder, holders_at
from gridengine.state.state import State
from gridengine.state.state_codes import instance_state_codes
from gridengine.values.instance_name import queue_and_host

_NO_STATE = "X"
"""Written by 8.1.9 as the state of a host, since hosts have no state."""


class UseLog:
    """Keeps the last written records. A new qmaster assumes that all instances are sound and all consumables are free."""

    def __init__(self) -> None:
        self._state_codes: dict[str, str] = {}
        self._used: dict[Holder, Mapping[str, float]] = {}

    def records(self, state: State, affected: Affected, log_consumables: bool, now: float) -> Iterator[Record]:
        """The records of a transaction that was applied. now: epoch seconds."""
        time = int(now)
        hosts = affected.lost | affected.returned
        concerned = {name for name, instance in state.instances.items() if instance.host in hosts} if hosts else set()
        for name in sorted((concerned | affected.instances) & state.instances.keys()):
            state_codes = instance_state_codes(state, state.instances[name])
            if state_codes != self._state_codes.get(name, ""):
                self._state_codes[name] = state_codes
                yield "queue", [*queue_and_host(name), time, state_codes]
        holders = dict.fromkeys(holder for name in sorted(affected.instances) for holder in holders_at(name))
        for holder in holders:
            if consumables := self._consumables(PlacementConfig.of(state), holder, log_consumables):
                yield _of_holder(holder, time, self._state_codes.get(holder.name, ""), consumables)
        for host, names in affected.heard.items():
            if load := _load(state, host, names):
                yield "host", [host, time, _NO_STATE, load]

    def _consumables(self, config_snapshot: PlacementConfig, holder: Holder, everything: bool) -> str:
        """`name=used=capacity,…` of the selected consumables of a holder, "" if the use of none has changed."""
        state = config_snapshot.state
        if holder.kind == "instance" and holder.name not in state.configs:
            return ""
        report_variables = _variables(state, holder.host)
        used = state.bookings.at(holder)
        before, self._used[holder] = self._used.get(holder, {}), dict(used)
        capacities = {
            name: capacity
            for name, capacity in config_snapshot.capacities[holder].consumables.items()
            if everything or name in report_variables
        }
        if all(used.get(name, 0.0) == before.get(name, 0.0) for name in capacities):
            return ""
        return ",".join(f"{name}={used.get(name, 0.0):f}={capacity:f}" for name, capacity in capacities.items())


def _of_holder(holder: Holder, time: int, state_codes: str, consumables: str) -> Record:
    if holder.kind == "instance":
        return "queue_consumable", [*queue_and_host(holder.name), time, state_codes, consumables]
    return "host_consumable", [holder.name, time, _NO_STATE, consumables]


def _variables(state: State, host: str) -> set[str]:
    """The report_variables of a host, and of all hosts."""
    configured = (state.exec_hosts.get(name) for name in (host, GLOBAL))
    return {name for config in configured if config is not None for name in config.report_variables}


def _load(state: State, host: str, heard: set[str]) -> str:
    """`name=value,…` of the report_variables of a host that have values, "" unless one of them is new."""
    known, report_variables = state.hosts.get(host), _variables(state, host)
    if known is None or report_variables.isdisjoint(heard):
        return ""
    return ",".join(f"{name}={_number(state, name, known.load[name])}" for name in sorted(report_variables & known.load.keys()))


def _number(state: State, name: str, text: str) -> str:
    """A load value with its decimals, sizes in bytes; a text unchanged."""
    entry = state.complexes.get(name)
    value = reported_value(entry.type, text) if entry is not None else None
    return f"{value:f}" if isinstance(value, float) else text
