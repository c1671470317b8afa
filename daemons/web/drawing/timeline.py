"""The layout of a time line: rows with spans of time; overlapping spans lie below each other in lanes.

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
_MIN_WIDTH = 3
"""The minimum width of a span, so that it is visible and can be clicked."""
_CHARACTER = 8
"""The width of a bold character of 12 px, at most."""


class TimeSpan(NamedTuple):
    """A span of time from `begin` to `end`, epoch s. `tone`: of style.css; `address`: of the page behind it. `lane`: whether the
    span has its own lane; other spans lie behind, over the whole row."""

    begin: float
    end: float
    tone: str
    text: str
    title: str
    address: str
    lane: bool = True


class TimeBar(NamedTuple):
    """A `span` with its position (`x`, `y`) and its size (`width`, `height`). `fits`: whether the text fits into the bar."""

    span: TimeSpan
    x: float
    y: int
    width: float
    height: int
    fits: bool


class TimeRow(NamedTuple):
    """A row with its position (`y`) and `height`. `bars`: background bars come first."""

    name: str
    y: int
    height: int
    bars: list[TimeBar]


class TimeTick(NamedTuple):
    """`x`: its position; `day`: whether a day begins here."""

    x: float
    text: str
    day: bool


class TimeLine(NamedTuple):
    """`rows`: in order; `ticks`: of the axis of time; `width`, `height`: of the whole drawing. `now`: position of the present,
    None if outside of the window; `snap`: seconds to which a drag is rounded."""

    rows: list[TimeRow]
    ticks: list[TimeTick]
    width: int
    height: int
    now: float | None
    snap: int


def draw(spans: Mapping[str, Sequence[TimeSpan]], begin: float, end: float, now: float, zone: tzinfo) -> TimeLine:
    """The time line from `begin` to a later `end`, epoch s. `spans`: by the name of the row, in order."""
    unit = SCALE / (end - begin)

    def x_of(when: float) -> float:
        return round(LABELS + (min(max(when, begin), end) - begin) * unit, 1)

    rows, y = [], HEAD
    for name, of in spans.items():
        visible = sorted((each for each in of if each.end > begin and each.begin < end), key=lambda each: (each.begin, each.end))
        lanes = _lanes([each for each in visible if each.lane])
        height = max(1, 1 + max(lanes.values(), default=0)) * LANE + 2 * PAD
        bars = []
        for each in sorted(visible, key=lambda one: one.lane):
            x = x_of(each.begin)
            width = max(_MIN_WIDTH, round(x_of(each.end) - x, 1))
            top = y + PAD + lanes[each] * LANE if each.lane else y
            bars.append(TimeBar(each, x, top, width, LANE - 4 if each.lane else height, width > _CHARACTER * len(each.text) + 8))
        rows.append(TimeRow(name, y, height, bars))
        y += height
    ticks = [TimeTick(x_of(when.timestamp()), text, day) for when, text, day in _ticks(begin, end, zone)]
    snap = 300 if end - begin <= 2 * _DAY_S else 3600
    return TimeLine(rows, ticks, LABELS + SCALE + PAD, y + PAD, x_of(now) if begin <= now < end else None, snap)


def _lanes(spans: Sequence[TimeSpan]) -> dict[TimeSpan, int]:
    """The lane of each span: the first free lane. The spans are in the order of their begins."""
    free_at: list[float] = []
    lanes = {}
    for span in spans:
        lane = next((number for number, when in enumerate(free_at) if when <= span.begin), len(free_at))
        free_at[lane : lane + 1] = [span.end]
        lanes[span] = lane
    return lanes


def _ticks(begin: float, end: float, zone: tzinfo) -> Iterator[tuple[datetime, str, bool]]:
    """Round local times within a window: days begin at midnight, also on days with a change of the clock."""
    step = next((each for each in _STEPS_S if (end - begin) / each <= _TICKS), _STEPS_S[-1])
    day = datetime.fromtimestamp(begin, zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    while (wall := day).replace(tzinfo=zone).timestamp() < end:
        for second in range(0, _DAY_S, min(step, _DAY_S)):
            when = (wall + timedelta(seconds=second)).replace(tzinfo=zone)
            if begin <= when.timestamp() < end:
                yield when, f"{when:%m-%d}" if not second else f"{when:%H:%M}", not second
        day += timedelta(days=max(1, step // _DAY_S))
