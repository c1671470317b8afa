"""Effects of time and of host and queue states on advance reservations: start, end, error and recovery.

Owns those rules. Called at every tick; pure. Source: AR-53 … AR-66; house promise: within 5 s of the cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo

from daemons.qmaster.decision import Decision
from daemons.qmaster.rules.lost_hosts import is_lost
from daemons.qmaster.rules.reservation_ends import end_reservation
from daemons.qmaster.rules.reservation_healing import heal_reservation
from gridengine.state.events import AnyEvent
from gridengine.state.machines.host import HostDrained, HostDrainEnded
from gridengine.state.machines.instance import InstanceErrorsCleared, InstanceErrorSet, InstanceFlagsChanged
from gridengine.state.machines.reservation import ReservationChanged, ReservationErrorsSet, ReservationRemoved, ReservationStarted
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State

HEALING_S = 10
"""Pause between the attempts to heal a reservation without free capacity."""


_INSTANCE_EVENTS = (InstanceFlagsChanged, InstanceErrorSet, InstanceErrorsCleared, HostDrained, HostDrainEnded)


def may_affect_reservations(events: Iterable[AnyEvent]) -> bool:
    """Whether events may break or fix reservations: then the answer to the request waits for the states of the reservations."""
    return any(isinstance(event, _INSTANCE_EVENTS) for event in events)


def reservation_changes(state: State, now: float, since: float) -> Decision:
    """Starts, ends and errors that are due. now: epoch s; since: when this qmaster started."""
    decision = Decision()
    if not state.reservations:
        return decision
    broken = instance_faults(state, state.reserved.of_instance, now, since)
    for reservation in list(state.reservations.values()):
        if reservation.ending:
            if not state.reserved.jobs[reservation.id]:
                decision.events.append(ReservationRemoved(reservation.id, now))
            continue
        idle = _is_idle(state, reservation, now)
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
    """The next reservation that can be healed, None if there is none. Apply each change before the next call.

    A reservation is tried when a new error appears, then from time to time; `tried` collects reservations without free
    capacity.
    """
    if not any(reservation.heal for reservation in state.reservations.values()):
        return None
    broken = instance_faults(state, state.reserved.of_instance, now, since)
    for number, reservation in state.reservations.items() if broken else ():
        errors = errors_of(reservation, broken)
        if not (reservation.heal and errors) or reservation.ending or number in tried:
            continue
        if errors != reservation.errors or int(now) % HEALING_S == 0:
            change = heal_reservation(state, reservation, broken, now, zone)
            if change is not None:
                return change
            tried.add(number)
    return None


def _is_idle(state: State, reservation: AdvanceReservation, now: float) -> bool:
    """Whether the reservation has had no job for as long as -idle allows."""
    limit = reservation.idle_limit
    since = max(reservation.idle_since, reservation.start_time)
    return bool(limit) and reservation.started and not state.reserved.jobs[reservation.id] and since + limit <= now


def errors_of(reservation: AdvanceReservation, faults: dict[str, list[str]]) -> list[str]:
    """The faults of its instances, in the order of its grants."""
    return [text for grant in reservation.granted for text in faults.get(grant.instance, ())]


def instance_faults(state: State, instances: Iterable[str], now: float, since: float) -> dict[str, list[str]]:
    """The faults of reserved instances, a text for each of unknown, error, disabled, suspended (AR-57, AR-59).

    An instance that is suspended by a job in another queue (`subordinate_list`) has no fault: its jobs wait their turn.
    Source: O.
    """
    faults: dict[str, list[str]] = {}
    for name in instances:
        instance = state.instances.get(name)
        if instance is None:
            continue
        host = state.hosts.get(instance.host)
        states = {
            "unknown": is_lost(host, now, since),
            "error": bool(instance.errors),
            "disabled": instance.disabled or instance.calendar_disabled or (host is not None and host.drained is not None),
            "suspended": instance.suspended or instance.calendar_suspended,
        }
        if texts := [f"reserved queue {name} is {condition}" for condition, is_so in states.items() if is_so]:
            faults[name] = texts
    return faults
