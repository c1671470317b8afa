"""due(state, now, zone): what time alone brings about.

Owns the rules that depend on the clock, and noticing that somebody set it: hosts that are no longer heard (max_unheard,
QI-3); calendars are `daemons.qmaster.follow.calendars`', users of a limited time `daemons.qmaster.decide.jobs.admission`'s,
nice values `gridengine.state.niceness`'s. Pure.
"""

from __future__ import annotations

from datetime import UTC, tzinfo

from daemons.qmaster.decide.jobs.admission import expired_users
from daemons.qmaster.decision import World
from daemons.qmaster.follow.calendars import calendar_changes
from gridengine.state.events import AnyEvent
from gridengine.state.machines.host import HostLost
from gridengine.state.niceness import niceness_changes
from gridengine.state.state import State

SMALLEST_STEP_S = 1.0
"""A difference between the clocks that is taken for a clock that was set, not for drift."""


def clock_step(before: World, now: World) -> float:
    """By how much the clock was set between two looks at it, seconds; 0.0 if it was not."""
    step = (now.now - before.now) - (now.steady - before.steady)
    return step if abs(step) >= SMALLEST_STEP_S else 0.0


def due(state: State, now: float, zone: tzinfo = UTC) -> list[AnyEvent]:
    """Events that are due at `now`; `zone` is that of calendars."""
    max_unheard = state.configuration().max_unheard_s
    lost = [
        HostLost(host.name, now)
        for host in state.hosts.values()
        if host.up and host.last_heard + max_unheard < now
    ]
    return [*lost, *calendar_changes(state, now, zone), *expired_users(state, now), *niceness_changes(state, now)]
