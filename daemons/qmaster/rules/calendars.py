"""Calendars in force: the queue instances that they disable (D) or suspend (C) at a moment.

Owns that rule. Called by `timers` at every tick and by the master after a change of the configuration. Pure: the moment and the
time zone of calendars are arguments. Source: sge_calendar_conf(5); CA-2, CA-7, QI-5, QI-7, QC-37.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo

from gridengine.state.events import AnyEvent
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.state import State
from gridengine.syntax.calendar import OFF, SUSPENDED, state_at


def calendar_changes(state: State, now: float, zone: tzinfo) -> list[AnyEvent]:
    """Events for the instances of all queues that have a calendar."""
    with_calendar = [name for name, text in state.kind("cluster_queue").items() if text["calendar"] != "NONE"]
    return _changes(state, (n for q in with_calendar for n in state.instances_of.get(q, ())), now, zone)


def all_calendar_changes(state: State, now: float, zone: tzinfo) -> list[AnyEvent]:
    """Events for all instances, including instances that have lost their calendar."""
    return _changes(state, state.instances, now, zone)


def _changes(state: State, instances: Iterable[str], now: float, zone: tzinfo) -> list[AnyEvent]:
    local = datetime.fromtimestamp(now, zone).replace(tzinfo=None)
    in_force = {"": ""}
    changed: dict[tuple[bool, bool], list[str]] = {}
    for name in instances:
        calendar = state.configs[name].calendar
        if calendar not in in_force:
            entries = state.calendars.get(calendar)
            in_force[calendar] = state_at(entries, local) if entries is not None else ""
        desired = (in_force[calendar] == OFF, in_force[calendar] == SUSPENDED)
        instance = state.instances[name]
        if (instance.calendar_disabled, instance.calendar_suspended) != desired:
            changed.setdefault(desired, []).append(name)
    return [
        InstanceFlagsChanged(sorted(names), {"calendar_disabled": off, "calendar_suspended": suspended})
        for (off, suspended), names in sorted(changed.items())
    ]
