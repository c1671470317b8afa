"""Figures of the cell at one time: slots of the whole cell, of each host and of each cluster queue, and load of each host.

Owns the meaning of each figure. A single pass over queue instances, or hosts. Pure. Called by the sampler of trends, and by the
map of hosts. Source: adr/0290.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from daemons.qmaster.queries.selection import Listing
from gridengine.errors import InvalidValueError
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.values import reported_value
from gridengine.state.bookings import GLOBAL
from gridengine.state.hosts import Host
from gridengine.state.state import State
from gridengine.values.gpus import GPUS
from gridengine.values.ranges import Ranges

UNKNOWN = math.nan


class SlotCounts:
    """Slots of queue instances: `used`, `reserved` by started reservations and not used, `free`, `down`: of instances in any
    state, as unreachable, disabled or in load alarm, and `total`."""

    __slots__ = ("down", "free", "reserved", "total", "used")

    def __init__(self) -> None:
        self.used = self.reserved = self.free = self.down = self.total = 0

    def add(self, used: int, reserved: int, total: int, is_open: bool) -> None:
        """Add the slots of an instance. Its slots that are neither used nor reserved are free, or down."""
        rest = max(0, total - used - reserved)
        self.used += used
        self.reserved += reserved
        self.total += total
        if is_open:
            self.free += rest
        else:
            self.down += rest


class CellSlots(NamedTuple):
    """`whole`: of all queue instances; `hosts`, `queues`: by name."""

    whole: SlotCounts
    hosts: dict[str, SlotCounts]
    queues: dict[str, SlotCounts]


class HostLoad(NamedTuple):
    """`load`: load average by core; `memory`: used fraction; UNKNOWN without a report."""

    load: float
    memory: float


def cell_slots(state: State) -> CellSlots:
    """The slots of a state."""
    whole, queues = SlotCounts(), {name: SlotCounts() for name in state.queues}
    hosts, listing = {name: SlotCounts() for name in exec_hosts(state)}, Listing(state)
    for name, instance in state.instances.items():
        config = state.configs.get(name)
        total = config.slots if config is not None else 0
        used, is_open = state.slots_used(name), not listing.state_codes(instance)
        reserved = max(0, state.slots_reserved(name) - state.reserved.slots_used(name))
        for counts in (whole, queues.setdefault(instance.queue, SlotCounts()), hosts.get(instance.host)):
            if counts is not None:
                counts.add(used, reserved, total, is_open)
    return CellSlots(whole, hosts, queues)


def host_loads(state: State) -> dict[str, HostLoad]:
    """The load of each execution host."""
    readers = [_reader(state, name) for name in ("load_avg", "num_proc", "mem_used", "mem_total")]
    return {name: _load(state.hosts.get(name), readers) for name in exec_hosts(state)}


def gpu_total(state: State) -> float:
    """The number of GPUs of all execution hosts."""
    if GPUS not in state.complexes:
        return 0.0
    config = PlacementConfig.of(state)
    return sum(config.host(name).consumables.get(GPUS, 0.0) for name in exec_hosts(state))


def mean_load(loads: Iterable[HostLoad]) -> float:
    """The mean load by core of the reachable hosts; UNKNOWN without any."""
    known = [each.load for each in loads if not math.isnan(each.load)]
    return sum(known) / len(known) if known else UNKNOWN


def exec_hosts(state: State) -> Iterator[str]:
    """The names of the execution hosts."""
    return (name for name in state.kind("exec_host") if name not in (GLOBAL, "template"))


def _load(host: Host | None, readers: Iterable[Callable[[Host], float]]) -> HostLoad:
    if host is None or not host.up:
        return HostLoad(UNKNOWN, UNKNOWN)
    load, cores, used, total = (read(host) for read in readers)
    return HostLoad(load / cores if cores else UNKNOWN, used / total if total else UNKNOWN)


def _reader(state: State, name: str) -> Callable[[Host], float]:
    """A function that reads a load value of a host as a number; UNKNOWN without a report."""
    entry = state.complexes.get(name)
    kind = entry.type if entry is not None else "DOUBLE"

    def read(host: Host) -> float:
        text = host.load.get(name)
        value = reported_value(kind, text) if text is not None else None
        return value if isinstance(value, float) else UNKNOWN

    return read


@lru_cache(4096)
def task_count(tasks: str) -> int:
    """The number of tasks in a row of a list: 3 for `3-5:1`, 1 for ""."""
    try:
        return len(Ranges.parse(tasks)) if tasks else 1
    except InvalidValueError:
        return 1
