"""A week of a calendar: for each day, the spans of local time in which the calendar's queues are on, off or suspended.

Owns the week, and the hours that the clock skips or repeats. The states come from the qmaster's own parser of calendars
(`gridengine.syntax.calendar`). Drawn by `templates/week.html`. Pure. Source: calendar_conf(5); CA-2 … CA-6.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from gridengine.syntax.calendar import Calendar, next_change, state_at

_DAY_S = 86_400
_QUARTER = timedelta(minutes=15)


class StateSpan(NamedTuple):
    """Seconds of a day by the clock, from `begin` to `end`, without the end, and the `state` of this span: `on`, `off` or
    `suspended`."""

    begin: int
    end: int
    state: str


class CalendarDay(NamedTuple):
    """`day`: its date; `spans`: its states in order. `skipped`, `repeated`: seconds of the clock that the day lacks, or has
    twice."""

    day: date
    spans: list[StateSpan]
    skipped: tuple[int, int] | None
    repeated: tuple[int, int] | None


def monday_of(day: date) -> date:
    """The first day of a week."""
    return day - timedelta(days=day.weekday())


def week_of(calendar: Calendar, monday: date, zone: tzinfo) -> list[CalendarDay]:
    """The seven days from `monday` on."""
    days = [monday + timedelta(days=number) for number in range(7)]
    return [CalendarDay(day, _spans(calendar, day), *_changed_clock(day, zone)) for day in days]


def _spans(calendar: Calendar, day: date) -> list[StateSpan]:
    moment, day_end = datetime.combine(day, time()), datetime.combine(day, time()) + timedelta(days=1)
    begin, state, spans = 0, state_at(calendar, moment), []
    while (change := next_change(calendar, moment)) and change[0] < day_end:
        moment, following = change
        second = moment.hour * 3600 + moment.minute * 60 + moment.second
        spans.append(StateSpan(begin, second, state))
        begin, state = second, following
    return [*spans, StateSpan(begin, _DAY_S, state)]


def _changed_clock(day: date, zone: tzinfo) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """The times that the clock skips and repeats: there `fold` changes the UTC offset of a time."""
    skipped: list[int] = []
    repeated: list[int] = []
    for number in range(_DAY_S // 900):
        local = datetime.combine(day, time()) + number * _QUARTER
        first, second = (local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
        if first is not None and second is not None and first != second:
            (skipped if first < second else repeated).append(number * 900)
    return _bounds(skipped), _bounds(repeated)


def _bounds(quarters: list[int]) -> tuple[int, int] | None:
    return (quarters[0], quarters[-1] + 900) if quarters else None
