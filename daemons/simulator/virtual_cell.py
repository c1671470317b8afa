"""A cell in memory on virtual time: the decisions of the qmaster and the runs of the scheduler, without files, daemons and hosts.

Owns the path from a decision to the state, as `Master` has it, without spool, records and mail. Scheduler and qmaster share one
state. Hosts are up, and report no load. Called by `replay`. Source: adr/0315.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo

from dateutil.tz import tzlocal

from daemons.qmaster.admit import admit
from daemons.qmaster.decide import decide
from daemons.qmaster.decide.hosts.reports import host_reports
from daemons.qmaster.decide.jobs.share_usage import usage_charges
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.calendars import calendar_changes
from daemons.qmaster.rules.following import FOLLOWERS
from daemons.qmaster.rules.task_ends import conclude_task
from daemons.schedd.cycle import schedule
from daemons.schedd.view import View
from gridengine.errors import ConfigError
from gridengine.kinds import KIND
from gridengine.protocols.delivery import Ended, Load
from gridengine.protocols.gdi.requests import Answer, Caller, ChangeObjects, ObjectChange, Submit
from gridengine.protocols.orders import JobFault
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.task import TaskDispatched, TaskStarted
from gridengine.state.state import State

TEMPLATES = frozenset({"global", "template"})
_LOAD = {"arch": "lx-amd64", "load_avg": "0.00", "np_load_avg": "0.00", "cpu": "0.0"}
_ROOT = Caller("root", 0, "root", 0, "")
Objects = Mapping[str, Mapping[str, dict[str, str]]]
Started = tuple[Job, Task]


class VirtualCell:
    """A cell of these objects (kind -> name -> attributes) at the time `now`, epoch s. `zone`: of its calendars.

    `next_time`: when the scheduler wants to run again, 0 for no time of its own. `faults`: jobs that the scheduler could not
    handle. `slots`: all slots of all queues.
    Raises ConfigError with the sentences of the qmaster if no cell can have these objects.
    """

    def __init__(self, objects: Objects, now: float, zone: tzinfo | None = None) -> None:
        self.now, self.next_time = now, 0.0
        self.faults: list[JobFault] = []
        self.state, self.submit_host = State(), ""
        self._zone = zone or tzlocal()
        self._view: View | None = None
        self._configure(objects)
        hosts = [name for name in self.state.kind("exec_host") if name not in TEMPLATES]
        self.submit_host = next(iter((*self.state.kind("submit_host"), *self.state.kind("admin_host"))), "")
        for name in hosts:
            report = Load(now, self._load(name), full=True)
            self._record(host_reports(self.state, name, [report], self._world(), lambda *_: False))
        self._view = View(self.state)
        self.slots = sum(config.slots for config in self.state.configs.values())
        if not self.slots:
            raise ConfigError("cell", "", "", "the configuration has no queue with slots on a host")

    def _configure(self, objects: Objects) -> None:
        """Set all objects in one transaction, as `gridengine config apply` does."""
        changes = [ObjectChange(kind, name, None, text) for kind in KIND for name, text in objects.get(kind, {}).items()]
        decision = decide(self.state, "config_change", ChangeObjects(changes), _ROOT, self._world())
        if decision.refused or not decision.events:
            raise ConfigError("cell", "", "", "; ".join(text for level, text in decision.answer.answers if level == "error"))
        self._record(decision)

    def _load(self, host: str) -> dict[str, str]:
        """The report of an idle host with as many processors as it has slots."""
        slots = [config.slots for name, config in self.state.configs.items() if name.endswith(f"@{host}")]
        return {**_LOAD, "num_proc": str(max(slots, default=1))}

    def _world(self) -> World:
        return World(self.now, lambda name: name, self.submit_host, zone=self._zone)

    # --- what happens ----------------------------------------------------------------------------------------

    def submit(self, request: Submit, caller: Caller) -> Answer:
        """Submit a job; the answer as `qsub` gets it."""
        decision = decide(self.state, "submit", request, caller, self._world())
        self._record(decision)
        return decision.answer

    def end(self, ended: Ended) -> None:
        """A task ends, as its host reports it."""
        task = self.state.jobs[ended.key.job].tasks[ended.key.task]
        self._record(conclude_task(self.state, task.host, ended, self.now))

    def watch_calendars(self) -> None:
        """Carry out the changes of calendars that are due."""
        self._record(Decision(events=list(calendar_changes(self.state, self.now, self._zone))))

    def cycle(self) -> list[Started]:
        """One run of the scheduler; the tasks that begin."""
        assert self._view is not None
        orders = schedule(self._view, self.now, self._zone)
        self.next_time = orders.next_time
        self.faults += orders.faults
        events = admit(self.state, orders, self.now)
        dispatched = [event for event in events if isinstance(event, TaskDispatched)]
        started: list[AnyEvent] = [TaskStarted(each.job_id, each.task_id, each.attempt, self.now) for each in dispatched]
        self._record(Decision(events=[*events, *started]))
        jobs = self.state.jobs
        return [(jobs[each.job_id], jobs[each.job_id].tasks[each.task_id]) for each in dispatched]

    def _record(self, decision: Decision) -> None:
        """Apply a decision and its consequences by rule, and have the scheduler note them."""
        if decision.changes_nothing:
            return
        state, affected = self.state, Affected()
        decision.events.extend(usage_charges(state, decision.accounting))
        for event in decision.events:
            affected.note(state, event)
            apply(state, event)
        state.revision += 1
        if self._view is not None:
            self._view.observe(affected)
        for rule in FOLLOWERS:
            for following in rule(state, affected, self._world()):
                self._record(following)
