"""Guards: the changes of the configuration that would break a granted advance reservation.

Owns that decision. There is no list of forbidden changes. The code that grants reservations checks each reservation against the
proposed configuration; errors that existed before do not count. Called by `references` for every proposal.

Source: AR-70 … AR-82.
"""

from __future__ import annotations

from collections.abc import Iterator

from daemons.qmaster.decide.configuration.proposal import Proposal, Reference
from daemons.qmaster.decision import World
from daemons.qmaster.rules.memberships import membership_changes
from gridengine.kinds import title
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.granting import Granting, as_job, reservation_request, sets_of_users, users_of
from gridengine.placement.placement_request import category_key
from gridengine.placement.timeline import Timeline
from gridengine.placement.values import ROUNDING
from gridengine.state.apply import apply
from gridengine.state.bookings import CLUSTER, GLOBAL, Holder, holders_at, host_holder, pe_holder
from gridengine.state.reservations import AdvanceReservation, Span
from gridengine.state.state import State

RELEVANT = frozenset(
    "cluster_queue host_group exec_host parallel_environment checkpoint calendar userset complex".split()
)
_BOOKED = ("type", "consumable", "relop")
"""Columns of a complex that decide how a request is booked."""


def reservation_refusals(proposal: Proposal, world: World) -> Iterator[str]:
    """The refusals of the proposal because of reservations, one line each, with reservation and object (AR-82)."""
    state = proposal.state
    live = [reservation for _, reservation in sorted(state.reservations.items()) if not reservation.ending]
    changed = [key for key in proposal.changed if key[0] in RELEVANT]
    if not live or not changed:
        return
    for kind, name in changed:
        for reservation in live:
            if _named(proposal, reservation, kind, name):
                yield f"denied: {title(kind, name)} is used by advance reservation {reservation.id}"
    after = _Check(proposed_state(proposal), world)
    before: _Check | None = None
    for reservation in _concerned(state, after.state, changed, live):
        faults = after.faults(reservation, users_of(state, reservation))
        if faults:
            before = before or _Check(state, world)
            for fault in faults - before.faults(reservation, users_of(state, reservation)):
                what = " and ".join(title(kind, name) for kind, name in changed[:3])
                yield f"denied: changing {what} would break advance reservation {reservation.id}: {fault}"


def _concerned(
    state: State, after: State, changed: list[Reference], live: list[AdvanceReservation]
) -> list[AdvanceReservation]:
    """The reservations that the changes can affect at all: with a thousand reservations only these are checked."""
    of_kind: dict[str, set[str]] = {}
    for kind, name in changed:
        of_kind.setdefault(kind, set()).add(name)
    hosts, calendars = of_kind.get("exec_host", set()) | of_kind.get("host_units", set()), of_kind.get("calendar", set())
    if GLOBAL in hosts or not of_kind.keys().isdisjoint(("userset", "complex")):
        return live
    index = state.reserved
    numbers = {number for host in hosts for number in index.slots(host_holder(host))}
    for name, holders in index.of_instance.items():
        config = after.configs.get(name)
        if config is not None and (config is not state.configs.get(name) or config.calendar in calendars):
            numbers |= holders
    pes, groups = of_kind.get("parallel_environment", set()), "host_group" in of_kind
    return [
        one
        for one in live
        if one.id in numbers
        or one.granted_pe in pes
        or (groups and any("@@" in queue for queue in (*one.hard_queues, *one.master_queues)))
    ]


def _named(proposal: Proposal, reservation: AdvanceReservation, kind: str, name: str) -> bool:
    """Whether the reservation names an object that is removed, or a complex that is booked in a different way."""
    before, after = proposal.state.kind(kind).get(name), proposal.get(kind, name)
    if kind == "complex":
        if before is None or name not in {*reservation.resources, *reservation.hard}:
            return False
        return after is None or any(before[column] != after[column] for column in _BOOKED)
    if after is not None:
        return False
    if kind == "cluster_queue":
        return any(grant.queue == name for grant in reservation.granted)
    if kind == "exec_host":
        return any(grant.host == name for grant in reservation.granted)
    if kind == "userset":
        return f"@{name}" in (*reservation.allowed, *reservation.denied)
    return name == {"parallel_environment": reservation.granted_pe, "checkpoint": reservation.checkpoint}.get(kind)


def proposed_state(proposal: Proposal) -> State:
    """The state with the proposed configuration."""
    after = proposal.state.branch()
    for event in proposal.events():
        apply(after, event)
    for event in membership_changes(after):
        apply(after, event)
    return after


class _Check:
    """Whether reservations are in order in one state, for the rest of their windows. Equal reservations share their
    computations."""

    def __init__(self, state: State, world: World) -> None:
        self.state, self.world = state, world
        self.config_snapshot = PlacementConfig.of(state)
        self.timeline = Timeline(state, world.now, tasks=False)
        self._grantings: dict[tuple[object, ...], Granting] = {}
        self._above: dict[tuple[Holder, str], list[Span]] = {}

    def faults(self, reservation: AdvanceReservation, users: dict[str, str]) -> frozenset[str]:
        """The faults of its grants; instances that are no longer configured continue as orphans (AR-80).

        users: users with access before the change; a user who is removed from its own lists does not count any longer.
        """
        state = self.state
        start, end = max(self.world.now, reservation.start_time), reservation.end_time
        granting = self._granting(reservation, users)
        granting.window(start, end)
        texts: list[str] = []
        hosts: dict[Holder, None] = {CLUSTER: None}
        for grant in reservation.granted:
            instance, config = state.instances.get(grant.instance), state.configs.get(grant.instance)
            if instance is None or config is None or instance.orphaned:
                continue
            instance_holder, host, _ = holders_at(grant.instance)
            hosts[host] = None
            reason = granting.refusal(grant.instance, instance)
            if reason is not None:
                texts.append(reason.text)
            texts += self._overbooked(instance_holder, start, end)
        for host in hosts:
            texts += self._overbooked(host, start, end)
        if reservation.granted_pe:
            texts += self._pe(reservation.granted_pe, start, end)
        return frozenset(texts)

    def _granting(self, reservation: AdvanceReservation, users: dict[str, str]) -> Granting:
        """The rules for a reservation; only the granted PE counts."""
        kept = users_of(self.state, reservation)
        sets = sets_of_users(self.state, {name: group for name, group in users.items() if name in kept})
        key = (*sets, reservation.granted_pe, category_key(self.state, frozenset(), as_job(reservation)))
        granting = self._grantings.get(key)
        if granting is None:
            request = reservation_request(self.config_snapshot, reservation).in_pe(reservation.granted_pe)
            granting = Granting(self.config_snapshot, self.timeline, reservation, self.world.zone, sets, request)
            self._grantings[key] = granting
        return granting

    def _overbooked(self, holder: Holder, start: float, end: float) -> Iterator[str]:
        for name, capacity in self.config_snapshot.capacities[holder].consumables.items():
            most = self._most(holder, name, capacity + ROUNDING, start, end)
            if most:
                yield f"{most:g} of {name} are reserved at {holder.name}"

    def _pe(self, name: str, start: float, end: float) -> Iterator[str]:
        pe = self.state.pes.get(name)
        most = self._most(pe_holder(name), "slots", pe.slots, start, end) if pe is not None else 0.0
        if most:
            yield f"{most:g} slots of it are reserved"

    def _most(self, holder: Holder, name: str, capacity: float, start: float, end: float) -> float:
        """The highest reserved amount of a resource of an object, if that exceeds its capacity; else 0."""
        if (holder, name) not in self._above:
            self._above[holder, name] = self.timeline.above(holder, name, capacity)
        return max((amount for begin, over, amount in self._above[holder, name] if begin < end and over > start), default=0.0)
