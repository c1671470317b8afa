"""Answers of qrsub without a reservation: the report of -w v, the windows of -find, and the reasons of a refusal.

Owns these texts. Called by `reservations`. Source: qrsub(1) -w; AR-17, AR-18; O for the verdict lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from itertools import islice

from daemons.qmaster.decision import Decision
from gridengine.placement.granting import Granting
from gridengine.placement.search import windows
from gridengine.placement.verify import FOUND, NOT_FOUND
from gridengine.protocols.gdi.requests import Answer, Reserve
from gridengine.state.reservations import AdvanceReservation
from gridengine.values.units import INFINITY

SHOWN_REASONS = 20
"""Number of instances that a refusal explains; `-w v` explains all."""
HORIZON_S = 30 * 86400.0
"""The end of the search for a window if the user gives none."""


def moment_text(moment: float, zone: tzinfo) -> str:
    """A time as qrstat prints it."""
    return f"{datetime.fromtimestamp(moment, zone):%m/%d/%Y %H:%M:%S}"


def refusal_lines(granting: Granting) -> list[str]:
    """The first reasons why a window is not available."""
    return [_line(reason.text) for reason in islice(granting.reasons, SHOWN_REASONS)]


def _line(text: str) -> str:
    """A reason as a sentence of its own."""
    return text if text.startswith("queue instance") else f"Your reservation {text}"


def report(granting: Granting, reservation: AdvanceReservation) -> Decision:
    """-w v: every reason with the holders of the instance and the ends of their use, the next window that fits, and the
    verdict."""
    granted, _ = granting.place()
    answer = Answer()
    for reason in list(granting.reasons):
        answer.info(_line(reason.text))
        if reason.place in granting.state.instances and reason.code in ("full", "queue_offers", "queue_exclusive"):
            for line in _holders(granting, reason.place):
                answer.info(line)
    if not granted:
        start, end = reservation.start_time, reservation.end_time
        later = windows(granting, granting.timeline, start, start + HORIZON_S, end - start)
        window = next(later, None)
        if window is not None:
            answer.info(f"It would fit from {moment_text(window.start, granting.zone)} on")
    answer.info(FOUND if granted else NOT_FOUND)
    answer.status = 0 if granted else 1
    return Decision(answer)


def _holders(granting: Granting, instance: str) -> Iterator[str]:
    for holder, until in granting.timeline.occupants(instance, granting.start, granting.end):
        end = "forever: it has no run time limit" if until == INFINITY else f"until {moment_text(until, granting.zone)}"
        yield f"queue instance \"{instance}\" is held by {holder} {end}"


def find_windows(granting: Granting, reservation: AdvanceReservation, request: Reserve) -> Decision:
    """-find: the first windows that fit, without reserving."""
    start = reservation.start_time
    latest = request.latest or start + HORIZON_S
    free = windows(granting, granting.timeline, start, latest, reservation.end_time - start)
    listed = [
        [one.start, one.end, [[grant.instance, grant.slots] for grant in one.granted]]
        for one in islice(free, request.find)
    ]
    answer = Answer(data={"windows": listed})
    if not listed:
        answer.error("advance_reservation: no suitable window")
    return Decision(answer)
