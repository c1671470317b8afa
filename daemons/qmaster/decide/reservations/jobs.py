"""Jobs that request an advance reservation (-ar): their access to it, and their run time.

Owns these checks for submissions and changes. `gridengine.placement.reserved` checks whether the job fits inside. Source:
AR-56, AR-83 … AR-86; O for texts.
"""

from __future__ import annotations

from daemons.qmaster.decide.errors import RefusedError
from gridengine.placement.access import user_sets_of
from gridengine.placement.timeline import run_time_limit
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.values.units import INFINITY


def check_reservation(state: State, number: int, hard: dict[str, str], owner: Caller, now: float) -> AdvanceReservation:
    """The reservation, if the owner may use it for a job with these requests. Raises RefusedError. now: epoch seconds."""
    reservation = state.reservations.get(number)
    if reservation is None:
        raise RefusedError(f"the advance reservation id {number} is invalid: there is no such advance reservation")
    if reservation.ending:
        raise RefusedError(f"the advance reservation id {number} is no longer available")
    if not may_use(state, reservation, owner.user, owner.group):
        raise RefusedError(
            f"error: no suitable queues\n{owner.user} is not among the users of advance reservation {number}"
        )
    limit = run_time_limit(hard)
    if limit == INFINITY:
        return reservation
    if limit > reservation.end_time - reservation.start_time:
        raise RefusedError(f"the job duration is longer than duration of the advance reservation id {number}")
    if limit > reservation.end_time - int(now):  # whole seconds: a job of the whole window can be submitted at its start
        raise RefusedError(f"the job duration exceeds the end time of the advance reservation id {number}")
    return reservation


def may_use(state: State, reservation: AdvanceReservation, user: str, group: str) -> bool:
    """Whether a user is among the allowed users of -u, and not among the users with a ! (AR-84)."""
    names = {user, *(f"@{name}" for name in user_sets_of(state, user, group))}
    if not names.isdisjoint(reservation.denied):
        return False
    return not names.isdisjoint(reservation.allowed or (reservation.owner,))
