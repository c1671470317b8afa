"""The layout of a time line: rows of things, and spans of time in them, which lie below each other where they overlap.

Owns the scale, its ticks, lanes and positions; drawn by `templates/timeline.html`. Pure. Source: GU-10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

LABELS, SCALE = 170, 930
"""Widths: of the names of rows, and of the window; user units."""
HEAD, LANE, PAD = 34, 22, 4
_TICKS = 12
_STEPS_S = (300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600)
_DAY_S = 86400
_LEAST = 3
"""A span is as wide as this at least, so that it can be seen and hit."""


class TimeSpan(NamedTuple):
    """Something that lasts, epoch s. `lane`: whether it has room of its own; others lie behind, over the whole row."""

    begin: float
    end: float
    tone: str
    text: str
    title: str
    address: str
    lane: bool = True


class TimeBar(NamedTuple):
    """A span at its place. `fits`: whether its text does."""

    span: TimeSpan
    x: float
    y: int
    width: float
    height: int
    fits: bool


class TimeRow(NamedTuple):
    """A row at its place; bars that lie behind come first."""

    name: str
    y: int
    height: int
    bars: list[TimeBar]


class TimeTick(NamedTuple):
    """`day`: a day begins here."""

    x: float
    text: str
    day: bool


class TimeLine(NamedTuple):
    """`now`: where the present is, None if it is not within; `snap`: seconds to which a drag is rounded."""

    rows: list[TimeRow]
    ticks: list[TimeTick]
    width: int
    height: int
    now: float | None
    snap: int


def draw(spans: Mapping[str, Sequence[TimeSpan]], begin: float, end: float, now: float, zone: tzinfo) -> TimeLine:
    """Rows by name in their order, with what lasts in each; from `begin` to `end`, epoch s, that is later."""
    unit = SCALE / (end - begin)

    def at(when: float) -> float:
        return round(LABELS + (min(max(when, begin), end) - begin) * unit, 1)

    rows, y = [], HEAD
    for name, of in spans.items():
        seen = sorted((each for each in of if each.end > begin and each.begin < end), key=lambda each: (each.begin, each.end))
        lanes = _lanes([each for each in seen if each.lane])
        height = max(1, 1 + max(lanes.values(), default=0)) * LANE + 2 * PAD
        bars = []
        for each in sorted(seen, key=lambda one: one.lane):
            x = at(each.begin)
            width = max(_LEAST, round(at(each.end) - x, 1))
            top = y + PAD + lanes[each] * LANE if each.lane else y
            bars.append(TimeBar(each, x, top, width, LANE - 4 if each.lane else height, width > 7 * len(each.text) + 8))
        rows.append(TimeRow(name, y, height, bars))
        y += height
    ticks = [TimeTick(at(when.timestamp()), text, day) for when, text, day in _ticks(begin, end, zone)]
    snap = 300 if end - begin <= 2 * _DAY_S else 3600
    return TimeLine(rows, ticks, LABELS + SCALE + PAD, y + PAD, at(now) if begin <= now < end else None, snap)


def _lanes(spans: Sequence[TimeSpan]) -> dict[TimeSpan, int]:
    """The first lane that is free again, for each span in the order of their begins."""
    free_at: list[float] = []
    found = {}
    for span in spans:
        lane = next((number for number, when in enumerate(free_at) if when <= span.begin), len(free_at))
        free_at[lane : lane + 1] = [span.end]
        found[span] = lane
    return found


def _ticks(begin: float, end: float, zone: tzinfo) -> Iterator[tuple[datetime, str, bool]]:
    """Round times of the clock on the wall within a window: days begin at midnight, also when the clock is changed."""
    step = next((each for each in _STEPS_S if (end - begin) / each <= _TICKS), _STEPS_S[-1])
    day = datetime.fromtimestamp(begin, zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    while (wall := day).replace(tzinfo=zone).timestamp() < end:
        for second in range(0, _DAY_S, min(step, _DAY_S)):
            when = (wall + timedelta(seconds=second)).replace(tzinfo=zone)
            if begin <= when.timestamp() < end:
                yield when, f"{when:%m-%d}" if not second else f"{when:%H:%M}", not second
        day += timedelta(days=max(1, step // _DAY_S))
