"""Advance reservations: qrsub, from the request to a grant or a refusal with its reason.

Owns the rights to reserve, and the choice of windows: the requested window, the first window that fits, or all windows of a
series. `gridengine.placement.granting` selects the instances. Source: qrsub(1); statements AR-1 … AR-37; O for texts.
"""

from __future__ import annotations

import msgspec

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.admission import EXIT_LIMIT
from daemons.qmaster.decide.reservations.reports import find_windows, moment_text, refusal_lines, report
from daemons.qmaster.decide.reservations.requests import draft, may_reserve, next_ar_id
from daemons.qmaster.decide.reservations.series import occurrences
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import is_admin_host, is_submit_host, not_submit_host
from gridengine.placement.charges import charges
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.granting import Granting, as_job
from gridengine.placement.search import windows
from gridengine.placement.timeline import Timeline
from gridengine.protocols.gdi.requests import Caller, Reserve
from gridengine.state.events import AnyEvent
from gridengine.state.machines.reservation import ReservationGranted, ReservationStarted
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State

NO_SUITABLE_QUEUES = "advance_reservation: no suitable queues"


def reserve(state: State, request: Reserve, caller: Caller, world: World) -> Decision:
    """Grant or refuse an advance reservation, or a series of them as a whole; with `-w v` and `-find` only report."""
    decision = Decision()
    try:
        _check_rights(state, caller, world)
        reservation = draft(state, request, caller, world)
        starts = [reservation.start_time]
        if request.rule and (request.latest or request.find):
            raise RefusedError("denied: the times of a series (-recur) are fixed: -latest and -find are for single reservations")
        if request.rule:
            starts = occurrences(request.rule, starts[0], reservation.end_time - starts[0], world.zone)
        _check_limit(state, len(starts))
        if request.latest and request.latest < reservation.start_time:
            raise RefusedError("latest start time is earlier than start time")
    except RefusedError as refusal:
        return decision.refuse(refusal.text, refusal.status, refusal.hint)
    if request.master_queues and not (request.pe or request.allocation_rule):
        decision.answer.warning("warning: -masterq has no effect without a parallel environment (-pe)")
    granting = Granting(PlacementConfig.of(state), Timeline(state, world.now, planned=True), reservation, world.zone)
    if request.find:
        decision += find_windows(granting, reservation, request)
        return decision
    if request.verify == "v":
        if request.rule:
            reservation = _first_unfit(granting, reservation, starts)
            decision.answer.info(f"the occurrence of {moment_text(reservation.start_time, world.zone)}:")
        decision += report(granting, reservation)
        return decision
    if request.latest:
        _first_fit(granting, reservation, request.latest)
    elif not _all_fit(state, granting, reservation, starts, decision, world):
        return decision
    if len(starts) == 1 and not _grant(state, granting, reservation, decision, world):
        return decision
    decision.answer.data = {"id": reservation.id}
    return decision


def _first_unfit(granting: Granting, reservation: AdvanceReservation, starts: list[float]) -> AdvanceReservation:
    """The first occurrence that cannot be granted, else the first of all; the granting has its window."""
    duration = reservation.end_time - reservation.start_time
    for start in (*starts, starts[0]):
        granting.window(start, start + duration)
        if not granting.place()[0]:
            break
    return msgspec.structs.replace(reservation, start_time=start, end_time=start + duration)


def _first_fit(granting: Granting, reservation: AdvanceReservation, latest: float) -> None:
    """Move the reservation to the first window that fits, if any (-latest)."""
    start, end = reservation.start_time, reservation.end_time
    for window in windows(granting, granting.timeline, start, latest, end - start):
        reservation.start_time, reservation.end_time = window.start, window.end
        return
    granting.window(start, end)


def _all_fit(
    state: State,
    granting: Granting,
    reservation: AdvanceReservation,
    starts: list[float],
    decision: Decision,
    world: World,
) -> bool:
    """Grant all occurrences of a series, each under a number of its own; none if one cannot be granted. The caller grants a
    single occurrence."""
    if len(starts) == 1:
        return True
    duration = reservation.end_time - reservation.start_time
    number = reservation.id
    for index, start in enumerate(starts):
        number = next_ar_id(state, number) if index else number
        one = msgspec.structs.replace(
            reservation, id=number, series=reservation.id, start_time=start, end_time=start + duration
        )
        if not _grant(state, granting, one, decision, world):
            return False
    return True


def _grant(
    state: State, granting: Granting, reservation: AdvanceReservation, decision: Decision, world: World
) -> bool:
    """Grant one reservation, or refuse the request."""
    granting.window(reservation.start_time, reservation.end_time)
    reservation.granted, reservation.granted_pe = granting.place()
    if not reservation.granted:
        decision.answer.answers.clear()
        when = f" for the occurrence of {moment_text(reservation.start_time, world.zone)}" if reservation.series else ""
        decision.refuse(NO_SUITABLE_QUEUES + when)
        for line in refusal_lines(granting):
            decision.answer.error(line)
        return False
    reservation.units = granting.units(reservation.granted)
    reservation.resources = charges(state, as_job(reservation))
    decision.events += granting_events(reservation, world.now)
    decision.answer.info(f"Your advance reservation {reservation.id} has been granted")
    return True


def granting_events(reservation: AdvanceReservation, now: float) -> list[AnyEvent]:
    """The event of the grant, and the event of the start if the reservation starts now."""
    events: list[AnyEvent] = [ReservationGranted(reservation)]
    if reservation.start_time <= now:
        events.append(ReservationStarted(reservation.id, now))
    return events


def _check_rights(state: State, caller: Caller, world: World) -> None:
    if not (is_submit_host(state, caller.host) or is_admin_host(state, caller.host)):
        raise RefusedError(not_submit_host(caller))
    if not may_reserve(state, caller, world):
        raise RefusedError(f'denied: "{caller.user}" must be manager, operator or in userset "arusers"')


def _check_limit(state: State, more: int) -> None:
    """AR-31. Raises RefusedError."""
    limit = state.configuration().max_advance_reservations
    if limit and len(state.reservations) + more > limit:
        text = f"denied: the limit of {limit} advance reservations (max_advance_reservations) is reached"
        raise RefusedError(text, EXIT_LIMIT)
