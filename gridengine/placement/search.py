"""Search: the next windows in which an advance reservation would fit.

Owns the choice of examined moments: the moments at which resources are released. Called by the qmaster for -latest, -find
and the report of -w v. Source: none in 8.1.9; users of other schedulers know it as the earliest possible start.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import NamedTuple

from gridengine.placement.granting import Granting
from gridengine.placement.timeline import Timeline
from gridengine.state.jobs import Grant
from gridengine.state.state import State
from gridengine.syntax.calendar import ON, next_change

MOST_LOOKS = 100
"""Moments that one search examines: in a full cluster of a thousand hosts each may take 15 ms."""
_CALENDAR_CHANGES = 20


class FreeWindow(NamedTuple):
    """A free window from `start` to `end`, epoch seconds, and the grants in it (`granted`)."""

    start: float
    end: float
    granted: list[Grant]
    pe: str


def windows(granting: Granting, timeline: Timeline, first: float, latest: float, duration: float) -> Iterator[FreeWindow]:
    """The free windows of this duration (s) that begin from `first` to `latest`, the earliest first."""
    for start in moments(timeline, granting.zone, first, latest)[:MOST_LOOKS]:
        granting.window(start, start + duration)
        granted, pe = granting.place()
        if granted:
            yield FreeWindow(start, start + duration, granted, pe)


def moments(timeline: Timeline, zone: tzinfo, first: float, latest: float) -> list[float]:
    """`first`, and every whole second after it at which resources may become free."""
    found = {first}
    found.update(float(-(-end // 1)) for end in timeline.ends() if first < end <= latest)
    found.update(_openings(timeline.state, zone, first, latest))
    return sorted(found)


def _openings(state: State, zone: tzinfo, first: float, latest: float) -> Iterator[float]:
    """When calendars of queues open."""
    used = {text["calendar"] for text in state.kind("cluster_queue").values()} & state.kind("calendar").keys()
    for name in used:
        moment = datetime.fromtimestamp(first, zone).replace(tzinfo=None)
        for _ in range(_CALENDAR_CHANGES):
            change = next_change(state.calendars[name], moment)
            if change is None:
                break
            moment = change[0]
            opening = moment.replace(tzinfo=zone).timestamp()
            if opening > latest:
                break
            if change[1] == ON and opening > first:
                yield opening
