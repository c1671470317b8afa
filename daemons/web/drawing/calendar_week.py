"""A week of a calendar: by day, the spans of the local clock in which a queue with it is on, off or suspended.

Owns the week and its hours that the clock passes over or has twice; what the state is says the qmaster's own reading of calendars
(`gridengine.syntax.calendar`). Drawn by `templates/week.html`. Pure. Source: calendar_conf(5); CA-2 … CA-6.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from gridengine.syntax.calendar import Calendar, next_change, state_at

_DAY_S = 86_400
_QUARTER = timedelta(minutes=15)


class StateSpan(NamedTuple):
    """Seconds of a day by the clock, the end not included, and the state then: `on`, `off` or `suspended`."""

    begin: int
    end: int
    state: str


class CalendarDay(NamedTuple):
    """`skipped`, `repeated`: seconds of the clock that are not there that day, and that come twice."""

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
    moment, over = datetime.combine(day, time()), datetime.combine(day, time()) + timedelta(days=1)
    begin, state, found = 0, state_at(calendar, moment), []
    while (change := next_change(calendar, moment)) and change[0] < over:
        moment, following = change
        second = moment.hour * 3600 + moment.minute * 60 + moment.second
        found.append(StateSpan(begin, second, state))
        begin, state = second, following
    return [*found, StateSpan(begin, _DAY_S, state)]


def _changed_clock(day: date, zone: tzinfo) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """What the clock passes over, and what it has twice: there the first and the second reading of a time differ."""
    skipped: list[int] = []
    repeated: list[int] = []
    for number in range(_DAY_S // 900):
        local = datetime.combine(day, time()) + number * _QUARTER
        first, second = (local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
        if first is not None and second is not None and first != second:
            (skipped if first < second else repeated).append(number * 900)
    return _whole(skipped), _whole(repeated)


def _whole(quarters: list[int]) -> tuple[int, int] | None:
    return (quarters[0], quarters[-1] + 900) if quarters else None
