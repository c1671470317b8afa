"""Advance reservations: granted, changed, started, in error, ending, removed; and the reservations for pending jobs.

Owns the events, the writing of `AdvanceReservation` and its index, and the bookings to which a job is charged: the
cluster's bookings, or the bookings inside its reservation (AR-92). Called by `gridengine.state.apply` only.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from gridengine.state.bookings import Bookings
from gridengine.state.instances import remove_instance
from gridengine.state.jobs import Job
from gridengine.state.machines.event import Event, Handlers, Transitions, unchanged
from gridengine.state.reservations import AdvanceReservation, JobReservation, ReservationChanges
from gridengine.state.state import State


class ReservationGranted(Event, frozen=True, tag=True):
    """The advance reservation `reservation` was made, with its grants (qrsub)."""

    reservation: AdvanceReservation


class ReservationChanged(Event, frozen=True, tag=True):
    """`changes`: by qralter, or by healing. `why`: for its log."""

    ar_id: int
    changes: ReservationChanges
    time: float
    why: str = ""


class ReservationStarted(Event, frozen=True, tag=True):
    """Its start time has passed (AR-54)."""

    ar_id: int
    time: float


class ReservationErrorsSet(Event, frozen=True, tag=True):
    """The problems of its instances changed to `errors`, a text each; without any it is usable again (AR-57, AR-58)."""

    ar_id: int
    errors: list[str]
    time: float


class ReservationEnding(Event, frozen=True, tag=True):
    """`state`: its end time has passed (`x`) or it was deleted (`d`); `by`: user, or `qmaster`. Its jobs are deleted first, then
    the reservation (AR-55, AR-104). `why`: for its log."""

    ar_id: int
    state: Literal["x", "d"]
    by: str
    time: float
    why: str = ""


class ReservationRemoved(Event, frozen=True, tag=True):
    """The reservation is removed with the last of its jobs."""

    ar_id: int
    time: float


class JobReservationsSet(Event, frozen=True, tag=True):
    """`reservations`: the scheduler's reservations for pending jobs (-R y), which replace all previous reservations (AR-52)."""

    durable: ClassVar[bool] = False
    reservations: list[JobReservation]


ReservationEvent = (
    ReservationGranted
    | ReservationChanged
    | ReservationStarted
    | ReservationErrorsSet
    | ReservationEnding
    | ReservationRemoved
    | JobReservationsSet
)

_STANDING = ("granted", "active")
TRANSITIONS: Transitions = {
    ReservationGranted: {"none": "granted"},
    ReservationChanged: unchanged(*_STANDING, "ending"),
    ReservationStarted: {"granted": "active"},
    ReservationErrorsSet: unchanged(*_STANDING),
    ReservationEnding: dict.fromkeys(_STANDING, "ending"),
    ReservationRemoved: {"ending": "none"},
}
"""`granted`: before its start. `active`: after it. `ending`: past its end or deleted, and waits for the end of its jobs.
The error state is independent of these states."""


def state_of(state: State, event: Any) -> str:
    """The state of the reservation of an event."""
    number = event.reservation.id if type(event) is ReservationGranted else event.ar_id
    found = state.reservations.get(number)
    if found is None:
        return "none"
    return "ending" if found.ending else "active" if found.started else "granted"


def index_reservations(state: State) -> None:
    """Build the index of a state that came from a snapshot."""
    for reservation in state.reservations.values():
        state.reserved.add(reservation, state.amounts(reservation.resources), state.revision)


def index_job(state: State, job: Job) -> None:
    """Add a job to its requested reservation."""
    if job.ar in state.reserved.jobs:
        state.reserved.jobs[job.ar].add(job.id)


def forget_job(state: State, job: Job) -> None:
    """Remove a job from its reservation: the job is gone, or is about to request another reservation."""
    if job.ar in state.reserved.jobs:
        state.reserved.jobs[job.ar].discard(job.id)


def book_of(state: State, job: Job) -> Bookings:
    """The bookings to which a job is charged."""
    return state.reserved.used.get(job.ar, state.bookings) if job.ar else state.bookings


def note_use(state: State, job: Job, time: float) -> None:
    """Update the idle time of a reservation: a task of the job began or ended at `time`."""
    reservation = state.reservations.get(job.ar)
    if reservation is not None:
        reservation.idle_since = 0.0 if state.reserved.used[job.ar] else time


def _granted(state: State, event: ReservationGranted) -> None:
    # a copy: a mirror in the same process must not share objects that apply changes
    reservation = msgspec.structs.replace(event.reservation)
    state.reservations[reservation.id] = reservation
    state.next_ar_id = reservation.id + 1
    state.reserved.add(reservation, state.amounts(reservation.resources), state.revision)


def _changed(state: State, event: ReservationChanged) -> None:
    reservation = state.reservations[event.ar_id]
    before = list(reservation.granted)
    state.reserved.take_out(reservation)
    for name, value in event.changes.given().items():
        setattr(reservation, name, value)
    state.reserved.add(reservation, state.amounts(reservation.resources), state.revision)
    for grant in before:
        drop_orphan(state, grant.instance)


def _started(state: State, event: ReservationStarted) -> None:
    reservation = state.reservations[event.ar_id]
    reservation.started = True
    reservation.idle_since = event.time
    state.reserved.note_window(reservation)


def _errors_set(state: State, event: ReservationErrorsSet) -> None:
    state.reservations[event.ar_id].errors = list(event.errors)


def _ending(state: State, event: ReservationEnding) -> None:
    state.reservations[event.ar_id].ending = event.state


def _removed(state: State, event: ReservationRemoved) -> None:
    reservation = state.reservations.pop(event.ar_id)
    state.reserved.forget(reservation)
    for grant in reservation.granted:
        drop_orphan(state, grant.instance)


def _job_reservations_set(state: State, event: JobReservationsSet) -> None:
    state.job_reservations = event.reservations


def drop_orphan(state: State, name: str) -> None:
    """Remove an orphaned instance that is no longer in use (CQ-31, AR-80)."""
    instance = state.instances.get(name)
    if instance is not None and instance.orphaned and not state.is_in_use(name):
        remove_instance(state, name)


HANDLERS: Handlers = {
    ReservationGranted: _granted,
    ReservationChanged: _changed,
    ReservationStarted: _started,
    ReservationErrorsSet: _errors_set,
    ReservationEnding: _ending,
    ReservationRemoved: _removed,
    JobReservationsSet: _job_reservations_set,
}
