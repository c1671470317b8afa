"""A qmaster and a scheduler in memory, on one state and on virtual time.

Owns the path from a decision to the state, as `Master` has it, without spool, records and mail; the run of the scheduler with the
check of its orders; and the moments of calendars. Called by `virtual_cell` and by the forward run of `daemons.forecast`.
Source: adr/0315, adr/0325.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, tzinfo

from daemons.qmaster.admit import admit
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.calendars import calendar_changes
from daemons.schedd.cycle import schedule
from daemons.schedd.view import View
from gridengine.protocols.orders import JobFault
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.task import TaskDispatched, TaskStarted
from gridengine.state.state import State
from gridengine.syntax.calendar import next_change
from gridengine.values.units import INFINITY

Rule = Callable[[State, Affected, World], Iterable[Decision]]
"""Consequences of a transaction that was applied; see `daemons.qmaster.rules.following`."""
Started = tuple[Job, Task]

_LEAST_WAIT_S = 60.0
"""After an hour that the clock of a zone repeats, calendars are read again after this time."""


class VirtualMaster:
    """A `state` at the time `now`, epoch s, which the caller sets. `zone`: of calendars. `rules`: follow each decision.

    `next_time`: when the scheduler wants to run again, INFINITY for no time of its own. `calendar_time`: when a calendar changes
    next, INFINITY for never. `faults`: jobs that the scheduler could not handle.
    """

    def __init__(self, state: State, now: float, zone: tzinfo, rules: Sequence[Rule]) -> None:
        self.state, self.now, self.zone = state, now, zone
        self.next_time = INFINITY
        self.calendar_time = now
        self.faults: list[JobFault] = []
        self._rules = rules
        self._view: View | None = None

    def world(self) -> World:
        """The facts outside the state."""
        return World(self.now, lambda name: name, zone=self.zone)

    def record(self, decision: Decision) -> None:
        """Apply a decision and its consequences by rule, and have the scheduler note them."""
        if decision.changes_nothing:
            return
        state, affected = self.state, Affected()
        for event in decision.events:
            affected.note(state, event)
            apply(state, event)
        state.revision += 1
        if self._view is not None:
            self._view.observe(affected)
        world = self.world()
        for rule in self._rules:
            for following in rule(state, affected, world):
                self.record(following)

    def record_events(self, *events: AnyEvent) -> None:
        """Apply events as one decision."""
        self.record(Decision(events=[*events]))

    def cycle(self) -> list[Started]:
        """One run of the scheduler. Returns the tasks that begin: start takes no time."""
        if self._view is None:  # from now on it notes what happens
            self._view = View(self.state)
        orders = schedule(self._view, self.now, self.zone)
        self.next_time = orders.next_time or INFINITY
        self.faults += orders.faults
        events = admit(self.state, orders, self.now)
        dispatched = [event for event in events if isinstance(event, TaskDispatched)]
        begun = [TaskStarted(each.job_id, each.task_id, each.attempt, self.now) for each in dispatched]
        self.record_events(*events, *begun)
        jobs = self.state.jobs
        return [(jobs[each.job_id], jobs[each.job_id].tasks[each.task_id]) for each in dispatched]

    def change_calendars(self) -> None:
        """Carry out the changes of calendars that are due."""
        if self.now < self.calendar_time:
            return
        self.record_events(*calendar_changes(self.state, self.now, self.zone))
        local = datetime.fromtimestamp(self.now, self.zone).replace(tzinfo=None)
        in_use = {config.calendar for config in self.state.configs.values() if config.calendar in self.state.calendars}
        changes = [next_change(self.state.calendars[name], local) for name in in_use]
        moments = [change[0].replace(tzinfo=self.zone).timestamp() for change in changes if change is not None]
        self.calendar_time = min((max(moment, self.now + _LEAST_WAIT_S) for moment in moments), default=INFINITY)
