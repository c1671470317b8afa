"""due(state, now, zone): events caused by time alone.

Owns the list of rules that depend on the clock, the detection of a clock that was set, and users with a limited lifetime. Hosts
without reports belong to `lost_hosts`, calendars to `calendars`, nice values to `gridengine.state.niceness`. Pure.
"""

from __future__ import annotations

from datetime import UTC, tzinfo

from daemons.qmaster.decision import World
from daemons.qmaster.rules.calendars import calendar_changes
from daemons.qmaster.rules.lost_hosts import lost_hosts
from gridengine.state.events import AnyEvent
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.niceness import niceness_changes
from gridengine.state.state import State

SMALLEST_STEP_S = 1.0
"""A difference between the clocks from which the clock counts as set; smaller differences are drift."""


def clock_step(before: World, now: World) -> float:
    """The step by which the clock was set between two moments, seconds; 0.0 if it was not."""
    step = (now.now - before.now) - (now.steady - before.steady)
    return step if abs(step) >= SMALLEST_STEP_S else 0.0


def due(state: State, now: float, zone: tzinfo = UTC) -> list[AnyEvent]:
    """Events that are due at `now`; `zone`: the time zone of calendars."""
    return [
        *lost_hosts(state, now),
        *calendar_changes(state, now, zone),
        *_expired_users(state, now),
        *niceness_changes(state, now),
    ]


def _expired_users(state: State, now: float) -> list[AnyEvent]:
    """Ends of users whose delete_time has come; a user who still has jobs gets another term (PR-13)."""
    expired = [user for user in state.users if 0 < state.users[user].delete_time <= now]
    if not expired:
        return []
    busy = {owner for owner, _ in state.owned}
    seconds = state.configuration().auto_user_delete_time_s
    events: list[AnyEvent] = []
    for user in expired:
        if user in busy:
            text = {**state.kind("user")[user], "delete_time": str(int(now) + seconds if seconds else 0)}
            events.append(ObjectSet("user", user, text))
        else:
            events.append(ObjectRemoved("user", user))
    return events
