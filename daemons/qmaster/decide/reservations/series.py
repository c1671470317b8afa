"""Recurring reservations: the occurrences of an RFC 5545 rule, each a reservation with a life of its own.

Owns which moments a rule means and what a series may be; the rules themselves are the library's. Called by
`reservations`. (Not in 8.1.9.)
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, pairwise

from dateutil.rrule import HOURLY, rrule, rrulestr

from daemons.qmaster.decide.refused import Refused

_MOMENT = "%Y%m%dT%H%M%S"
MOST = 366
"""Occurrences of one series."""
HORIZON = timedelta(days=3653)
"""How far ahead a series may reach: ten years."""
MOST_EXAMINED = 20_000
"""Days, or hours, that are looked at for occurrences."""


def occurrences(rule: str, start: float, duration: float, zone: tzinfo) -> list[float]:
    """The starts (epoch s) that a rule such as `FREQ=WEEKLY;COUNT=4` means from `start` on. Raises Refused.

    A rule counts in local time, so that nine o'clock stays nine o'clock when the clocks change.
    """
    if "COUNT" not in rule.upper() and "UNTIL" not in rule.upper():
        raise Refused(f'denied: the rule "{rule}" must have COUNT or UNTIL: a series has an end')
    first = datetime.fromtimestamp(start, zone).replace(tzinfo=None)
    try:
        moments = _moments(_in_local_time(rule, zone), first)
    except _Unending:
        raise Refused(f'denied: the rule "{rule}" has occurrences more than ten years ahead, or none') from None
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError) as error:
        raise Refused(f'denied: "{rule}" is not a recurrence rule: {error}') from None
    if not moments:
        raise Refused(f'denied: the rule "{rule}" has no occurrence')
    if len(moments) > MOST:
        raise Refused(f'denied: the rule "{rule}" has more than {MOST} occurrences')
    # a time in the hour that summer time skips becomes the one an hour later: two occurrences at one time are one
    starts = list(dict.fromkeys(moment.replace(tzinfo=zone).timestamp() for moment in moments))
    if any(later - earlier < duration for earlier, later in pairwise(starts)):
        raise Refused(f'denied: occurrences of "{rule}" overlap: they follow each other faster than they end')
    return starts


class _Unending(Exception):
    """The search for occurrences came to no end within its bounds."""


class _Examined(tuple[int, ...]):
    """The months of a rule. The library looks each day or hour that it examines up here, and would go on to the year 9999
    for a rule that means no day, such as the 30th of February; this ends the search."""

    left = MOST_EXAMINED

    def __contains__(self, month: object) -> bool:
        self.left -= 1
        if self.left < 0:
            raise _Unending
        return super().__contains__(month)


def _moments(rule: str, first: datetime) -> list[datetime]:
    """The moments of a rule from `first` on, at most MOST + 1. Raises _Unending, and what the library raises."""
    parsed = rrulestr(rule, dtstart=first)
    if not isinstance(parsed, rrule) or ":" in rule.removeprefix("RRULE:"):
        raise ValueError("it is more than one rule")
    if parsed._freq > HOURLY:  # type: ignore[attr-defined]
        raise ValueError("FREQ is none of YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY")
    parsed._bymonth = _Examined(parsed._bymonth or range(1, 13))  # type: ignore[attr-defined]
    found = []
    for moment in islice(parsed, MOST + 1):
        if moment > first + HORIZON:
            raise _Unending
        found.append(moment)
    if not parsed._until and len(found) < min(parsed._count, MOST + 1):  # type: ignore[attr-defined]
        raise _Unending
    return found


def _in_local_time(rule: str, zone: tzinfo) -> str:
    """The rule with an UNTIL in UTC, as RFC 5545 writes it, in local time. Raises ValueError."""

    def local(found: re.Match[str]) -> str:
        moment = datetime.strptime(found[1], _MOMENT).replace(tzinfo=UTC)
        return f"UNTIL={moment.astimezone(zone):{_MOMENT}}"

    return re.sub(r"UNTIL=(\d{8}T\d{6})Z", local, rule.upper())
