"""qralter: window, name, mail, access and resources of a granted reservation, changed as a whole or not at all.

Owns what may be changed when, and where the changed reservation gets its slots: it keeps its places where they do, and
gets others only before its start. The checks are those of a new one. Source: AR-125 (no counterpart in 8.1.9).
"""

from __future__ import annotations

import msgspec

from daemons.qmaster.decide.jobs.whole_jobs import check_slots
from daemons.qmaster.decide.refused import Refused
from daemons.qmaster.decide.reservations.deletion import not_owner, nothing, selected_reservations
from daemons.qmaster.decide.reservations.granting import NO_PLACE
from daemons.qmaster.decide.reservations.requests import draft, may_reserve
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import is_operator
from gridengine.field_names import FIELD_NAMES
from gridengine.gdi.requests import AlterReservations, Caller, Reserve
from gridengine.gdi.shape_faults import shape_fault
from gridengine.placement.charges import charges
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.granting import Granting, as_job
from gridengine.placement.timeline import Timeline
from gridengine.placement.values import ROUNDING
from gridengine.state.apply import apply
from gridengine.state.bookings import Bookings, bookings_of
from gridengine.state.machines.reservation import ReservationChanged
from gridengine.state.reservations import AdvanceReservation, ReservationChanges
from gridengine.state.state import State

TIMES = frozenset(("start_time", "end_time", "duration"))
PLACE = TIMES | {"hard", "hard_queues", "master_queues", "pe", "pe_range", "allocation_rule", "checkpoint", "users"}
"""Fields on which it depends where the reservation can be."""
NEVER = frozenset(("verify", "now", "latest", "find", "rule"))
_FIELD = {"now": "immediate"}
_NOUNS = {
    **{field.name: field.noun for field in FIELD_NAMES if field.noun},
    **{"name": "name", "allowed": "user list", "denied": "user list", "granted": "places", "hard_errors": "error behaviour"},
}
"""How the fields of a reservation are called in messages."""
_FOLLOWING = frozenset(("resources", "granted_pe"))
"""Fields that nobody asks for: they follow from the others."""


def alter_reservations(state: State, request: AlterReservations, caller: Caller, world: World) -> Decision:
    """Change what is named; a refusal concerns the whole request."""
    decision = Decision()
    if not may_reserve(state, caller, world):
        return decision.refuse(f'denied: "{caller.user}" must be manager, operator or in userset "arusers"')
    operator = is_operator(state, caller, world.admin_user)
    said = frozenset(request.changes)
    try:
        asked = msgspec.convert(request.changes, Reserve)
    except msgspec.ValidationError as error:
        return decision.refuse(f"denied: {shape_fault(error)}")
    if fixed := sorted(said & NEVER):
        return decision.refuse(f"denied: {', '.join(fixed)} of an advance reservation cannot be changed")
    chosen: dict[int, AdvanceReservation] = {}
    for target in request.targets:
        matching = selected_reservations(state, target, [], caller.user)
        if not matching:
            return decision.refuse(nothing(target, []))
        chosen |= {reservation.id: reservation for reservation in matching}
    for reservation in chosen.values():
        if not operator and reservation.owner != caller.user:
            return decision.refuse(not_owner(caller, reservation, "modify"))
        if decision.events:
            # one after the other: what the one before has got, the next cannot get, too
            state = state.reserving_branch() if len(decision.events) == 1 else state
            apply(state, decision.events[-1])
        try:
            changes = _changes(state, state.reservations[reservation.id], asked, said, world)
        except Refused as refusal:
            return decision.refuse(refusal.text, refusal.status, refusal.hint)
        decision.events.append(ReservationChanged(reservation.id, changes, world.now, f"changed by {caller.user}"))
        decision.answer.info(f"modified advance_reservation {reservation.id}{_what(changes)}")
    return decision


def _what(changes: ReservationChanges) -> str:
    """What of a reservation is other than before, as it is said behind its number."""
    nouns = dict.fromkeys(_NOUNS.get(name, name.replace("_", " ")) for name in changes.given() if name not in _FOLLOWING)
    return f" ({', '.join(nouns)})" if nouns else ": nothing is other than before"


def _changes(
    state: State, reservation: AdvanceReservation, wish: Reserve, said: frozenset[str], world: World
) -> ReservationChanges:
    """The fields that become others. Raises Refused."""
    if reservation.ending:
        raise Refused(f"denied: advance_reservation {reservation.id} is no longer available")
    changed = _changed(state, reservation, wish, said, world)
    if not PLACE.isdisjoint(said):
        _place(state, reservation, changed, world)
    before, after = msgspec.structs.asdict(reservation), msgspec.structs.asdict(changed)
    return ReservationChanges(**{name: value for name, value in after.items() if value != before[name]})


def _place(state: State, reservation: AdvanceReservation, changed: AdvanceReservation, world: World) -> None:
    """Give the changed reservation its places. Raises Refused."""
    timeline = Timeline(state, world.now, without=reservation.id, planned=True)
    granting = Granting(PlacementConfig.of(state), timeline, _from_now(changed, world.now), world.zone)
    if granting.still_fits(reservation.granted, reservation.granted_pe, changed.pe_range):
        changed.granted, changed.granted_pe = reservation.granted, reservation.granted_pe
    elif reservation.started:
        raise Refused(f"denied: advance_reservation {reservation.id} has started and cannot have other places")
    else:
        changed.granted, changed.granted_pe = granting.place()
    if not changed.granted:
        raise Refused(NO_PLACE)
    changed.resources = charges(state, as_job(changed))
    _check_use(state, reservation, changed)


def _from_now(changed: AdvanceReservation, now: float) -> AdvanceReservation:
    """Only what is left of the window has to be free."""
    return msgspec.structs.replace(changed, start_time=max(now, changed.start_time))


def _changed(
    state: State, reservation: AdvanceReservation, wish: Reserve, said: frozenset[str], world: World
) -> AdvanceReservation:
    """The reservation with what was said, checked as a new one would be. Raises Refused."""
    start, end = _window(reservation, wish, said, world.now)
    owner = Caller(reservation.owner, 0, reservation.group, 0, world.master_host)
    probe = msgspec.structs.replace(wish, start_time=max(start, float(int(world.now))), end_time=end, duration=0.0)
    checked = draft(state, probe, owner, world)
    fields = {"start_time": start, "end_time": end}
    for name in said - TIMES:
        for field in ("allowed", "denied") if name == "users" else (_FIELD.get(name, name),):
            fields[field] = getattr(checked, field)
    changed = msgspec.structs.replace(reservation, **fields)
    check_slots(changed.pe, changed.allocation_rule, changed.pe_range)
    return changed


def _window(reservation: AdvanceReservation, wish: Reserve, said: frozenset[str], now: float) -> tuple[float, float]:
    """-a moves the window, -e and -d change its end; two of them fix both. Raises Refused."""
    start, end = reservation.start_time, reservation.end_time
    if "start_time" in said and wish.start_time != start:
        if reservation.started:
            raise Refused(f"denied: advance_reservation {reservation.id} has started, its start time cannot change")
        start, end = wish.start_time, wish.start_time + (end - start)
        if start < int(now):
            raise Refused("start time is in the past")
    if "duration" in said:
        end = start + wish.duration
    if "end_time" in said:
        if "duration" in said and wish.end_time != end:
            raise Refused("difference between end and start time does not correspond to duration")
        end = wish.end_time
    if end <= now:
        raise Refused("end time is in the past")
    if start >= end:
        raise Refused("start time is later than end time")
    return start, end


def _check_use(state: State, reservation: AdvanceReservation, changed: AdvanceReservation) -> None:
    """What its running jobs use must stay theirs. Raises Refused."""
    held = Bookings()
    held.book(bookings_of(changed.granted, state.amounts(changed.resources), changed.granted_pe))
    for holder, name, amount in state.reserved.used[reservation.id].entries():
        if holder.kind == "instance" and amount > held.of(holder, name) + ROUNDING:
            raise Refused(f"denied: running jobs use {amount:g} of {name} of advance_reservation {reservation.id}")
