"""qralter: window, name, mail, access and resources of a granted reservation, changed as a whole or not at all.

Owns the permitted changes, and the new grants of the changed reservation. A reservation keeps its grants if they still fit, and
gets new grants only before its start. The checks of a new reservation apply. Source: AR-125 (no counterpart in 8.1.9).
"""

from __future__ import annotations

import msgspec

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.whole_jobs import check_slots
from daemons.qmaster.decide.reservations.deletion import no_match_text, not_owner, select_reservations
from daemons.qmaster.decide.reservations.granting import NO_SUITABLE_QUEUES
from daemons.qmaster.decide.reservations.requests import draft, may_reserve
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import is_operator
from gridengine.placement.charges import charges
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.granting import Granting, as_job
from gridengine.placement.timeline import Timeline
from gridengine.placement.values import ROUNDING
from gridengine.protocols.gdi.requests import AlterReservations, Caller, Reserve
from gridengine.protocols.gdi.shape_faults import shape_fault
from gridengine.state.apply import apply
from gridengine.state.bookings import Bookings, bookings_of
from gridengine.state.machines.reservation import ReservationChanged
from gridengine.state.reservations import AdvanceReservation, ReservationChanges
from gridengine.state.state import State
from gridengine.values.field_names import FIELD_NAMES

TIMES = frozenset(("start_time", "end_time", "duration"))
PLACEMENT_FIELDS = TIMES | {"hard", "hard_queues", "master_queues", "pe", "pe_range", "allocation_rule", "checkpoint", "users"}
"""Fields that decide on which instances the reservation can be granted."""
NEVER = frozenset(("verify", "now", "latest", "find", "rule"))
_FIELD = {"now": "immediate"}
_NOUNS = {
    **{field.name: field.noun for field in FIELD_NAMES if field.noun},
    "name": "name", "allowed": "user list", "denied": "user list", "granted": "slots", "hard_errors": "error behaviour",
}
"""The names of the fields of a reservation in messages."""
_FOLLOWING = frozenset(("resources", "granted_pe", "units"))
"""Fields that are never requested: their values follow from other fields."""


def alter_reservations(state: State, request: AlterReservations, caller: Caller, world: World) -> Decision:
    """Change the named reservations; a refusal concerns the whole request."""
    decision = Decision()
    if not may_reserve(state, caller, world):
        return decision.refuse(f'denied: "{caller.user}" must be manager, operator or in userset "arusers"')
    operator = is_operator(state, caller, world.admin_user)
    given = frozenset(request.changes)
    try:
        requested = msgspec.convert(request.changes, Reserve)
    except msgspec.ValidationError as error:
        return decision.refuse(f"denied: {shape_fault(error)}")
    if fixed := sorted(given & NEVER):
        return decision.refuse(f"denied: {', '.join(fixed)} of an advance reservation cannot be changed")
    chosen: dict[int, AdvanceReservation] = {}
    for target in request.targets:
        matching = select_reservations(state, target, [], caller.user)
        if not matching:
            return decision.refuse(no_match_text(target, []))
        chosen |= {reservation.id: reservation for reservation in matching}
    for reservation in chosen.values():
        if not operator and reservation.owner != caller.user:
            return decision.refuse(not_owner(caller, reservation, "modify"))
        if decision.events:
            # in sequence: resources granted to one reservation are not free for the next
            state = state.reserving_branch() if len(decision.events) == 1 else state
            apply(state, decision.events[-1])
        try:
            changes = _changes(state, state.reservations[reservation.id], requested, given, world)
        except RefusedError as refusal:
            return decision.refuse(refusal.text, refusal.status, refusal.hint)
        decision.events.append(ReservationChanged(reservation.id, changes, world.now, f"changed by {caller.user}"))
        decision.answer.info(f"modified advance_reservation {reservation.id}{_changed_nouns(changes)}")
    return decision


def _changed_nouns(changes: ReservationChanges) -> str:
    """The names of the changed fields, as they follow the number of the reservation in an answer."""
    nouns = dict.fromkeys(_NOUNS.get(name, name.replace("_", " ")) for name in changes.given() if name not in _FOLLOWING)
    return f" ({', '.join(nouns)})" if nouns else ": nothing has changed"


def _changes(
    state: State, reservation: AdvanceReservation, request: Reserve, given: frozenset[str], world: World
) -> ReservationChanges:
    """The fields that change. Raises RefusedError."""
    if reservation.ending:
        raise RefusedError(f"denied: advance_reservation {reservation.id} is no longer available")
    changed = _draft_change(state, reservation, request, given, world)
    if not PLACEMENT_FIELDS.isdisjoint(given):
        _grant_instances(state, reservation, changed, world)
    before, after = msgspec.structs.asdict(reservation), msgspec.structs.asdict(changed)
    return ReservationChanges(**{name: value for name, value in after.items() if value != before[name]})


def _grant_instances(state: State, reservation: AdvanceReservation, changed: AdvanceReservation, world: World) -> None:
    """Grant instances to the changed reservation. Raises RefusedError."""
    timeline = Timeline(state, world.now, without=reservation.id, planned=True)
    granting = Granting(PlacementConfig.of(state), timeline, _from_now(changed, world.now), world.zone)
    if granting.still_fits(reservation.granted, reservation.granted_pe, changed.pe_range):
        changed.granted, changed.granted_pe = reservation.granted, reservation.granted_pe
    elif reservation.started:
        raise RefusedError(f"denied: advance_reservation {reservation.id} has started and cannot be moved")
    else:
        changed.granted, changed.granted_pe = granting.place()
    if not changed.granted:
        raise RefusedError(NO_SUITABLE_QUEUES)
    if changed.granted != reservation.granted or changed.hard != reservation.hard:
        changed.units = granting.units(changed.granted)
    changed.resources = charges(state, as_job(changed))
    _check_use(state, reservation, changed)


def _from_now(changed: AdvanceReservation, now: float) -> AdvanceReservation:
    """The reservation with only the rest of its window: earlier capacity need not be free."""
    return msgspec.structs.replace(changed, start_time=max(now, changed.start_time))


def _draft_change(
    state: State, reservation: AdvanceReservation, request: Reserve, given: frozenset[str], world: World
) -> AdvanceReservation:
    """The reservation with the given fields, after the checks of a new reservation. Raises RefusedError."""
    start, end = _window(reservation, request, given, world.now)
    owner = Caller(reservation.owner, 0, reservation.group, 0, world.master_host)
    probe = msgspec.structs.replace(request, start_time=max(start, float(int(world.now))), end_time=end, duration=0.0)
    checked = draft(state, probe, owner, world)
    fields = {"start_time": start, "end_time": end}
    for name in given - TIMES:
        for field in ("allowed", "denied") if name == "users" else (_FIELD.get(name, name),):
            fields[field] = getattr(checked, field)
    changed = msgspec.structs.replace(reservation, **fields)
    check_slots(changed.pe, changed.allocation_rule, changed.pe_range)
    return changed


def _window(reservation: AdvanceReservation, request: Reserve, given: frozenset[str], now: float) -> tuple[float, float]:
    """-a moves the window, -e and -d change its end; two of them fix start and end. Raises RefusedError."""
    start, end = reservation.start_time, reservation.end_time
    if "start_time" in given and request.start_time != start:
        if reservation.started:
            raise RefusedError(f"denied: advance_reservation {reservation.id} has started, its start time cannot change")
        start, end = request.start_time, request.start_time + (end - start)
        if start < int(now):
            raise RefusedError("start time is in the past")
    if "duration" in given:
        end = start + request.duration
    if "end_time" in given:
        if "duration" in given and request.end_time != end:
            raise RefusedError("difference between end and start time does not correspond to duration")
        end = request.end_time
    if end <= now:
        raise RefusedError("end time is in the past")
    if start >= end:
        raise RefusedError("start time is later than end time")
    return start, end


def _check_use(state: State, reservation: AdvanceReservation, changed: AdvanceReservation) -> None:
    """Resources in use by its running jobs must remain reserved. Raises RefusedError."""
    held = Bookings()
    held.book(bookings_of(changed.granted, state.amounts(changed.resources), changed.granted_pe))
    for holder, name, amount in state.reserved.used[reservation.id].entries():
        if holder.kind == "instance" and amount > held.of(holder, name) + ROUNDING:
            raise RefusedError(f"denied: running jobs use {amount:g} of {name} of advance_reservation {reservation.id}")
