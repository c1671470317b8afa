"""Parallel jobs: the PEs that match a name, and the distribution of slots over hosts by an allocation rule.

Owns the allocation rules. Must not know resources: the caller gives the capacity of each host and instance in slots.
Source: sge_pe(5) allocation_rule, PE-2 … PE-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from gridengine.state.jobs import Grant
from gridengine.state.state import State
from gridengine.syntax.wildcard import compile_expression
from gridengine.values.ranges import MAX_SLOTS

SlotRanges = Sequence[tuple[int, int]]


class HostCapacity(NamedTuple):
    """The capacity of a host for a job: `instances` are (instance, slots) in order of preference; `slots` limits their sum."""

    host: str
    slots: int
    instances: list[tuple[str, int]]

    def without(self, master: str, slots: int) -> HostCapacity:
        """The rest, at most `slots`, after one slot is given to the master."""
        return HostCapacity(self.host, min(self.slots, slots), [(name, most - (name == master)) for name, most in self.instances])


class Limiter(Protocol):
    """A limit on the slots of one task besides the capacity of hosts, by instance: `gridengine.placement.quotas.Allowance`."""

    def fork(self) -> Limiter:
        """A copy for a trial."""

    def take(self, instance: str, slots: int) -> int:
        """Take up to that many slots of an instance. Returns the number taken."""

    def within(self, host_capacities: Iterable[HostCapacity], most: int, kept: bool) -> Iterator[HostCapacity]:
        """Limit each capacity to at most `most` slots. `kept`: slots of one host are not available to the next hosts."""


def matching_pes(state: State, expression: str) -> list[str]:
    """Names of the PEs that match a -pe name or wildcard expression, sorted. Source: sge_types(5) pe_name, PE-8."""
    if state.has("parallel_environment", expression):
        return [expression]
    matcher = compile_expression(expression)
    return sorted(name for name in state.kind("parallel_environment") if matcher(name))


def largest_count(ranges: SlotRanges, limit: int, step: int = 1) -> int:
    """The greatest count of the ranges that is at most `limit` and a multiple of `step`; 0 if none. Source: PE-7."""
    for low, high in reversed(ranges):
        count = min(high, limit) // step * step
        if count >= low:
            return count
    return 0


def smallest_count(ranges: SlotRanges) -> int:
    """The least number of slots that the job can run with."""
    return ranges[0][0]


def allocate(
    hosts: Iterable[HostCapacity], rule: str, ranges: SlotRanges, limit: int = MAX_SLOTS, allowance: Limiter | None = None
) -> list[Grant]:
    """Distribute the greatest possible count of `ranges`, at most `limit` slots, over hosts in order of preference.

    The first instance of the first host becomes the master's. Examines no more hosts than needed. [] if impossible.
    allowance: the limits of resource quotas for several hosts together, None if there are none.
    """
    requested = largest_count(ranges, limit)
    if not requested:
        return []
    if rule == "$round_robin":
        shares = _round_robin(hosts, ranges, requested, allowance)
    elif rule == "$pe_slots":
        shares = _one_host(allowance.within(hosts, MAX_SLOTS, kept=False) if allowance else hosts, ranges, requested)
    elif rule == "$fill_up":
        shares = _fill_up(allowance.within(hosts, MAX_SLOTS, kept=True) if allowance else hosts, ranges, requested)
    else:
        each = int(rule)
        shares = _fixed(allowance.within(hosts, each, kept=True) if allowance else hosts, ranges, limit, each)
    return [grant for host_capacity, slots in shares for grant in _on_host(host_capacity, slots)]


def max_slots_by_rule(hosts: Iterable[HostCapacity], rule: str) -> int:
    """The maximum number of slots that the hosts could give under a rule, as shown in a refusal."""
    host_capacities = [host_capacity.slots for host_capacity in hosts]
    if rule == "$pe_slots":
        return max(host_capacities, default=0)
    if rule in ("$fill_up", "$round_robin"):
        return sum(host_capacities)
    return int(rule) * sum(1 for slots in host_capacities if slots >= int(rule))


Shares = list[tuple[HostCapacity, int]]


def _on_host(host_capacity: HostCapacity, slots: int) -> list[Grant]:
    """The host's share, from its instances in order; several queues of a host may contribute (PE-14)."""
    grants = []
    for instance, most in host_capacity.instances:
        part = min(most, slots)
        if part > 0:
            grants.append(Grant(instance, part))
            slots -= part
    return grants


def _one_host(hosts: Iterable[HostCapacity], ranges: SlotRanges, requested: int) -> Shares:
    """All slots on one host, the first that can take the greatest possible count (PE-4)."""
    host_capacities: list[HostCapacity] = []
    most = 0
    for host_capacity in hosts:
        host_capacities.append(host_capacity)
        most = max(most, host_capacity.slots)
        if most >= requested:
            break
    count = largest_count(ranges, min(requested, most))
    return [(next(each for each in host_capacities if each.slots >= count), count)] if count else []


def _fill_up(hosts: Iterable[HostCapacity], ranges: SlotRanges, requested: int) -> Shares:
    """As many as possible on each host in turn (PE-5)."""
    host_capacities: list[HostCapacity] = []
    total = 0
    for host_capacity in hosts:
        host_capacities.append(host_capacity)
        total += host_capacity.slots
        if total >= requested:
            break
    left = largest_count(ranges, min(requested, total))
    shares: Shares = []
    for host_capacity in host_capacities:
        share = min(left, host_capacity.slots)
        if share:
            shares.append((host_capacity, share))
            left -= share
    return shares


def _round_robin(hosts: Iterable[HostCapacity], ranges: SlotRanges, requested: int, allowance: Limiter | None) -> Shares:
    """One slot on each host in turn, from the first host again until all are given (PE-6)."""
    host_capacities: list[HostCapacity] = []
    for host_capacity in hosts:
        if host_capacity.slots > 0:
            host_capacities.append(host_capacity)
        if len(host_capacities) >= requested and allowance is None:
            break
    given = list(islice(_in_turn(host_capacities, allowance), requested))
    shares: dict[int, dict[str, int]] = {}
    for index, instance in given[: largest_count(ranges, len(given))]:
        share = shares.setdefault(index, {})
        share[instance] = share.get(instance, 0) + 1
    return [
        (HostCapacity(host_capacities[index].host, 0, list(share.items())), sum(share.values()))
        for index, share in shares.items()
    ]


def _in_turn(host_capacities: list[HostCapacity], allowance: Limiter | None) -> Iterator[tuple[int, str]]:
    """Yield (index of the host, instance) for each slot, the hosts in turn."""
    turn = [(index, _one_by_one(host_capacity, allowance)) for index, host_capacity in enumerate(host_capacities)]
    while turn:
        again = []
        for index, instances in turn:
            instance = next(instances, "")
            if instance:
                yield index, instance
                again.append((index, instances))
        turn = again


def _one_by_one(host_capacity: HostCapacity, allowance: Limiter | None) -> Iterator[str]:
    """The instances of a host's slots, one slot at a time."""
    left = host_capacity.slots
    for instance, slots in host_capacity.instances:
        while slots and left and (allowance is None or allowance.take(instance, 1)):
            yield instance
            slots, left = slots - 1, left - 1


def _fixed(hosts: Iterable[HostCapacity], ranges: SlotRanges, limit: int, each: int) -> Shares:
    """Exactly `each` slots on as many hosts as it takes; the count must be a multiple of it (PE-3)."""
    requested = largest_count(ranges, limit, each) if each > 0 else 0
    if not requested:
        return []
    host_capacities: list[HostCapacity] = []
    for host_capacity in hosts:
        if host_capacity.slots >= each:
            host_capacities.append(host_capacity)
            if len(host_capacities) * each >= requested:
                break
    count = largest_count(ranges, len(host_capacities) * each, each)
    return [(host_capacity, each) for host_capacity in host_capacities[: count // each]]
