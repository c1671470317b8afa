"""What time and the states of hosts and queues do to advance reservations: start, end, error and recovery.

Owns those rules. Called at every tick; pure. Source: AR-53 … AR-66; house promise: within 5 s of the cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo

from daemons.qmaster.decision import Decision
from daemons.qmaster.follow.reservation_ends import end_reservation
from daemons.qmaster.follow.reservation_healing import healed
from gridengine.state.events import AnyEvent
from gridengine.state.machines.host import HostDrained, HostDrainEnded
from gridengine.state.machines.instance import InstanceErrorsCleared, InstanceErrorSet, InstanceFlagsChanged
from gridengine.state.machines.reservation import ReservationChanged, ReservationErrorsSet, ReservationRemoved, ReservationStarted
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State

RETURN_S = 20.0
"""How long after its own start the qmaster waits for hosts to report before it takes them for lost."""


HEALING_S = 10
"""Pause between the tries to heal a reservation that found no room."""


_OF_PLACES = (InstanceFlagsChanged, InstanceErrorSet, InstanceErrorsCleared, HostDrained, HostDrainEnded)


def may_trouble(events: Iterable[AnyEvent]) -> bool:
    """Whether they may break or mend reservations: then the answer to whoever did it waits until that is so."""
    return any(isinstance(event, _OF_PLACES) for event in events)


def reservation_changes(state: State, now: float, since: float) -> Decision:
    """Starts, ends and errors that are due. now: epoch s; since: when this qmaster started."""
    decision = Decision()
    if not state.reservations:
        return decision
    broken = troubles(state, state.reserved.of_instance, now, since)
    for reservation in list(state.reservations.values()):
        if reservation.ending:
            if not state.reserved.jobs[reservation.id]:
                decision.events.append(ReservationRemoved(reservation.id, now))
            continue
        idle = _stands_idle(state, reservation, now)
        if reservation.end_time <= now or idle:
            why = f"given back: no job for {reservation.idle_limit:g} s" if idle else ""
            decision += end_reservation(state, reservation, "x", "qmaster", now, why=why)
            continue
        if not reservation.started and reservation.start_time <= now:
            decision.events.append(ReservationStarted(reservation.id, now))
        if broken or reservation.errors:
            errors = errors_of(reservation, broken)
            if errors != reservation.errors:
                decision.events.append(ReservationErrorsSet(reservation.id, errors, now))
    return decision


def next_healing(state: State, now: float, since: float, zone: tzinfo, tried: set[int]) -> ReservationChanged | None:
    """The next reservation that can be healed, None if there is none; each change must be applied before the next question.

    One is tried when something new broke, then from time to time; `tried` collects those that found no room.
    """
    if not any(reservation.heal for reservation in state.reservations.values()):
        return None
    broken = troubles(state, state.reserved.of_instance, now, since)
    for number, reservation in state.reservations.items() if broken else ():
        errors = errors_of(reservation, broken)
        if not (reservation.heal and errors) or reservation.ending or number in tried:
            continue
        if errors != reservation.errors or int(now) % HEALING_S == 0:
            change = healed(state, reservation, broken, now, zone)
            if change is not None:
                return change
            tried.add(number)
    return None


def _stands_idle(state: State, reservation: AdvanceReservation, now: float) -> bool:
    """Whether it has had no job for as long as -idle says."""
    limit = reservation.idle_limit
    since = max(reservation.idle_since, reservation.start_time)
    return bool(limit) and reservation.started and not state.reserved.jobs[reservation.id] and since + limit <= now


def errors_of(reservation: AdvanceReservation, found: dict[str, list[str]]) -> list[str]:
    """The troubles of its instances, in the order in which they were granted."""
    return [text for grant in reservation.granted for text in found.get(grant.instance, ())]


def troubles(state: State, instances: Iterable[str], now: float, since: float) -> dict[str, list[str]]:
    """What is wrong with instances that are reserved, a text for each of unknown, error, disabled, suspended (AR-57, AR-59).

    A host that has not reported since the qmaster started is not taken for lost before it had the time to. An instance
    that a job in another queue suspends (`subordinate_list`) serves: its jobs wait their turn. Source: O.
    """
    found: dict[str, list[str]] = {}
    for name in instances:
        instance = state.instances.get(name)
        if instance is None:
            continue
        host = state.hosts.get(instance.host)
        lost = (host is None or not host.up) and (
            now >= since + RETURN_S or (host is not None and host.last_heard >= since)
        )
        states = {
            "unknown": lost,
            "error": bool(instance.errors),
            "disabled": instance.disabled or instance.calendar_disabled or (host is not None and host.drained is not None),
            "suspended": instance.suspended or instance.calendar_suspended,
        }
        if texts := [f"reserved queue {name} is {word}" for word, is_so in states.items() if is_so]:
            found[name] = texts
    return found
