"""Recurring reservations: the occurrences of an RFC 5545 rule, each a reservation with a life of its own.

Owns which moments a rule means and what a series may be; the rules themselves are the library's. Called by
`reservations`. (Not in 8.1.9.)
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from itertools import islice, pairwise

from dateutil.rrule import rrulestr

from daemons.qmaster.decide.refused import Refused

_MOMENT = "%Y%m%dT%H%M%S"
MOST = 366
"""Occurrences of one series."""


def occurrences(rule: str, start: float, duration: float, zone: tzinfo) -> list[float]:
    """The starts (epoch s) that a rule such as `FREQ=WEEKLY;COUNT=4` means from `start` on. Raises Refused.

    A rule counts in local time, so that nine o'clock stays nine o'clock when the clocks change.
    """
    if "COUNT" not in rule.upper() and "UNTIL" not in rule.upper():
        raise Refused(f'denied: the rule "{rule}" must say COUNT or UNTIL: a series has an end')
    first = datetime.fromtimestamp(start, zone).replace(tzinfo=None)
    try:
        found = list(islice(rrulestr(_in_local_time(rule, zone), dtstart=first), MOST + 1))
    except (ValueError, TypeError, KeyError) as error:
        raise Refused(f'denied: "{rule}" is not a recurrence rule: {error}') from None
    if not found:
        raise Refused(f'denied: the rule "{rule}" means no time at all')
    if len(found) > MOST:
        raise Refused(f'denied: the rule "{rule}" means more than {MOST} times')
    # an hour that spring leaves out is the one behind it: twice the same time is one
    starts = list(dict.fromkeys(moment.replace(tzinfo=zone).timestamp() for moment in found))
    if any(later - earlier < duration for earlier, later in pairwise(starts)):
        raise Refused(f'denied: occurrences of "{rule}" overlap: they follow each other faster than they end')
    return starts


def _in_local_time(rule: str, zone: tzinfo) -> str:
    """The rule with an UNTIL in UTC, as RFC 5545 writes it, in local time. Raises ValueError."""

    def local(found: re.Match[str]) -> str:
        moment = datetime.strptime(found[1], _MOMENT).replace(tzinfo=UTC)
        return f"UNTIL={moment.astimezone(zone):{_MOMENT}}"

    return re.sub(r"UNTIL=(\d{8}T\d{6})Z", local, rule.upper())
