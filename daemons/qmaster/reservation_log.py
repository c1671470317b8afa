"""The log of advance reservations: what each event did to one, in the words that records and letters share.

Owns the names of the events of ar_log and their sentences. Pure: made from the state before the events are applied.
Called by `reporting` and `reservation_mail`. Source: sge_reporting(5) ar_log; AR-66, AR-121.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from gridengine.state.events import AnyEvent
from gridengine.state.machines.reservation import (
    ReservationChanged,
    ReservationEnding,
    ReservationErrorsSet,
    ReservationGranted,
    ReservationRemoved,
    ReservationStarted,
)
from gridengine.state.reservations import AdvanceReservation, typed_changes
from gridengine.state.state import State

CREATED, START, END = "CREATED", "START TIME REACHED", "END TIME REACHED"
UNSATISFIED, SATISFIED = "RESOURCES UNSATISFIED", "RESOURCES SATISFIED"
DELETED, TERMINATED, CHANGED = "DELETED", "TERMINATED", "CHANGED"


class Entry(NamedTuple):
    """`reservation` is as it is after the event; `time`: epoch s."""

    name: str
    reservation: AdvanceReservation
    time: float
    message: str


def entries(state: State, events: Iterable[AnyEvent]) -> Iterator[Entry]:
    """The entries of a transaction that is about to be applied, in order."""
    known: dict[int, AdvanceReservation] = {}

    def changed(number: int, **changes: object) -> AdvanceReservation:
        before = known.get(number) or state.reservations[number]
        known[number] = msgspec.structs.replace(before, **changes)
        return known[number]

    for event in events:
        if isinstance(event, ReservationGranted):
            one = known[event.reservation.id] = event.reservation
            yield Entry(CREATED, one, one.submit_time, f"{one.owner} made the advance reservation")
        elif isinstance(event, ReservationStarted):
            yield Entry(START, changed(event.ar_id, started=True), event.time, "the start time has come")
        elif isinstance(event, ReservationErrorsSet):
            one = changed(event.ar_id, errors=event.errors)
            name, text = (UNSATISFIED, "; ".join(event.errors)) if event.errors else (SATISFIED, "all resources are there")
            yield Entry(name, one, event.time, text)
        elif isinstance(event, ReservationChanged):
            one = changed(event.ar_id, **typed_changes(event.changes))
            yield Entry(CHANGED, one, event.time, event.why or "attributes were changed")
        elif isinstance(event, ReservationEnding):
            one = changed(event.ar_id, ending=event.state)
            ended = event.state == "x"
            text = "the end time has come" if ended else f"{event.by} deleted the advance reservation"
            yield Entry(END if ended else DELETED, one, event.time, event.why or text)
        elif isinstance(event, ReservationRemoved):
            one = changed(event.ar_id)
            yield Entry(TERMINATED, one, event.time, "all jobs are gone and the slots are given back")
