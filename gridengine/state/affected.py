"""Affected: the jobs, instances, hosts and objects that a transaction concerns, so other modules need not examine its events.

Owns one table, event -> affected objects, with a row for each event. Filled while a transaction is applied, event by event,
since the grants of a task are known only before they are released; then part of the transaction. Read by the rules that
follow a transaction, by the dispatcher, the driver and view of the scheduler, and the event clients. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import Struct, field

from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Task
from gridengine.state.machines import configuration, host, instance, job, reservation, slave, task, usage
from gridengine.state.machines.event import Event
from gridengine.state.state import State
from gridengine.values.instance_name import host_of


class Affected(Struct):
    """Objects that some events affect; each field may contain more than actually changed, never less."""

    #: jobs of the events, including deleted jobs, and their tasks
    jobs: set[int] = field(default_factory=set)
    tasks: set[tuple[int, int]] = field(default_factory=set)
    #: jobs with a changed record (`Job`, with its tasks), including deleted jobs
    written: set[int] = field(default_factory=set)
    #: parallel tasks of which the master or a slave task has ended
    parallel_ends: set[tuple[int, int]] = field(default_factory=set)
    #: jobs with a changed request
    altered: set[int] = field(default_factory=set)
    #: queue instances in which tasks were dispatched, ended, suspended or resumed, and queue instances with a changed state
    instances: set[str] = field(default_factory=set)
    #: instances among them in which suspend thresholds suspended or resumed tasks
    stopped: set[str] = field(default_factory=set)
    #: (kind, name) of configuration objects -> their previous attributes, None for new objects
    objects: dict[tuple[str, str], dict[str, str] | None] = field(default_factory=dict)
    #: the members by rule of host groups changed
    members: bool = False
    #: host -> names of load values that it, or sensors of other hosts, reported or withdrew
    heard: dict[str, set[str]] = field(default_factory=dict)
    #: hosts that report again, and hosts that are lost
    returned: set[str] = field(default_factory=set)
    #: hosts that no longer report
    lost: set[str] = field(default_factory=set)
    #: advance reservations with a changed window or changed grants
    reservations: set[int] = field(default_factory=set)
    #: hosts that may get new instructions
    to_notify: set[str] = field(default_factory=set)
    #: slots or other resources were released
    released: bool = False
    #: a pending job may start because of them
    may_start_jobs: bool = False
    #: one of them is written to the journal
    durable: bool = False

    @classmethod
    def by(cls, state: State, event: AnyEvent) -> Affected:
        """Return the objects that an event, which is about to be applied, affects."""
        found = cls()
        found.note(state, event)
        return found

    def note(self, state: State, event: AnyEvent) -> None:
        """Add the objects that an event, which is about to be applied, affects."""
        row = ROWS[type(event)]
        row.note(self, state, event)
        self.may_start_jobs = self.may_start_jobs or row.may_start_jobs
        self.durable = self.durable or event.durable

    @property
    def kinds(self) -> set[str]:
        """Kinds of the configuration objects."""
        return {kind for kind, _ in self.objects}

    @property
    def hosts(self) -> set[str]:
        """Hosts of the queue instances."""
        return {host_of(name) for name in self.instances}


def hosts_of(task: Task) -> set[str]:
    """Return the hosts that run parts of a task: the master's host and the hosts of its live slave tasks."""
    return {task.host, *(slave.host for slave in task.slaves.values() if not slave.over)}


# --- jobs and tasks ------------------------------------------------------------------------------------------


def _nothing(affected: Affected, state: State, event: Any) -> None:
    pass


def _job_submitted(affected: Affected, state: State, event: job.JobSubmitted) -> None:
    affected.jobs.add(event.job.id)
    affected.written.add(event.job.id)


def _job(affected: Affected, state: State, event: Any) -> None:
    affected.jobs.add(event.job_id)
    affected.written.add(event.job_id)


def _job_changed(affected: Affected, state: State, event: job.JobChanged) -> None:
    _job(affected, state, event)
    affected.altered.add(event.job_id)


def _tasks_deleted(affected: Affected, state: State, event: job.PendingTasksDeleted) -> None:
    """The job is deleted with its last task, and jobs that depend on it change."""
    _job(affected, state, event)
    affected.written |= state.dependents.get(event.job_id, set())


def _recorded(affected: Affected, state: State, event: Any) -> None:
    """The record of a task changes without other effects."""
    affected.written.add(event.job_id)


def _task(affected: Affected, state: State, event: Any) -> None:
    _job(affected, state, event)
    affected.tasks.add((event.job_id, event.task_id))


def _dispatched(affected: Affected, state: State, event: task.TaskDispatched) -> None:
    _task(affected, state, event)
    affected.instances.update(grant.instance for grant in event.granted)
    affected.to_notify.add(event.granted[0].host)


def _instructed(affected: Affected, state: State, event: Any) -> None:
    """The desired command of a task changed, or its hosts have executed it."""
    _task(affected, state, event)
    concerned = state.task(event.job_id, event.task_id)
    if concerned is not None and concerned.granted:
        affected.to_notify |= hosts_of(concerned)


def _suspension(affected: Affected, state: State, event: task.TaskSuspensionChanged) -> None:
    _instructed(affected, state, event)
    concerned = state.task(event.job_id, event.task_id)
    granted_instances = [grant.instance for grant in concerned.granted] if concerned is not None else []
    affected.instances.update(granted_instances)
    affected.stopped.update(granted_instances if event.by == "threshold" else ())


def _task_released(affected: Affected, state: State, event: task.TaskEnded | task.TaskRequeued) -> None:
    """A task releases its slots; its host, and the hosts of slave tasks, may still have processes to kill."""
    _task(affected, state, event)
    concerned = state.task(event.job_id, event.task_id)
    if concerned is None:
        return
    if (dependents := state.dependents.get(event.job_id)) and len(state.jobs[event.job_id].tasks) == 1:
        affected.written |= dependents  # its job may go with it
    affected.instances.update(grant.instance for grant in concerned.granted)
    affected.to_notify.update(slave.host for slave in concerned.slaves.values() if not slave.over)
    affected.to_notify.update({concerned.host} if event.abandoned and concerned.granted else ())
    affected.released = True


def _reprioritized(affected: Affected, state: State, event: task.TasksReprioritized) -> None:
    for job_id, task_id, _ in event.changes:
        affected.written.add(job_id)
        concerned = state.task(job_id, task_id)
        affected.to_notify.update({concerned.host} if concerned is not None and concerned.granted else ())


def _usage_cleared(affected: Affected, state: State, event: usage.UsageCleared) -> None:
    affected.written.update(job_id for job_id, _, _ in event.running)


def _master_ended(affected: Affected, state: State, event: task.MasterEnded) -> None:
    _instructed(affected, state, event)
    affected.parallel_ends.add((event.job_id, event.task_id))


def _slave_ended(affected: Affected, state: State, event: slave.SlaveEnded) -> None:
    _task(affected, state, event)
    affected.parallel_ends.add((event.job_id, event.task_id))


def _slave_requested(affected: Affected, state: State, event: slave.SlaveRequested) -> None:
    _task(affected, state, event)
    affected.to_notify.add(event.slave.host)


def _slave_command(affected: Affected, state: State, event: slave.SlaveCommandApplied) -> None:
    _task(affected, state, event)
    concerned = state.task(event.job_id, event.task_id, event.attempt)
    one = concerned.slaves.get(event.number) if concerned is not None else None
    affected.to_notify.update({one.host} if one is not None and not one.over else ())


# --- configuration, instances, hosts ------------------------------------------------------------------------


def _object(affected: Affected, state: State, event: configuration.ObjectSet | configuration.ObjectRemoved) -> None:
    key = (event.kind, event.name)
    if key not in affected.objects:
        affected.objects[key] = state.kind(event.kind).get(event.name)


def _members(affected: Affected, state: State, event: configuration.GroupMembersSet) -> None:
    affected.members = True


def _flags(affected: Affected, state: State, event: instance.InstanceFlagsChanged) -> None:
    affected.instances.update(event.instances)
    for key in {key for name in event.instances for key in state.tasks_in.get(name, ())}:
        affected.to_notify |= hosts_of(state.jobs[key[0]].tasks[key[1]])


def _error_set(affected: Affected, state: State, event: instance.InstanceErrorSet) -> None:
    affected.instances.add(event.instance)


def _errors_cleared(affected: Affected, state: State, event: instance.InstanceErrorsCleared) -> None:
    affected.instances.update(event.instances)


def _heard(affected: Affected, state: State, event: host.HostHeard) -> None:
    _values(affected, event.host, (*event.load, *event.removed))
    known = state.hosts.get(event.host)
    if known is None or not known.up:
        affected.returned.add(event.host)
        affected.to_notify.add(event.host)  # tasks may start there again
    # load is irrelevant without jobs
    affected.may_start_jobs = affected.may_start_jobs or bool(state.jobs)


def _values(affected: Affected, name: str, values: Iterable[str]) -> None:
    if name in affected.heard:
        affected.heard[name].update(values)
    else:
        affected.heard[name] = set(values)


def _lost(affected: Affected, state: State, event: host.HostLost) -> None:
    """The values that load sensors of the lost host reported for other hosts are gone, too."""
    affected.lost.add(event.host)
    for name in state.sensing.get(event.host, ()):
        if (other := state.hosts.get(name)) is not None and (gone := host.sensed_values(other, event.host)):
            _values(affected, name, gone)


def _abandoned(affected: Affected, state: State, event: host.OrphansAbandoned) -> None:
    affected.to_notify.add(event.host)


def _attempts_forgotten(affected: Affected, state: State, event: host.AttemptsForgotten) -> None:
    """Units that these attempts held may be free now."""
    concerned = state.hosts.get(event.host)
    if concerned is not None and concerned.held_units:
        affected.instances.update(name for name, each in state.instances.items() if each.host == event.host)
        affected.released = True


def _devices(affected: Affected, state: State, event: host.DevicesReported) -> None:
    known = state.hosts.get(event.host)
    if known is not None and known.closed_units != event.closed:
        affected.instances.update(name for name, each in state.instances.items() if each.host == event.host)
        affected.released = True


def _drain(affected: Affected, state: State, event: host.HostDrained | host.HostDrainEnded) -> None:
    affected.instances.update(name for name, each in state.instances.items() if each.host == event.host)


# --- advance reservations --------------------------------------------------------------------------------------


def _reservation_changed(affected: Affected, state: State, event: reservation.ReservationChanged) -> None:
    affected.reservations.add(event.ar_id)


def _reservation_released(
    affected: Affected, state: State, event: reservation.ReservationEnding | reservation.ReservationRemoved
) -> None:
    concerned = state.reservations.get(event.ar_id)
    affected.instances.update(grant.instance for grant in (concerned.granted if concerned is not None else ()))
    affected.released = True


class Row(NamedTuple):
    """`note` adds the objects that an event affects; `may_start_jobs`: whether a pending job may start because of the event."""

    note: Callable[[Affected, State, Any], None]
    may_start_jobs: bool = True


ROWS: dict[type[Event], Row] = {
    configuration.ObjectSet: Row(_object),
    configuration.ObjectRemoved: Row(_object),
    configuration.GroupMembersSet: Row(_members),
    job.JobSubmitted: Row(_job_submitted),
    job.JobChanged: Row(_job_changed),
    job.HoldsChanged: Row(_job),
    job.PendingTasksDeleted: Row(_tasks_deleted),
    job.JobErrorChanged: Row(_job),
    job.JobNumbersRaised: Row(_nothing),
    job.PrioritiesSet: Row(_nothing, may_start_jobs=False),
    task.TaskDispatched: Row(_dispatched, may_start_jobs=False),
    task.TaskStarted: Row(_task, may_start_jobs=False),
    task.TaskUsageReported: Row(_task, may_start_jobs=False),
    task.TaskUsageRecorded: Row(_recorded, may_start_jobs=False),
    task.TaskEnded: Row(_task_released),
    task.TaskRequeued: Row(_task_released),
    task.TaskCheckpointed: Row(_task),
    task.TaskErrorCleared: Row(_task),
    task.TaskDeletionRequested: Row(_instructed),
    task.TaskReschedulingRequested: Row(_instructed),
    task.TaskSuspensionChanged: Row(_suspension),
    task.CommandApplied: Row(_instructed, may_start_jobs=False),
    task.TasksReprioritized: Row(_reprioritized, may_start_jobs=False),
    task.NicenessApplied: Row(_task, may_start_jobs=False),
    task.MasterEnded: Row(_master_ended),
    slave.SlaveRequested: Row(_slave_requested),
    slave.SlaveCommandApplied: Row(_slave_command),
    slave.SlaveUsageReported: Row(_task, may_start_jobs=False),
    slave.SlaveUsageRecorded: Row(_recorded, may_start_jobs=False),
    slave.SlaveEnded: Row(_slave_ended),
    usage.UsageCharged: Row(_nothing),
    usage.UsageCleared: Row(_usage_cleared),
    instance.InstanceFlagsChanged: Row(_flags),
    instance.InstanceErrorSet: Row(_error_set),
    instance.InstanceErrorsCleared: Row(_errors_cleared),
    host.HostHeard: Row(_heard, may_start_jobs=False),
    host.HostBooted: Row(_nothing),
    host.ExecdStarted: Row(_nothing),
    host.HostLost: Row(_lost, may_start_jobs=False),
    host.ClockStepped: Row(_nothing),
    host.OrphansFound: Row(_nothing),
    host.OrphansAbandoned: Row(_abandoned),
    host.AttemptsForgotten: Row(_attempts_forgotten),
    host.HostDrained: Row(_drain, may_start_jobs=False),
    host.HostDrainEnded: Row(_drain),
    host.DevicesReported: Row(_devices),
    reservation.ReservationGranted: Row(_nothing),
    reservation.ReservationChanged: Row(_reservation_changed),
    reservation.ReservationStarted: Row(_nothing),
    reservation.ReservationErrorsSet: Row(_nothing),
    reservation.ReservationEnding: Row(_reservation_released),
    reservation.ReservationRemoved: Row(_reservation_released),
    reservation.JobReservationsSet: Row(_nothing, may_start_jobs=False),
}
"""The objects that each event affects. `HostHeard` sets `may_start_jobs` itself if there are jobs."""
