"""Reports of exec hosts: load, starts, ends, inventories; the changes of the state by each, and the verdict on it.

Owns the comparison of a host's tasks with the state; `task_ends` decides on the consequences of the end of a task. Called by
the master for each batch that a host sends. Source: sge_execd(8); statements EX-9, EX-10, LS-3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from daemons.qmaster.decide.hosts.orphans import HasEndedHere, Standing, adoption_events, find_standing, orphan_events
from daemons.qmaster.decide.jobs.slaves import slave_ended, slave_lost
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.device_closing import units_to_close
from daemons.qmaster.rules.host_faults import fault_events
from daemons.qmaster.rules.intermediate_records import IntermediateRecords
from daemons.qmaster.rules.task_ends import awaited_slaves, conclude_task, lost_task
from gridengine.protocols.delivery import (
    Checkpointed,
    Ended,
    HostFaults,
    Inventory,
    Load,
    Origin,
    Report,
    Started,
    UsageReport,
    Verdict,
)
from gridengine.state.bookings import GLOBAL
from gridengine.state.hosts import OrphanTask
from gridengine.state.jobs import Task
from gridengine.state.machines.host import DevicesReported, HostBooted, HostHeard, sensed_values
from gridengine.state.machines.slave import SlaveUsageReported
from gridengine.state.machines.task import MasterEnded, TaskCheckpointed, TaskRequeued, TaskStarted, TaskUsageReported
from gridengine.state.slaves import MasterEnd
from gridengine.state.state import State
from gridengine.values.task_key import SlaveKey, TaskKey


class ReportsDecision(Decision):
    """A decision on a batch of reports, with one verdict per report, in order (`verdicts`)."""

    verdicts: list[Verdict] = []


def host_reports(state: State, host: str, reports: list[Report], world: World, has_ended_here: HasEndedHere) -> ReportsDecision:
    """The decision on one batch of reports. Reports on ended tasks are answered `forget`, reports on tasks that this cell does
    not know `orphans`."""
    batch = _Batch(state, host, world, has_ended_here)
    verdicts = [batch.take(report) for report in reports]
    decided = batch.decided
    return ReportsDecision(events=decided.events, accounting=decided.accounting, why=decided.why, verdicts=verdicts)


class _Batch:
    """The reports of one batch, taken in sequence, and the decisions on the earlier reports."""

    def __init__(self, state: State, host: str, world: World, has_ended_here: HasEndedHere) -> None:
        self.state, self.host, self.world, self.now = state, host, world, world.now
        self._intermediate = IntermediateRecords(state, world)
        self.decided = Decision()
        self._events = self.decided.events
        self._judge = partial(find_standing, state, host, has_ended_here=has_ended_here)
        self._ended: set[TaskKey] = set()
        self._adopted: set[TaskKey] = set()

    def take(self, report: Report) -> Verdict:
        """Decide on one more report."""
        return _TAKE[type(report)](self, report)

    def load(self, report: Load) -> Verdict:
        known = self.state.hosts.get(self.host)
        removed = list(report.removed)
        if report.full and known is not None:
            removed = [name for name in known.load if name not in report.values]
        self._events.append(HostHeard(self.host, self.now, report.values, removed))
        self._devices(report)
        return Verdict(unknown_hosts=self._load_of_others(report))

    def _devices(self, report: Load) -> None:
        """Take the devices of the host. Units close and open by them, also after a change of the configuration."""
        known = self.state.hosts.get(self.host)
        before = known.devices if known is not None else []
        if report.devices is None and not before:
            return
        devices = before if report.devices is None else report.devices
        fault = known.device_fault if report.devices is None and known is not None else report.device_fault
        closed = units_to_close(self.state, self.host, devices, fault)
        if known is None or (devices, fault, closed) != (before, known.device_fault, known.closed_units):
            self._events.append(DevicesReported(self.host, devices, fault, closed))

    def _load_of_others(self, report: Load) -> list[str]:
        """Take values that load sensors of a host report for other hosts and the cluster (LS-3). Returns the hosts that do not
        exist."""
        removed = dict(report.others_removed)
        if report.full:
            for name in sorted(self.state.sensing.get(self.host, ())):
                given = sensed_values(self.state.hosts[name], self.host) if name in self.state.hosts else []
                removed[name] = [value for value in given if value not in report.others.get(name, {})]
        unknown = []
        for name in dict.fromkeys((*report.others, *removed)):
            load, gone = report.others.get(name, {}), removed.get(name, [])
            if name != GLOBAL and not self.state.has("exec_host", name):
                unknown.append(name)
            elif load or gone:
                self._events.append(HostHeard(name, self.now, load, gone, self.host))
        return unknown

    def started(self, report: Started) -> Verdict:
        standing = self._judge(report.key, Origin())
        task = self._live(report.key) if standing is Standing.LIVE and not isinstance(report.key, SlaveKey) else None
        if task is not None and task.status == "transferring":
            self._events.append(TaskStarted(*report.key.master, report.time, report.confinement))
        return Verdict(forget=[report.key] if standing is Standing.OVER else [])

    def ended(self, report: Ended) -> Verdict:
        key, verdict = report.key, Verdict()
        standing = self._judge(key, Origin())
        if key in self._adopted:
            verdict.ok = False  # it was adopted in this batch, and its end is taken when it is reported again
        elif standing in (Standing.LATER, Standing.UNKNOWN):
            verdict.orphans.append(key)
        elif key not in self._ended:
            self.decided += slave_ended(self.state, key, report) if isinstance(key, SlaveKey) else self._end(report)
        if standing in (Standing.LIVE, Standing.OVER):
            self._ended.add(key)
            verdict.forget.append(key)
        return verdict

    def _end(self, report: Ended) -> Decision:
        task = self._live(report.key)
        if task is None or task.master_end is not None:
            return Decision()
        decision = Decision(events=list(self._checkpoint(report.key, report.checkpoint)) if report.checkpoint else [])
        if awaited_slaves(self.state, task, self.world):
            known = {name: getattr(report, name) for name in MasterEnd.__struct_fields__}
            decision.events.append(MasterEnded(*report.key.master, MasterEnd(**known)))
        else:
            decision += conclude_task(self.state, self.host, report, self.now)
        return decision

    def usage(self, report: UsageReport) -> Verdict:
        standing, used = self._judge(report.key, Origin()), report.usage
        if standing is not Standing.LIVE:
            return Verdict(forget=[report.key] if standing is Standing.OVER else [])
        if report.key not in self._ended:
            self._events.extend(self._intermediate.events(report.key, used))
        if isinstance(report.key, SlaveKey):
            self._events.append(SlaveUsageReported(*report.key.master, report.key.number, [used.cpu, used.mem, used.io]))
        else:
            self._events.append(TaskUsageReported(*report.key.master, used))
        return Verdict()

    def checkpointed(self, report: Checkpointed) -> Verdict:
        self._events.extend(self._checkpoint(report.key, report.pid))
        return Verdict()

    def _checkpoint(self, key: TaskKey, pid: int) -> list[TaskCheckpointed]:
        task = self._live(key)
        return [TaskCheckpointed(*key.master, pid)] if task is not None and task.checkpoint != pid else []

    def faults(self, report: HostFaults) -> Verdict:
        self._events.extend(fault_events(self.state, self.host, report.faults))
        return Verdict()

    def inventory(self, report: Inventory) -> Verdict:
        verdict = self._resolve_unknown(report)
        self.decided += self._conclude_missing(report)
        return verdict

    def _resolve_unknown(self, report: Inventory) -> Verdict:
        """Tasks that the host knows and the state does not are forgotten, adopted, or kept as orphans."""
        verdict, adopted = Verdict(), set[TaskKey]()
        origins = dict(zip(report.keys, [*report.origins, *[Origin()] * len(report.keys)], strict=False))
        # the last attempt of a task first: once it is adopted, earlier attempts have ended
        for key in sorted(origins, key=lambda key: key.attempt, reverse=True):
            standing = self._judge(key, origins[key])
            if standing is Standing.OVER or standing is Standing.LATER and any(key[:2] == other[:2] for other in adopted):
                verdict.forget.append(key)
            elif standing is Standing.LATER and (events := adoption_events(self.state, key, origins[key], self.now)):
                self._events.extend(events)
                adopted.add(key)
            elif standing is not Standing.LIVE:
                verdict.orphans.append(key)
        self._adopted |= adopted
        orphans = [OrphanTask(key, origins[key].owner, origins[key].submit_time) for key in verdict.orphans]
        self._events.extend(orphan_events(self.state, self.host, orphans))
        return verdict

    def _conclude_missing(self, report: Inventory) -> Decision:
        """Tasks that the state knows and the host does not are lost.

        After a boot, attempts that the host has not acknowledged are given up as well. Such an attempt may have started, and an
        attempt must not start twice.
        """
        here = {*report.keys, *self._ended}
        known = self.state.hosts.get(self.host)
        booted = known is not None and known.incarnation != report.incarnation
        decision = Decision(events=[HostBooted(self.host, report.incarnation)] if booted else [])
        for job_id, task_id in sorted(self.state.tasks_on.get(self.host, ())):
            job = self.state.jobs[job_id]
            task = job.tasks[task_id]
            for slave in task.slaves.values():
                own = SlaveKey(job_id, task_id, task.attempt, slave.number)
                if slave.host == self.host and own not in here and (slave.applied or booted):
                    decision += slave_lost(self.state, own, self.now)
            if task.host != self.host or TaskKey(job_id, task_id, task.attempt) in here or task.master_end is not None:
                continue
            if task.applied or (booted and task.deleted_by):
                decision += lost_task(self.state, job, task, self.now)
            elif booted:
                decision.events.append(TaskRequeued(job_id, task_id, task.attempt, self.now))
        return decision

    def _live(self, key: TaskKey) -> Task | None:
        task = self.state.task(*key.master)
        return task if task is not None and not task.waits else None


_TAKE: dict[type, Callable[[_Batch, Any], Verdict]] = {
    Load: _Batch.load,
    Started: _Batch.started,
    Ended: _Batch.ended,
    UsageReport: _Batch.usage,
    Checkpointed: _Batch.checkpointed,
    HostFaults: _Batch.faults,
    Inventory: _Batch.inventory,
}
