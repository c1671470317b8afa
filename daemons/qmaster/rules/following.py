"""Consequences of a transaction by rule, in transactions of their own that the same commit writes.

Owns the list of these rules and their order. Each rule looks at the objects that a transaction affected, after it was applied,
and returns decisions. Each decision is applied, with all its consequences, before the next decision is computed. Called by
`master`. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.calendars import all_calendar_changes
from daemons.qmaster.rules.memberships import hosts_with_new_values, membership_changes
from daemons.qmaster.rules.subordination import follow_with_suspensions
from daemons.qmaster.rules.task_ends import conclude_master, ended_masters
from gridengine.kinds import kinds_affecting
from gridengine.state.affected import Affected
from gridengine.state.state import State

_OF_INSTANCES = kinds_affecting("instances")


def _members_and_calendars(state: State, affected: Affected, world: World) -> Iterator[Decision]:
    """Members of host groups by rule first; calendars follow in the transaction after the members."""
    if not affected.kinds.isdisjoint(_OF_INSTANCES):
        yield Decision(events=membership_changes(state) or all_calendar_changes(state, world.now, world.zone))
    elif hosts := hosts_with_new_values(affected):
        yield Decision(events=membership_changes(state, hosts))
    elif affected.members:
        yield Decision(events=all_calendar_changes(state, world.now, world.zone))


def _ended_masters(state: State, affected: Affected, world: World) -> Iterator[Decision]:
    """The ends of parallel tasks that waited for the ends of their slave tasks."""
    for job, task in ended_masters(state, affected, world):
        yield conclude_master(state, job, task, world.now)


FOLLOWERS: tuple[Callable[[State, Affected, World], Iterable[Decision]], ...] = (
    _members_and_calendars,
    _ended_masters,
    follow_with_suspensions,
)
