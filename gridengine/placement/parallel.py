"""Parallel jobs: which PEs a name means, and how slots are spread over hosts by an allocation rule.

Owns the allocation rules. Must not know resources: the caller says how many slots each place can take.
Source: sge_pe(5) allocation_rule, PE-2 … PE-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from gridengine.ranges import MAX_SLOTS
from gridengine.state.jobs import Grant
from gridengine.state.state import State
from gridengine.syntax.wildcard import compile_expression

SlotRanges = Sequence[tuple[int, int]]


class HostRoom(NamedTuple):
    """What a host can take of a job: `places` are (instance, slots) in order of preference; `slots` caps their sum."""

    host: str
    slots: int
    places: list[tuple[str, int]]

    def without(self, master: str, slots: int) -> HostRoom:
        """What is left of it, at most `slots`, when one slot is the master's."""
        return HostRoom(self.host, min(self.slots, slots), [(name, most - (name == master)) for name, most in self.places])


class Limiter(Protocol):
    """What beside the rooms of hosts limits the slots of one task, place by place: `gridengine.placement.quotas.Allowance`."""

    def fork(self) -> Limiter:
        """The same, to be tried without consequences."""

    def take(self, instance: str, slots: int) -> int:
        """Take up to that many slots at an instance; how many it were."""

    def within(self, rooms: Iterable[HostRoom], most: int, kept: bool) -> Iterator[HostRoom]:
        """Rooms of at most `most` slots each. `kept`: each takes its slots away from those behind it."""


def matching_pes(state: State, expression: str) -> list[str]:
    """Names of the PEs that a -pe name or wildcard expression means, sorted. Source: sge_types(5) pe_name, PE-8."""
    if state.has("parallel_environment", expression):
        return [expression]
    matcher = compile_expression(expression)
    return sorted(name for name in state.kind("parallel_environment") if matcher(name))


def largest_count(ranges: SlotRanges, limit: int, step: int = 1) -> int:
    """The biggest count of the ranges that is not above `limit` and a multiple of `step`; 0 if none. Source: PE-7."""
    for low, high in reversed(ranges):
        count = min(high, limit) // step * step
        if count >= low:
            return count
    return 0


def smallest_count(ranges: SlotRanges) -> int:
    """The least number of slots that the job can run with."""
    return ranges[0][0]


def allocate(
    hosts: Iterable[HostRoom], rule: str, ranges: SlotRanges, limit: int = MAX_SLOTS, allowance: Limiter | None = None
) -> list[Grant]:
    """Spread the biggest possible count of `ranges`, at most `limit` slots, over hosts in order of preference.

    The first place of the first host becomes the master's. Looks at no more hosts than needed. [] if impossible.
    allowance: what resource quotas leave to several hosts together, None where they do not matter.
    """
    wanted = largest_count(ranges, limit)
    if not wanted:
        return []
    if rule == "$round_robin":
        shares = _round_robin(hosts, ranges, wanted, allowance)
    elif rule == "$pe_slots":
        shares = _one_host(allowance.within(hosts, MAX_SLOTS, kept=False) if allowance else hosts, ranges, wanted)
    elif rule == "$fill_up":
        shares = _fill_up(allowance.within(hosts, MAX_SLOTS, kept=True) if allowance else hosts, ranges, wanted)
    else:
        each = int(rule)
        shares = _fixed(allowance.within(hosts, each, kept=True) if allowance else hosts, ranges, limit, each)
    return [grant for room, slots in shares for grant in _on_host(room, slots)]


def offered(hosts: Iterable[HostRoom], rule: str) -> int:
    """How many slots the hosts could give at most under a rule: what a refusal states."""
    rooms = [room.slots for room in hosts]
    if rule == "$pe_slots":
        return max(rooms, default=0)
    if rule in ("$fill_up", "$round_robin"):
        return sum(rooms)
    return int(rule) * sum(1 for slots in rooms if slots >= int(rule))


Shares = list[tuple[HostRoom, int]]


def _on_host(room: HostRoom, slots: int) -> list[Grant]:
    """The host's share, from its places in order; several queues of a host may contribute (PE-14)."""
    grants = []
    for instance, most in room.places:
        part = min(most, slots)
        if part > 0:
            grants.append(Grant(instance, part))
            slots -= part
    return grants


def _one_host(hosts: Iterable[HostRoom], ranges: SlotRanges, wanted: int) -> Shares:
    """All slots on one host, the first that can take the biggest possible count (PE-4)."""
    rooms: list[HostRoom] = []
    most = 0
    for room in hosts:
        rooms.append(room)
        most = max(most, room.slots)
        if most >= wanted:
            break
    count = largest_count(ranges, min(wanted, most))
    return [(next(room for room in rooms if room.slots >= count), count)] if count else []


def _fill_up(hosts: Iterable[HostRoom], ranges: SlotRanges, wanted: int) -> Shares:
    """As many as possible on each host in turn (PE-5)."""
    rooms: list[HostRoom] = []
    total = 0
    for room in hosts:
        rooms.append(room)
        total += room.slots
        if total >= wanted:
            break
    left = largest_count(ranges, min(wanted, total))
    shares: Shares = []
    for room in rooms:
        share = min(left, room.slots)
        if share:
            shares.append((room, share))
            left -= share
    return shares


def _round_robin(hosts: Iterable[HostRoom], ranges: SlotRanges, wanted: int, allowance: Limiter | None) -> Shares:
    """One slot on each host in turn, from the first host again until all are given (PE-6)."""
    rooms: list[HostRoom] = []
    for room in hosts:
        if room.slots > 0:
            rooms.append(room)
        if len(rooms) >= wanted and allowance is None:
            break
    given = list(islice(_in_turn(rooms, allowance), wanted))
    shares: dict[int, dict[str, int]] = {}
    for index, place in given[: largest_count(ranges, len(given))]:
        share = shares.setdefault(index, {})
        share[place] = share.get(place, 0) + 1
    return [(HostRoom(rooms[index].host, 0, list(share.items())), sum(share.values())) for index, share in shares.items()]


def _in_turn(rooms: list[HostRoom], allowance: Limiter | None) -> Iterator[tuple[int, str]]:
    """(index of the host, instance) of one slot after the other, the hosts in turn."""
    turn = [(index, _one_by_one(room, allowance)) for index, room in enumerate(rooms)]
    while turn:
        again = []
        for index, places in turn:
            place = next(places, "")
            if place:
                yield index, place
                again.append((index, places))
        turn = again


def _one_by_one(room: HostRoom, allowance: Limiter | None) -> Iterator[str]:
    """The instances of a host's slots, one slot at a time."""
    left = room.slots
    for instance, slots in room.places:
        while slots and left and (allowance is None or allowance.take(instance, 1)):
            yield instance
            slots, left = slots - 1, left - 1


def _fixed(hosts: Iterable[HostRoom], ranges: SlotRanges, limit: int, each: int) -> Shares:
    """Exactly `each` slots on as many hosts as it takes; the count must be a multiple of it (PE-3)."""
    wanted = largest_count(ranges, limit, each) if each > 0 else 0
    if not wanted:
        return []
    rooms: list[HostRoom] = []
    for room in hosts:
        if room.slots >= each:
            rooms.append(room)
            if len(rooms) * each >= wanted:
                break
    count = largest_count(ranges, len(rooms) * each, each)
    return [(room, each) for room in rooms[: count // each]]
