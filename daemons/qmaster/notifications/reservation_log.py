"""The log of advance reservations: the effect of each event on a reservation, in texts for records and mail messages.

Owns the names of the events of ar_log and their sentences. Pure: made from the state before the events are applied. Called by
`reporting` and `reservation_mail`. Source: sge_reporting(5) ar_log; AR-66, AR-121.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from gridengine.state.events import AnyEvent
from gridengine.state.machines.reservation import (
    ReservationChanged,
    ReservationEnding,
    ReservationErrorsSet,
    ReservationGranted,
    ReservationRemoved,
    ReservationStarted,
)
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State

CREATED, START, END = "CREATED", "START TIME REACHED", "END TIME REACHED"
UNSATISFIED, SATISFIED = "RESOURCES UNSATISFIED", "RESOURCES SATISFIED"
DELETED, TERMINATED, CHANGED = "DELETED", "TERMINATED", "CHANGED"
MOVED = "moved "
"""The first word of the reason of a change by healing."""


class Entry(NamedTuple):
    """`reservation` is as it is after the event; `time`: epoch s."""

    name: str
    reservation: AdvanceReservation
    time: float
    message: str


def entries(state: State, events: Iterable[AnyEvent]) -> Iterator[Entry]:
    """The entries of a transaction that is about to be applied, in order."""
    known: dict[int, AdvanceReservation] = {}
    for event in events:
        entry_of = _ENTRIES.get(type(event))
        if entry_of is not None:
            number = event.reservation.id if type(event) is ReservationGranted else event.ar_id  # type: ignore[union-attr]
            entry = entry_of(event, known.get(number) or state.reservations.get(number))
            known[number] = entry.reservation
            yield entry


def _granted(event: ReservationGranted, _: None) -> Entry:
    one = event.reservation
    return Entry(CREATED, one, one.submit_time, f"{one.owner} made the advance reservation")


def _started(event: ReservationStarted, before: AdvanceReservation) -> Entry:
    return Entry(START, replace(before, started=True), event.time, "the start time has come")


def _errors_set(event: ReservationErrorsSet, before: AdvanceReservation) -> Entry:
    name, text = (UNSATISFIED, "; ".join(event.errors)) if event.errors else (SATISFIED, "all resources are there")
    return Entry(name, replace(before, errors=event.errors), event.time, text)


def _changed(event: ReservationChanged, before: AdvanceReservation) -> Entry:
    one = replace(before, **event.changes.given())
    return Entry(CHANGED, one, event.time, event.why or "attributes were changed")


def _ending(event: ReservationEnding, before: AdvanceReservation) -> Entry:
    ended = event.state == "x"
    text = "the end time has come" if ended else f"{event.by} deleted the advance reservation"
    return Entry(END if ended else DELETED, replace(before, ending=event.state), event.time, event.why or text)


def _removed(event: ReservationRemoved, before: AdvanceReservation) -> Entry:
    return Entry(TERMINATED, replace(before), event.time, "all jobs are gone and the slots are given back")


_ENTRIES: dict[type, Callable[[Any, Any], Entry]] = {
    ReservationGranted: _granted,
    ReservationStarted: _started,
    ReservationErrorsSet: _errors_set,
    ReservationChanged: _changed,
    ReservationEnding: _ending,
    ReservationRemoved: _removed,
}
"""(event, the reservation before it) -> its entry in the log."""
