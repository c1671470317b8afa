"""Periods of reports: their names, their two ends, and the period before each, for the comparison.

Owns the words for periods. Pure: `now` and the time zone (None: of the process) are arguments. Called by the reports of
the web server and by `gridengine report`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

from gridengine.errors import InvalidValueError

LAST_MONTH, THIS_MONTH = "last-month", "month"
NAMED = {
    LAST_MONTH: "Last month", THIS_MONTH: "This month", "7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "365 days",
}
"""The periods of pages, with their labels. Further periods: `YYYY-MM`, and `YYYY-MM-DD..YYYY-MM-DD`, both days included."""
MOST_DAYS = 3660
"""Days of the longest period."""
_DAYS = re.compile(r"([0-9]{1,4})d", re.ASCII)
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})", re.ASCII)
_FORM = "last-month, month, 30d, 2026-10, or 2026-10-01..2026-10-15"


class Period(NamedTuple):
    """A span of time, `name` as in an address. `begin`, `end`: epoch s; the end is the first moment after the period."""

    name: str
    begin: float
    end: float

    @property
    def length_s(self) -> float:
        return self.end - self.begin

    def days(self, zone: tzinfo | None) -> str:
        """The first and the last day: `2026-10-01 to 2026-10-31`."""
        first, last = (datetime.fromtimestamp(each, zone).date() for each in (self.begin, max(self.begin, self.end - 1)))
        return str(first) if first == last else f"{first} to {last}"


def parse_period(text: str, now: float, zone: tzinfo | None) -> tuple[Period, Period]:
    """The period that a text names, and the period before. Raises InvalidValueError.

    A month has the month before, and this month the same first part of it; any other period has the same length before.
    """
    today = datetime.fromtimestamp(now, zone).date()
    if text in (LAST_MONTH, THIS_MONTH):
        first = today.replace(day=1)
        return _this_month(first, now, zone) if text == THIS_MONTH else _month(text, _month_before(first), zone)
    if match := _DAYS.fullmatch(text):
        length = int(match[1]) * 86_400
        if not 1 <= int(match[1]) <= MOST_DAYS:
            raise InvalidValueError(f'"{text}" is no period: 1 to {MOST_DAYS} days')
        return Period(text, now - length, now), Period("", now - 2 * length, now - length)
    try:
        if match := _MONTH.fullmatch(text):
            return _month(text, date(int(match[1]), int(match[2]), 1), zone)
        return _days(text, zone)
    except InvalidValueError:
        raise
    except (ValueError, OverflowError):
        raise InvalidValueError(f'"{text}" is no period: {_FORM}') from None


def name_of_month(moment: float, zone: tzinfo | None) -> str:
    """`2026-10`: the month before a moment (epoch s)."""
    return f"{_month_before(datetime.fromtimestamp(moment, zone).date().replace(day=1)):%Y-%m}"


def _this_month(first: date, now: float, zone: tzinfo | None) -> tuple[Period, Period]:
    begin, before = _start(first, zone), _start(_month_before(first), zone)
    return Period(THIS_MONTH, begin, now), Period("", before, min(begin, before + now - begin))


def _month(name: str, first: date, zone: tzinfo | None) -> tuple[Period, Period]:
    begin = _start(first, zone)
    after = (first + timedelta(days=31)).replace(day=1)
    return Period(name, begin, _start(after, zone)), Period("", _start(_month_before(first), zone), begin)


def _month_before(first: date) -> date:
    return (first - timedelta(days=1)).replace(day=1)


def _days(text: str, zone: tzinfo | None) -> tuple[Period, Period]:
    """Raises ValueError."""
    first, _, last = text.partition("..")
    begin, end = date.fromisoformat(first), date.fromisoformat(last or first) + timedelta(days=1)
    length = end - begin
    if not 1 <= length.days <= MOST_DAYS:
        raise InvalidValueError(f'"{text}" is no period: the first day is after the last, or it has more than {MOST_DAYS} days')
    middle = _start(begin, zone)
    return Period(text, middle, _start(end, zone)), Period("", _start(begin - length, zone), middle)


def _start(day: date, zone: tzinfo | None) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
