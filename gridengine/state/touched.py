"""Touched: what a transaction concerns, so that nobody else has to look into its events for that.

Owns one table, event -> what it touches, with a row for each event. Noted while a transaction is applied, event by event, since
the places of a task are known only before it has left them; then carried with it. Read by the rules that follow a
transaction, by the dispatcher, the scheduler's pulse and view, and the event clients. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import Struct, field

from gridengine.instance_name import host_of
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Task
from gridengine.state.machines import configuration, host, instance, job, reservation, slave, task, usage
from gridengine.state.machines.event import Event
from gridengine.state.state import State


class Touched(Struct):
    """What some events concern; each of these may hold more than changed, never less."""

    #: jobs that they are about, also those that are gone with them, and their tasks
    jobs: set[int] = field(default_factory=set)
    tasks: set[tuple[int, int]] = field(default_factory=set)
    #: jobs of whose record (`Job`, with its tasks) something is another now, those that are gone included
    written: set[int] = field(default_factory=set)
    #: parallel tasks whose master or one of whose slave tasks has ended
    divided: set[tuple[int, int]] = field(default_factory=set)
    #: jobs whose request is another now
    altered: set[int] = field(default_factory=set)
    #: queue instances where tasks came, went, stopped or went on, or whose own state changed
    instances: set[str] = field(default_factory=set)
    #: those of them where suspend thresholds stopped tasks or let them go on
    stopped: set[str] = field(default_factory=set)
    #: (kind, name) of configuration objects -> their attributes before, None for those that are new
    objects: dict[tuple[str, str], dict[str, str] | None] = field(default_factory=dict)
    #: members of host groups by rule changed
    members: bool = False
    #: hosts -> names of load values that they, or sensors of others, gave or took back
    heard: dict[str, set[str]] = field(default_factory=dict)
    #: hosts that were not heard and are again, and hosts that are given up
    returned: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    #: advance reservations that have another window or other places now
    reservations: set[int] = field(default_factory=set)
    #: hosts that may have something new to be told
    told: set[str] = field(default_factory=set)
    #: room was given back
    released: bool = False
    #: they may let a job start that waits
    frees: bool = False
    #: one of them is for the journal
    durable: bool = False

    @classmethod
    def by(cls, state: State, event: AnyEvent) -> Touched:
        """What one event concerns that is about to be applied."""
        found = cls()
        found.note(state, event)
        return found

    def note(self, state: State, event: AnyEvent) -> None:
        """Add what an event concerns that is about to be applied."""
        row = ROWS[type(event)]
        row.note(self, state, event)
        self.frees = self.frees or row.frees
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
    """Hosts that carry something of a task out: the master's and those of its live slave tasks."""
    return {task.host, *(slave.host for slave in task.slaves.values() if not slave.over)}


# --- jobs and tasks ------------------------------------------------------------------------------------------


def _nothing(touched: Touched, state: State, event: Any) -> None:
    pass


def _job_submitted(touched: Touched, state: State, event: job.JobSubmitted) -> None:
    touched.jobs.add(event.job.id)
    touched.written.add(event.job.id)


def _job(touched: Touched, state: State, event: Any) -> None:
    touched.jobs.add(event.job_id)
    touched.written.add(event.job_id)


def _job_changed(touched: Touched, state: State, event: job.JobChanged) -> None:
    _job(touched, state, event)
    touched.altered.add(event.job_id)


def _tasks_deleted(touched: Touched, state: State, event: job.PendingTasksDeleted) -> None:
    """With its last task the job goes, and those that wait for it learn that."""
    _job(touched, state, event)
    touched.written |= state.dependents.get(event.job_id, set())


def _recorded(touched: Touched, state: State, event: Any) -> None:
    """Something is noted of a task that concerns nobody else."""
    touched.written.add(event.job_id)


def _task(touched: Touched, state: State, event: Any) -> None:
    _job(touched, state, event)
    touched.tasks.add((event.job_id, event.task_id))


def _dispatched(touched: Touched, state: State, event: task.TaskDispatched) -> None:
    _task(touched, state, event)
    touched.instances.update(grant.instance for grant in event.granted)
    touched.told.add(event.granted[0].host)


def _instructed(touched: Touched, state: State, event: Any) -> None:
    """Something else is wanted of a task now, or its hosts have done what was."""
    _task(touched, state, event)
    concerned = state.task(event.job_id, event.task_id)
    if concerned is not None and concerned.granted:
        touched.told |= hosts_of(concerned)


def _suspension(touched: Touched, state: State, event: task.TaskSuspensionChanged) -> None:
    _instructed(touched, state, event)
    concerned = state.task(event.job_id, event.task_id)
    places = [grant.instance for grant in concerned.granted] if concerned is not None else []
    touched.instances.update(places)
    touched.stopped.update(places if event.by == "threshold" else ())


def _left(touched: Touched, state: State, event: task.TaskEnded | task.TaskRequeued) -> None:
    """A task gives its places back; its host, and those of slave tasks, may have something of it left to kill."""
    _task(touched, state, event)
    concerned = state.task(event.job_id, event.task_id)
    if concerned is None:
        return
    if (dependents := state.dependents.get(event.job_id)) and len(state.jobs[event.job_id].tasks) == 1:
        touched.written |= dependents  # its job may go with it
    touched.instances.update(grant.instance for grant in concerned.granted)
    touched.told.update(slave.host for slave in concerned.slaves.values() if not slave.over)
    touched.told.update({concerned.host} if event.abandoned and concerned.granted else ())
    touched.released = True


def _reprioritized(touched: Touched, state: State, event: task.TasksReprioritized) -> None:
    for job_id, task_id, _ in event.changes:
        touched.written.add(job_id)
        concerned = state.task(job_id, task_id)
        touched.told.update({concerned.host} if concerned is not None and concerned.granted else ())


def _usage_cleared(touched: Touched, state: State, event: usage.UsageCleared) -> None:
    touched.written.update(job_id for job_id, _, _ in event.running)


def _master_ended(touched: Touched, state: State, event: task.MasterEnded) -> None:
    _instructed(touched, state, event)
    touched.divided.add((event.job_id, event.task_id))


def _slave_ended(touched: Touched, state: State, event: slave.SlaveEnded) -> None:
    _task(touched, state, event)
    touched.divided.add((event.job_id, event.task_id))


def _slave_requested(touched: Touched, state: State, event: slave.SlaveRequested) -> None:
    _task(touched, state, event)
    touched.told.add(event.slave.host)


def _slave_command(touched: Touched, state: State, event: slave.SlaveCommandApplied) -> None:
    _task(touched, state, event)
    concerned = state.task(event.job_id, event.task_id, event.attempt)
    one = concerned.slaves.get(event.number) if concerned is not None else None
    touched.told.update({one.host} if one is not None and not one.over else ())


# --- configuration, instances, hosts ------------------------------------------------------------------------


def _object(touched: Touched, state: State, event: configuration.ObjectSet | configuration.ObjectRemoved) -> None:
    key = (event.kind, event.name)
    if key not in touched.objects:
        touched.objects[key] = state.kind(event.kind).get(event.name)


def _members(touched: Touched, state: State, event: configuration.GroupMembersSet) -> None:
    touched.members = True


def _flags(touched: Touched, state: State, event: instance.InstanceFlagsChanged) -> None:
    touched.instances.update(event.instances)
    for key in {key for name in event.instances for key in state.tasks_in.get(name, ())}:
        touched.told |= hosts_of(state.jobs[key[0]].tasks[key[1]])


def _error_set(touched: Touched, state: State, event: instance.InstanceErrorSet) -> None:
    touched.instances.add(event.instance)


def _errors_cleared(touched: Touched, state: State, event: instance.InstanceErrorsCleared) -> None:
    touched.instances.update(event.instances)


def _heard(touched: Touched, state: State, event: host.HostHeard) -> None:
    _values(touched, event.host, (*event.load, *event.removed))
    known = state.hosts.get(event.host)
    if known is None or not known.up:
        touched.returned.add(event.host)
        touched.told.add(event.host)  # tasks may begin there again
    # load alone decides nothing while no job waits
    touched.frees = touched.frees or bool(state.jobs)


def _values(touched: Touched, name: str, values: Iterable[str]) -> None:
    if name in touched.heard:
        touched.heard[name].update(values)
    else:
        touched.heard[name] = set(values)


def _lost(touched: Touched, state: State, event: host.HostLost) -> None:
    """With the host goes what its load sensors said of others."""
    touched.lost.add(event.host)
    for name in state.sensing.get(event.host, ()):
        if (other := state.hosts.get(name)) is not None and (gone := host.sensed_values(other, event.host)):
            _values(touched, name, gone)


def _abandoned(touched: Touched, state: State, event: host.StraysAbandoned) -> None:
    touched.told.add(event.host)


def _drain(touched: Touched, state: State, event: host.HostDrained | host.HostDrainEnded) -> None:
    touched.instances.update(name for name, each in state.instances.items() if each.host == event.host)


# --- advance reservations --------------------------------------------------------------------------------------


def _reshaped(touched: Touched, state: State, event: reservation.ReservationChanged) -> None:
    touched.reservations.add(event.ar_id)


def _given_back(touched: Touched, state: State, event: reservation.ReservationEnding | reservation.ReservationRemoved) -> None:
    concerned = state.reservations.get(event.ar_id)
    touched.instances.update(grant.instance for grant in (concerned.granted if concerned is not None else ()))
    touched.released = True


class Row(NamedTuple):
    """What an event touches, and whether it may let a job start that waits."""

    note: Callable[[Touched, State, Any], None]
    frees: bool = True


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
    job.PrioritiesSet: Row(_nothing, frees=False),
    task.TaskDispatched: Row(_dispatched, frees=False),
    task.TaskStarted: Row(_task, frees=False),
    task.TaskUsageReported: Row(_task, frees=False),
    task.TaskUsageRecorded: Row(_recorded, frees=False),
    task.TaskEnded: Row(_left),
    task.TaskRequeued: Row(_left),
    task.TaskCheckpointed: Row(_task),
    task.TaskErrorCleared: Row(_task),
    task.TaskDeletionRequested: Row(_instructed),
    task.TaskReschedulingRequested: Row(_instructed),
    task.TaskSuspensionChanged: Row(_suspension),
    task.CommandApplied: Row(_instructed, frees=False),
    task.TasksReprioritized: Row(_reprioritized, frees=False),
    task.NicenessApplied: Row(_task, frees=False),
    task.MasterEnded: Row(_master_ended),
    slave.SlaveRequested: Row(_slave_requested),
    slave.SlaveCommandApplied: Row(_slave_command),
    slave.SlaveUsageReported: Row(_task, frees=False),
    slave.SlaveUsageRecorded: Row(_recorded, frees=False),
    slave.SlaveEnded: Row(_slave_ended),
    usage.UsageCharged: Row(_nothing),
    usage.UsageCleared: Row(_usage_cleared),
    instance.InstanceFlagsChanged: Row(_flags),
    instance.InstanceErrorSet: Row(_error_set),
    instance.InstanceErrorsCleared: Row(_errors_cleared),
    host.HostHeard: Row(_heard, frees=False),
    host.HostBooted: Row(_nothing),
    host.ExecdStarted: Row(_nothing),
    host.HostLost: Row(_lost, frees=False),
    host.ClockStepped: Row(_nothing),
    host.StraysFound: Row(_nothing),
    host.StraysAbandoned: Row(_abandoned),
    host.TriesForgotten: Row(_nothing),
    host.HostDrained: Row(_drain, frees=False),
    host.HostDrainEnded: Row(_drain),
    reservation.ReservationGranted: Row(_nothing),
    reservation.ReservationChanged: Row(_reshaped),
    reservation.ReservationStarted: Row(_nothing),
    reservation.ReservationErrorsSet: Row(_nothing),
    reservation.ReservationEnding: Row(_given_back),
    reservation.ReservationRemoved: Row(_given_back),
    reservation.JobReservationsSet: Row(_nothing, frees=False),
}
"""What each event touches. `HostHeard` frees by itself where jobs are."""
