"""The next 24 hours of the cell: reservations that begin or end, and calendars that change the state of their queues.

Owns the list of events. Pure. Called by the overview. Source: AR-53; CA-2 … CA-6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import NamedTuple

from daemons.web.pages.formats import part
from gridengine.state.state import State
from gridengine.syntax.calendar import Calendar, next_change
from gridengine.values.printable import printable
from gridengine.values.units import counted

DAY_S = 86_400.0
MAX_NAMES = 4
"""Names of queues in an event."""
_STATES = {"on": "enabled", "off": "disabled", "suspended": "suspended"}


class ComingEvent(NamedTuple):
    """`time`: epoch s; `change`: the verb; `subject`: with its page at `address`; `details`: a text for people."""

    time: float
    change: str
    subject: str
    address: str
    details: str


def coming_events(state: State, now: float, zone: tzinfo) -> list[ComingEvent]:
    """All events, the next first."""
    return sorted((*_reservations(state, now), *_calendars(state, now, zone)))


def _reservations(state: State, now: float) -> Iterator[ComingEvent]:
    for number, each in state.reservations.items():
        if each.ending:
            continue
        subject = f"reservation {number}"
        details = f"{counted(each.slots, 'slot')} of {each.owner}" + (f": {printable(each.name)}" if each.name else "")
        if each.errors:
            details += f"; {printable(each.errors[0])}"
        for time, change in ((each.start_time, "begins"), (each.end_time, "ends")):
            if now < time <= now + DAY_S:
                yield ComingEvent(time, change, subject, f"/reservations/{number}", details)


def _calendars(state: State, now: float, zone: tzinfo) -> Iterator[ComingEvent]:
    instances: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, config in state.configs.items():
        if config.calendar and name in state.instances:
            instances[config.calendar][state.instances[name].queue] += 1
    for calendar, queues in instances.items():
        known = state.calendars.get(calendar)
        if known is None:
            continue
        shown = [f"{counted(count, 'instance')} of {queue}" for queue, count in sorted(queues.items())[:MAX_NAMES]]
        details = ", ".join(shown) + (f" and {len(queues) - MAX_NAMES} more queues" if len(queues) > MAX_NAMES else "")
        for time, change in _changes(known, now, zone):
            address = f"/config/calendar/{part(calendar)}"
            yield ComingEvent(time, _STATES[change], f"queues of calendar {calendar}", address, details)


def _changes(calendar: Calendar, now: float, zone: tzinfo) -> Iterator[tuple[float, str]]:
    """Time and new state of each change of a calendar."""
    local = datetime.fromtimestamp(now, zone).replace(tzinfo=None)
    while change := next_change(calendar, local):
        local, state = change
        if (time := local.replace(tzinfo=zone).timestamp()) > now + DAY_S:
            return
        yield time, state
