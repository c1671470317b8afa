"""Recurring reservations: the occurrences of an RFC 5545 rule, each a separate reservation.

Owns the moments of a rule and the limits of a series; the library interprets the rule. Called by `reservations`. (Not in
8.1.9.)
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, pairwise

from dateutil.rrule import HOURLY, rrule, rrulestr

from daemons.qmaster.decide.errors import RefusedError
from gridengine.errors import GridEngineError

_MOMENT = "%Y%m%dT%H%M%S"
MAX_OCCURRENCES = 366
"""Occurrences of one series."""
HORIZON = timedelta(days=3653)
"""The limit of a series: ten years ahead."""
MOST_EXAMINED = 20_000
"""Days, or hours, that are examined for occurrences."""


def occurrences(rule: str, start: float, duration: float, zone: tzinfo) -> list[float]:
    """The starts (epoch s) of a rule such as `FREQ=WEEKLY;COUNT=4` from `start` on. Raises RefusedError.

    A rule counts in local time, so that nine o'clock stays nine o'clock when the clocks change.
    """
    if "COUNT" not in rule.upper() and "UNTIL" not in rule.upper():
        raise RefusedError(f'denied: the rule "{rule}" must have COUNT or UNTIL: a series has an end')
    first = datetime.fromtimestamp(start, zone).replace(tzinfo=None)
    try:
        moments = _moments(_in_local_time(rule, zone), first)
    except _UnendingSeriesError:
        raise RefusedError(f'denied: the rule "{rule}" has occurrences more than ten years ahead, or none') from None
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError) as error:
        raise RefusedError(f'denied: "{rule}" is not a recurrence rule: {error}') from None
    if not moments:
        raise RefusedError(f'denied: the rule "{rule}" has no occurrence')
    if len(moments) > MAX_OCCURRENCES:
        raise RefusedError(f'denied: the rule "{rule}" has more than {MAX_OCCURRENCES} occurrences')
    # a time in the hour that summer time skips becomes the one an hour later: two occurrences at one time are one
    starts = list(dict.fromkeys(moment.replace(tzinfo=zone).timestamp() for moment in moments))
    if any(later - earlier < duration for earlier, later in pairwise(starts)):
        raise RefusedError(f'denied: occurrences of "{rule}" overlap: one starts before the previous one ends')
    return starts


class _UnendingSeriesError(GridEngineError):
    """The search for occurrences exceeded its bounds."""


class _Examined(tuple[int, ...]):
    """The months of a rule. The library looks up each day or hour that it examines here. For a rule that matches no day, such
    as the 30th of February, it would continue to the year 9999; this class ends the search."""

    left = MOST_EXAMINED

    def __contains__(self, month: object) -> bool:
        self.left -= 1
        if self.left < 0:
            raise _UnendingSeriesError
        return super().__contains__(month)


def _moments(rule: str, first: datetime) -> list[datetime]:
    """The moments of a rule from `first` on, at most MAX_OCCURRENCES + 1. Raises _UnendingSeriesError, and as the library."""
    parsed = rrulestr(rule, dtstart=first)
    if not isinstance(parsed, rrule) or ":" in rule.removeprefix("RRULE:"):
        raise ValueError("it is more than one rule")
    if parsed._freq > HOURLY:  # type: ignore[attr-defined]
        raise ValueError("FREQ is none of YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY")
    parsed._bymonth = _Examined(parsed._bymonth or range(1, 13))  # type: ignore[attr-defined]
    moments = []
    for moment in islice(parsed, MAX_OCCURRENCES + 1):
        if moment > first + HORIZON:
            raise _UnendingSeriesError
        moments.append(moment)
    if not parsed._until and len(moments) < min(parsed._count, MAX_OCCURRENCES + 1):  # type: ignore[attr-defined]
        raise _UnendingSeriesError
    return moments


def _in_local_time(rule: str, zone: tzinfo) -> str:
    """The rule with an UNTIL in UTC, as RFC 5545 writes it, in local time. Raises ValueError."""

    def local(match: re.Match[str]) -> str:
        moment = datetime.strptime(match[1], _MOMENT).replace(tzinfo=UTC)
        return f"UNTIL={moment.astimezone(zone):{_MOMENT}}"

    return re.sub(r"UNTIL=(\d{8}T\d{6})Z", local, rule.upper())
