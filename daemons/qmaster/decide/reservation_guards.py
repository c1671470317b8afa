"""Guards: which changes of the configuration would break a granted advance reservation.

Owns that question. It is not a list of forbidden changes: the configuration as it would be is asked, with the code that
grants reservations, whether each of them would still be in order; what was broken before does not count. Called by
`references` for every proposal. Source: AR-70 … AR-82.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from daemons.qmaster.decide.kinds import title
from daemons.qmaster.decide.proposal import Proposal
from daemons.qmaster.decision import World
from gridengine.placement.granting import Granting, sets_of_users, users_of
from gridengine.placement.match import ROUNDING
from gridengine.placement.site import Level, Site
from gridengine.placement.timeline import Timeline
from gridengine.state.apply import load_state
from gridengine.state.bookings import GLOBAL
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import Snapshot, State

RELEVANT = frozenset(
    "cluster_queue host_group exec_host parallel_environment checkpoint calendar userset complex".split()
)
_BOOKED = ("type", "consumable", "relop")
"""Columns of a complex that say how a request is booked."""


def reservation_refusals(proposal: Proposal, world: World) -> Iterator[str]:
    """Why reservations forbid the proposal, one line each; the reservation and the object are named (AR-82)."""
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
    for reservation in live:
        found = after.faults(reservation, users_of(state, reservation))
        if found:
            before = before or _Check(state, world)
            for fault in found - before.faults(reservation, users_of(state, reservation)):
                what = " and ".join(title(kind, name) for kind, name in changed[:3])
                yield f"denied: changing {what} would break advance reservation {reservation.id}: {fault}"


def _named(proposal: Proposal, reservation: AdvanceReservation, kind: str, name: str) -> bool:
    """Whether an object that is removed, or a complex that is booked otherwise, is one that the reservation names."""
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
    """A state of the configuration as it would be, with reservations but without jobs. Queues without any are left out."""
    state = proposal.state
    reserved = {name.partition("@")[0] for name in state.reserved.of_instance}
    objects = {kind: proposal.kind(kind) for kind in {*state.objects, *(kind for kind, _ in proposal.changed)}}
    queues = objects.get("cluster_queue", {})
    objects["cluster_queue"] = {name: queues[name] for name in reserved if name in queues}
    instances = {
        name: msgspec.structs.replace(instance)
        for name, instance in state.instances.items()
        if instance.queue in reserved
    }
    return load_state(
        State(
            Snapshot(
                objects=objects,
                instances=instances,
                hosts=state.hosts,
                rule_members=state.rule_members,
                reservations=state.reservations,
            )
        )
    )


class _Check:
    """Whether reservations are in order in one state, for as long as they last yet."""

    def __init__(self, state: State, world: World) -> None:
        self.state, self.world = state, world
        self.site = Site(state)
        self.timeline = Timeline(state, world.now, tasks=False)

    def faults(self, reservation: AdvanceReservation, users: dict[str, str]) -> frozenset[str]:
        """What is wrong with its places; instances that are no longer configured go on as orphans (AR-80).

        users: who might use it before the change; who is taken off its own lists does not count any more.
        """
        state = self.state
        kept = users_of(state, reservation)
        sets = sets_of_users(state, {name: group for name, group in users.items() if name in kept})
        start, end = max(self.world.now, reservation.start_time), reservation.end_time
        granting = Granting(self.site, self.timeline, reservation, self.world.zone, sets)
        granting.window(start, end)
        granting.request.pes = [pe for pe in granting.request.pes if pe == reservation.granted_pe]
        texts: list[str] = []
        hosts: dict[str, None] = {GLOBAL: None}
        for grant in reservation.granted:
            instance, config = state.instances.get(grant.instance), state.configs.get(grant.instance)
            if instance is None or config is None or instance.orphaned:
                continue
            hosts[grant.host] = None
            reason = granting.refusal(grant.instance, instance)
            if reason is not None:
                texts.append(reason.text)
            texts += self._overbooked(grant.instance, self.site.queue(grant.queue, config), start, end)
        for host in hosts:
            texts += self._overbooked(host, self.site.host(host), start, end)
        if reservation.granted_pe:
            texts += self._pe(reservation.granted_pe, start, end)
        return frozenset(texts)

    def _overbooked(self, where: str, level: Level, start: float, end: float) -> Iterator[str]:
        for name, capacity in level.consumables.items():
            most = self.timeline.peak(where, name, start, end)
            if most > capacity + ROUNDING:
                yield f"{most:g} of {name} are reserved at {where}"

    def _pe(self, name: str, start: float, end: float) -> Iterator[str]:
        pe = self.state.typed("parallel_environment", name)
        most = self.timeline.pe_peak(name, start, end)
        if pe is not None and most > pe.slots:
            yield f"{most:g} slots of it are reserved"
