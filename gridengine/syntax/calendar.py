"""The year and week fields of calendars, their state at a time, and the time of its next change.

Owns the grammar and its meaning. Called by the calendar's model, by the qmaster's timers and by the scheduler.
Times are naive local times: the caller knows the time zone.

Grammar (sge_calendar_conf(5); CA-1, CA-2, CA-5), entries divided by blanks:
    year = NONE | {year_days ["=" hours] ["=" state] | state}          year_days = day ["-" day] {"," ...}
    week = NONE | {[week_days "="] [hours "="] [state]}                week_days = weekday ["-" weekday] {"," ...}
    day = D.M.Y        hours = clock "-" clock {"," ...}        clock = h[:m[:s]]        state = on | off | suspended
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import is_none

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

ON, OFF, SUSPENDED = "on", "off", "suspended"
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_SECONDS = 86400
_WEEK = 7

_GRAMMAR = r"""
year: year_days ["=" hours] ["=" STATE] | STATE
week: week_days ["=" hours] ["=" STATE] | hours ["=" STATE] | STATE
year_days: year_range ("," year_range)*
year_range: day ["-" day]
day: NUMBER "." (NUMBER | NAME) "." NUMBER
week_days: week_range ("," week_range)*
week_range: NAME ["-" NAME]
hours: hour_range ("," hour_range)*
hour_range: clock "-" clock
clock: NUMBER [":" NUMBER [":" NUMBER]]
STATE.2: /(on|off|suspended)(?![a-z])/i
NAME: /[a-z]+/i
NUMBER: /[0-9]{1,9}/
"""


class CalendarEntry(NamedTuple):
    """Days, hours and the `state` in them: on, off or suspended. `days`: (first, last) dates of the year field, both included;
    `weekdays`: 0 is Monday; `hours`: (start, end) in seconds of the day, end excluded. None stands for all."""

    days: tuple[tuple[date, date], ...] | None
    weekdays: frozenset[int] | None
    hours: tuple[tuple[int, int], ...] | None
    state: str

    def covers_day(self, day: date) -> bool:
        """Whether the entry applies to this day."""
        if self.days is not None:
            return any(first <= day <= last for first, last in self.days)
        return self.weekdays is None or day.weekday() in self.weekdays

    def covers(self, second: int) -> bool:
        """Whether the entry applies to this second of a day that it covers."""
        return self.hours is None or any(start <= second < end for start, end in self.hours)


class Calendar(NamedTuple):
    """The entries of both fields."""

    year: tuple[CalendarEntry, ...]
    week: tuple[CalendarEntry, ...]


def parse_calendar(year: str, week: str) -> Calendar:
    """Read both fields. Raises InvalidValueError."""
    return Calendar(parse_year(year), parse_week(week))


def parse_year(text: str) -> tuple[CalendarEntry, ...]:
    """Read the year field."""
    return _parse("year", text)


def parse_week(text: str) -> tuple[CalendarEntry, ...]:
    """Read the week field."""
    return _parse("week", text)


@cache
def _grammar() -> Lark:
    from lark import Lark  # late: most daemons never read one

    return Lark(_GRAMMAR, parser="lalr", start=["year", "week"], maybe_placeholders=True)


def _parse(field: str, text: str) -> tuple[CalendarEntry, ...]:
    if is_none(text):
        return ()
    from lark import UnexpectedInput

    entries = []
    for part in text.split():
        try:
            entries.append(_entry(_grammar().parse(part, start=field)))
        except UnexpectedInput as error:
            column = error.pos_in_stream
            position = f"at position {column + 1}" if column is not None and 0 <= column < len(part) else "at its end"
            raise InvalidValueError(f'the entry "{part}" is wrong {position}') from None
        except InvalidValueError as fault:
            raise InvalidValueError(f'the entry "{part}" is wrong: {fault}') from None
    return tuple(entries)


def _entry(tree: Tree[Token]) -> CalendarEntry:
    from lark import Tree

    days: tuple[tuple[date, date], ...] | None = None
    weekdays: frozenset[int] | None = None
    hours: tuple[tuple[int, int], ...] | None = None
    state = OFF
    for child in tree.children:
        if isinstance(child, Tree):
            if child.data == "year_days":
                days = tuple(_year_range(part) for part in _trees(child))
            elif child.data == "week_days":
                weekdays = frozenset(day for part in _trees(child) for day in _week_range(part))
            else:
                hours = tuple(span for part in _trees(child) for span in _hour_range(part))
        elif child is not None:
            state = str(child).lower()
    return CalendarEntry(days, weekdays, hours, state)


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    from lark import Tree

    return [child for child in tree.children if isinstance(child, Tree)]


def _tokens(tree: Tree[Token]) -> list[str]:
    return [str(child) for child in tree.children if child is not None]


def _parse_within(text: str, low: int, high: int, noun: str) -> int:
    if not low <= int(text) <= high:
        raise InvalidValueError(f"{int(text)} is not within {low} and {high}, the range of a {noun}")
    return int(text)


def _name_index(text: str, names: Sequence[str], noun: str) -> int:
    """The index of a name, given in full or as an abbreviation of three characters or more."""
    for index, name in enumerate(names):
        if text.lower().startswith(name):
            return index
    raise InvalidValueError(f'"{text}" is not a {noun}')


def _day(tree: Tree[Token]) -> date:
    day, month, year = _tokens(tree)
    number = _parse_within(month, 1, 12, "month") if month.isdecimal() else _name_index(month, _MONTHS, "month") + 1
    try:
        return date(_parse_within(year, 1970, 2037, "year"), number, _parse_within(day, 1, 31, "day"))
    except InvalidValueError:
        raise
    except ValueError:
        raise InvalidValueError(f"there is no {day}.{month}.{year}") from None


def _year_range(tree: Tree[Token]) -> tuple[date, date]:
    days = [_day(part) for part in _trees(tree)]
    if days[0] > days[-1]:
        raise InvalidValueError("the first day of a range must not be after the second")
    return days[0], days[-1]


def _week_range(tree: Tree[Token]) -> Iterable[int]:
    days = [_name_index(token, _WEEKDAYS, "weekday") for token in _tokens(tree)]
    if len(days) == 1:
        return days
    first, last = days
    if first == last:
        raise InvalidValueError("the days of a range must differ")
    return [day % _WEEK for day in range(first, (last if last > first else last + _WEEK) + 1)]


def _clock(tree: Tree[Token]) -> int:
    tokens = _tokens(tree)
    hour = _parse_within(tokens[0], 0, 24, "hour")
    minute = _parse_within(tokens[1], 0, 59, "minute") if len(tokens) > 1 else 0
    second = _parse_within(tokens[2], 0, 59, "second") if len(tokens) > 2 else 0
    seconds = hour * 3600 + minute * 60 + second
    if seconds > _DAY_SECONDS:
        raise InvalidValueError("a day ends at 24:00:00")
    return seconds


def _hour_range(tree: Tree[Token]) -> list[tuple[int, int]]:
    """One span, or two of the same day where the end is before the start (CA-5)."""
    start, end = (_clock(part) for part in _trees(tree))
    if start == end:
        raise InvalidValueError("a range of hours must not end where it begins, 0-24 is the whole day")
    if start < end:
        return [(start, end)]
    return [span for span in ((0, end), (start, _DAY_SECONDS)) if span[0] < span[1]]


def _entries_of(calendar: Calendar, day: date) -> tuple[list[CalendarEntry], list[CalendarEntry]]:
    """The entries of the year and of the week field that cover a day."""
    year = [entry for entry in calendar.year if entry.covers_day(day)]
    return year, [entry for entry in calendar.week if entry.covers_day(day)]


def _state(fields: Iterable[Iterable[CalendarEntry]], second: int) -> str:
    """Priority: on, suspended, off (CA-3). The week field counts where no entry of the year field applies (CA-4); default: on."""
    for entries in fields:
        states = {entry.state for entry in entries if entry.covers(second)}
        for state in (ON, SUSPENDED, OFF):
            if state in states:
                return state
    return ON


def state_at(calendar: Calendar, now: datetime) -> str:
    """`on`, `off` or `suspended` at a local time. Source: CA-2..6."""
    return _state(_entries_of(calendar, now.date()), now.hour * 3600 + now.minute * 60 + now.second)


def next_change(calendar: Calendar, now: datetime) -> tuple[datetime, str] | None:
    """The next local time, after now, at which the state changes, and the new state; None if it never changes."""
    current = state_at(calendar, now)
    for day in _candidate_days(calendar, now.date()):
        fields = _entries_of(calendar, day)
        hours = [span for entries in fields for entry in entries for span in entry.hours or ()]
        bounds = {0} | {second for span in hours for second in span}
        for second in sorted(bound for bound in bounds if bound < _DAY_SECONDS):
            moment = datetime.combine(day, time()) + timedelta(seconds=second)
            if moment > now and (state := _state(fields, second)) != current:
                return moment, state
    return None


def _candidate_days(calendar: Calendar, today: date) -> list[date]:
    """Days on which the state can change for the first time: a week from now, and around the days of the year field.

    Behind each range of the year field the week field may count again, so the week after it is looked at, too.
    """
    days = {today + timedelta(days=number) for number in range(_WEEK + 2)}
    for entry in calendar.year:
        for first, last in entry.days or ():
            days.add(first)
            days.update(last + timedelta(days=number) for number in range(_WEEK + 2))
            days.update(max(first, today) + timedelta(days=number) for number in range(2))
    return sorted(day for day in days if day >= today)
