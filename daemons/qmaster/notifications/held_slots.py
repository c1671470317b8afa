"""The slots that advance reservations hold, kept for later queries: a row for each grant, change and end of a reservation.

Owns these rows; the reservation itself leaves the state at its end. Pure: made from the state before the events are applied.
Called by the master, which has the spool write them. Source: AR-124; adr/0127.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from daemons.qmaster.notifications import reservation_log as log
from gridengine.state.events import AnyEvent
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State

_CHANGES = (log.CREATED, log.CHANGED, log.TERMINATED)


class Held(NamedTuple):
    """A reservation as it is from `time` on; with `over` as it was until then. Times: epoch s."""

    ar_id: int
    time: float
    over: bool
    owner: str
    name: str
    account: str
    submit_time: float
    start_time: float
    end_time: float
    #: the state code of qrstat: `x` its end had come, `d` it was deleted
    state: str
    slots: int


def held_slots(state: State, events: Iterable[AnyEvent]) -> list[Held]:
    """The rows of a transaction that is about to be applied."""
    changes = (entry for entry in log.entries(state, events) if entry.name in _CHANGES)
    return [held(entry.reservation, entry.time, entry.name == log.TERMINATED) for entry in changes]


def held(one: AdvanceReservation, time: float, over: bool = False) -> Held:
    """The row of a reservation."""
    times = one.submit_time, one.start_time, one.end_time
    return Held(one.id, time, over, one.owner, one.name, one.account, *times, one.state, one.slots)
