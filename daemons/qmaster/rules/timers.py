"""TIMERS: the rules that depend on the clock, in their order.

Owns their list, the detection of a clock that was set, and users with a limited lifetime. Hosts without reports belong to
`lost_hosts`, calendars to `calendars`, nice values to `gridengine.state.niceness`. Called by `master` at each tick. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.calendars import calendar_changes
from daemons.qmaster.rules.doomed_jobs import end_of_doomed
from daemons.qmaster.rules.lost_hosts import lost_hosts
from daemons.qmaster.rules.overdue import end_overdue
from daemons.qmaster.rules.rerun import tasks_of_lost_hosts
from daemons.qmaster.rules.task_ends import masters_without_slaves
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


def _due(state: State, world: World) -> Decision:
    """Events by time alone."""
    events: list[AnyEvent] = [
        *lost_hosts(state, world.now),
        *calendar_changes(state, world.now, world.zone),
        *_expired_users(state, world.now),
        *niceness_changes(state, world.now),
    ]
    return Decision(events=events)


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


TIMERS: tuple[Callable[[State, World], Decision], ...] = (
    _due,
    end_of_doomed,
    tasks_of_lost_hosts,
    end_overdue,
    masters_without_slaves,
)
"""Each decision is applied, with all its consequences, before the next decision is computed."""
