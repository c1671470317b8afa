"""apply(state, event): the only code that writes the state.

Owns every change of the primary data and the upkeep of the derived indexes. Called by the qmaster after its
decisions, by mirrors with the events they are sent, and at restart with the journal. It never decides, never
fails on an event that the qmaster made, and reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gridengine.ranges import Ranges, parse_slot_ranges
from gridengine.state import apply_reservations as reservations
from gridengine.state import events as ev
from gridengine.state import niceness, share_usage
from gridengine.state.apply_hosts import HOST_HANDLERS, forget_sensed
from gridengine.state.apply_slaves import SLAVE_HANDLERS, abandon, abandon_slaves
from gridengine.state.bookings import GLOBAL
from gridengine.state.hooks import decode_hook
from gridengine.state.hosts import Host
from gridengine.state.instances import rebuild_instances, settle
from gridengine.state.jobs import NO_TICKETS, SHORT_TRY_S, FinishedJob, Hold, Job, Task
from gridengine.state.quotas import QUOTA_KINDS
from gridengine.state.state import State, Unsettled


def apply(state: State, event: ev.AnyEvent) -> None:
    """Apply one event."""
    HANDLERS[type(event)](state, event)


def load_state(state: State) -> State:
    """Build every derived index of a state that came from a snapshot."""
    reservations.index_reservations(state)
    for job in state.jobs.values():
        _index_job(state, job)
        for task in job.tasks.values():
            if task.granted:
                _place(state, job, task)
    # last, because what is in an instance decides whether it stays
    rebuild_instances(state)
    state.quotas.rebuild()
    return state


# --- configuration -----------------------------------------------------------------------------------


def _object_set(state: State, event: ev.ObjectSet) -> None:
    state.objects.setdefault(event.kind, {})[event.name] = event.attributes
    _configuration_changed(state, event.kind, event.name, event.more)


def _object_removed(state: State, event: ev.ObjectRemoved) -> None:
    state.objects.get(event.kind, {}).pop(event.name, None)
    _configuration_changed(state, event.kind, event.name, event.more)


def _configuration_changed(state: State, kind: str, name: str, more: bool) -> None:
    state.forget_compiled(kind, name)
    if kind == "exec_host" and name != GLOBAL:
        if state.has("exec_host", name):
            state.hosts.setdefault(name, Host(name))
        else:
            state.hosts.pop(name, None)
            forget_sensed(state, name)
    elif kind == "host_group":
        state.unsettled.groups = True
        if not state.has(kind, name):
            state.rule_members.pop(name, None)
    elif kind == "cluster_queue":
        state.unsettled.queues.add(name)
    elif kind in QUOTA_KINDS:
        state.unsettled.quotas = True
    elif kind in ("user", "project") and not state.has(kind, name):
        share_usage.forget(state, kind, name)
    if not more:
        _settle(state)


def _group_members_set(state: State, event: ev.GroupMembersSet) -> None:
    for group, hosts in event.members.items():
        if hosts:
            state.rule_members[group] = hosts
        else:
            state.rule_members.pop(group, None)
    state.unsettled.groups = True
    _settle(state)


def _settle(state: State) -> None:
    unsettled, state.unsettled = state.unsettled, Unsettled()
    settle(state, unsettled)
    if unsettled.quotas or unsettled.groups:
        state.quotas.rebuild()
    state.kept.clear()


# --- jobs --------------------------------------------------------------------------------------------


def _job_submitted(state: State, event: ev.JobSubmitted) -> None:
    # a copy: a mirror in the same process must not share what apply changes
    job = msgspec.structs.replace(event.job, tasks=dict(event.job.tasks), holds=dict(event.job.holds))
    state.jobs[job.id] = job
    state.next_job_id = job.id + 1
    _index_job(state, job)


def _index_job(state: State, job: Job) -> None:
    reservations.index_job(state, job)
    for other in (*job.predecessors, *job.array_predecessors):
        state.dependents.setdefault(other, set()).add(job.id)
    if job.doomed:
        state.doomed.add(job.id)


def _forget_dependencies(state: State, job: Job) -> None:
    for other in (*job.predecessors, *job.array_predecessors):
        state.dependents.get(other, set()).discard(job.id)


POLICY_FIELDS = frozenset(("priority", "job_share"))
"""What no order depends on: who goes first, not where. Source: O (qalter -p, -js leave the version as it is)."""


def _job_changed(state: State, event: ev.JobChanged) -> None:
    job = state.jobs[event.job_id]
    placed = [task for task in job.tasks.values() if task.granted]
    for task in placed:
        state.quotas.charge(job, task, -1)
    _forget_dependencies(state, job)
    reservations.forget_job(state, job)
    fresh = msgspec.convert(event.changes, dict[str, Any])
    kinds = {field.name: field.type for field in msgspec.structs.fields(Job)}
    for name, value in fresh.items():
        setattr(job, name, msgspec.convert(value, kinds[name], dec_hook=decode_hook, str_keys=True))
    job.version += bool(event.changes.keys() - POLICY_FIELDS)
    job.error = ""  # what the scheduler could not handle may be mended: it looks again
    _index_job(state, job)
    for task in placed:
        state.quotas.charge(job, task)


def _holds_changed(state: State, event: ev.HoldsChanged) -> None:
    job = state.jobs[event.job_id]
    for kind in Hold:
        before = job.holds.get(kind.value, Ranges())
        if event.set_holds & kind:
            job.holds[kind.value] = before | event.tasks
        elif event.cleared & kind:
            left = before - event.tasks
            job.holds[kind.value] = left
            if not left:
                del job.holds[kind.value]
    job.version += 1


def _pending_tasks_deleted(state: State, event: ev.PendingTasksDeleted) -> None:
    job = state.jobs[event.job_id]
    job.pending = job.pending - event.tasks
    job.unsuccessful += len(event.tasks)
    for task_id in [t.id for t in job.tasks.values() if t.status == "pending" and t.id in event.tasks]:
        del job.tasks[task_id]
    _finish_if_done(state, job, event.time, parse_slot_ranges(job.pe_range)[0][0] if job.pe_range else 1)


def _task_dispatched(state: State, event: ev.TaskDispatched) -> None:
    job = state.jobs[event.job_id]
    task = job.tasks.get(event.task_id)
    if task is None:
        task = job.tasks[event.task_id] = Task(event.task_id)
        job.pending = job.pending.minus(event.task_id)
    task.status = "transferring"
    task.attempt = event.attempt
    task.granted = list(event.granted)
    task.pe = event.pe
    task.start_time = event.time
    task.resources = dict(event.resources)
    task.applied = ""
    task.error = task.mishap = ""
    _place(state, job, task)
    reservations.note_use(state, job, event.time)


def _task_started(state: State, event: ev.TaskStarted) -> None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    if task is not None and task.status == "transferring":
        task.status = "running"
        task.applied = "run"
        task.confinement = event.confinement


def _task_usage(state: State, event: ev.TaskUsageReported) -> None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    if task is not None:
        task.usage = event.usage


def _task_ended(state: State, event: ev.TaskEnded) -> None:
    job = state.jobs[event.job_id]
    task = job.tasks.pop(event.task_id)
    abandon_slaves(state, job, task)
    if event.abandoned:
        abandon(state, job, task)
    job.unsuccessful += bool(event.exit_status or event.failed or task.deleted_by)
    _unplace(state, job, task)
    reservations.note_use(state, job, event.time)
    _finish_if_done(state, job, event.time, task.slots or 1)


def _task_requeued(state: State, event: ev.TaskRequeued) -> None:
    job = state.jobs[event.job_id]
    task = job.tasks[event.task_id]
    abandon_slaves(state, job, task)
    if event.abandoned:
        abandon(state, job, task)
    _unplace(state, job, task)
    reservations.note_use(state, job, event.time)
    task.status = "pending"
    task.granted = []
    task.pe = task.applied = task.deleted_by = ""
    task.suspended = task.threshold_suspended = task.subordinated = task.rescheduling = task.ended_by_operator = False
    task.error, task.mishap = event.error, event.mishap
    task.usage = task.cleared = task.confinement = task.nice = task.nice_applied = None
    task.short_tries = task.short_tries + 1 if event.time - task.start_time < SHORT_TRY_S else 0
    task.requeued_at = event.time
    if event.behind:
        job.first_submit_time, job.submit_time = job.submitted, event.time
    if event.restart and not event.error:
        task.restarts += 1


def _task_checkpointed(state: State, event: ev.TaskCheckpointed) -> None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    if task is not None:
        task.checkpoint = event.pid


def _job_error_changed(state: State, event: ev.JobErrorChanged) -> None:
    state.jobs[event.job_id].error = event.error


def _task_error_cleared(state: State, event: ev.TaskErrorCleared) -> None:
    task = state.jobs[event.job_id].tasks[event.task_id]
    task.error = ""
    task.short_tries = 0


def _task_deletion_requested(state: State, event: ev.TaskDeletionRequested) -> None:
    task = state.jobs[event.job_id].tasks[event.task_id]
    task.deleted_by = task.deleted_by or event.by
    if event.by_operator:
        task.ended_by_operator = True
        if task.applied == "end":
            task.applied = "kill"  # it is said again


def _task_rescheduling_requested(state: State, event: ev.TaskReschedulingRequested) -> None:
    state.jobs[event.job_id].tasks[event.task_id].rescheduling = True


_SUSPENSIONS = {"user": "suspended", "threshold": "threshold_suspended", "subordinate": "subordinated"}


def _task_suspension_changed(state: State, event: ev.TaskSuspensionChanged) -> None:
    task = state.jobs[event.job_id].tasks[event.task_id]
    setattr(task, _SUSPENSIONS[event.by], event.suspended)


def _command_applied(state: State, event: ev.CommandApplied) -> None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    if task is not None:
        task.applied = event.command  # type: ignore[assignment]


def _place(state: State, job: Job, task: Task) -> None:
    reservations.bookings_of(state, job).charge(task, state.per_job)
    state.quotas.charge(job, task)
    key = (job.id, task.id)
    for grant in task.granted:
        state.tasks_on.setdefault(grant.host, set()).add(key)
        state.tasks_in.setdefault(grant.instance, set()).add(key)


def _unplace(state: State, job: Job, task: Task) -> None:
    if not task.granted:
        return
    reservations.bookings_of(state, job).charge(task, state.per_job, -1)
    state.quotas.charge(job, task, -1)
    key = (job.id, task.id)
    for grant in task.granted:
        state.tasks_on.get(grant.host, set()).discard(key)
        state.tasks_in.get(grant.instance, set()).discard(key)
        reservations.drop_orphan(state, grant.instance)


def _finish_if_done(state: State, job: Job, time: float, slots: int) -> None:
    if job.pending or job.tasks:
        return
    del state.jobs[job.id]
    reservations.forget_job(state, job)
    state.tickets.pop(job.id, None)
    prio = state.priorities.pop(job.id, (0.0, 0.0, 0.0, 0.0))
    state.doomed.discard(job.id)
    _forget_dependencies(state, job)
    for other_id in state.dependents.pop(job.id, ()):
        _predecessor_ended(state, state.jobs[other_id], job)
    keep = int(state.configuration().get("finished_jobs", "100"))
    state.finished.append(
        FinishedJob(
            *(job.id, job.name, job.owner, job.submit_time, time, slots, prio[0]),
            unsuccessful=bool(job.unsuccessful),
            tasks=str(job.array or ""),
        )
    )
    del state.finished[: max(0, len(state.finished) - keep)]


def _predecessor_ended(state: State, job: Job, ended: Job) -> None:
    """Take an ended job from what another one waits for; one that had to end otherwise stays there (ADR 0020)."""
    wanted = job.conditions.get(ended.id)
    if wanted is not None and (wanted == "ok") == bool(ended.unsuccessful):
        job.doomed = f"job {ended.id} had to {'succeed but failed' if wanted == 'ok' else 'fail but succeeded'}"
        state.doomed.add(job.id)
        return
    job.conditions = {other: how for other, how in job.conditions.items() if other != ended.id}
    job.predecessors = [other for other in job.predecessors if other != ended.id]
    job.array_predecessors = [other for other in job.array_predecessors if other != ended.id]


# --- queue instances, what the scheduler found --------------------------------------------------------


def _instance_flags(state: State, event: ev.InstanceFlagsChanged) -> None:
    for name in event.instances:
        instance = state.instances.get(name)
        if instance is not None:
            for flag, on in event.flags.items():
                setattr(instance, flag, on)
            instance.version += 1


def _instance_error_set(state: State, event: ev.InstanceErrorSet) -> None:
    instance = state.instances.get(event.instance)
    if instance is not None and event.reason not in instance.errors:
        instance.errors.append(event.reason)


def _instance_errors_cleared(state: State, event: ev.InstanceErrorsCleared) -> None:
    for name in event.instances:
        if name in state.instances:
            errors = state.instances[name].errors
            errors[:] = [error for error in errors if event.reason and error != event.reason]


def _priorities_set(state: State, event: ev.PrioritiesSet) -> None:
    for job_id, values in event.priorities.items():
        if job_id in state.jobs:
            state.priorities[job_id] = values
    for job_id, tickets in event.tickets.items():
        if job_id in state.jobs and tickets != NO_TICKETS:
            state.tickets[job_id] = tickets
        else:
            state.tickets.pop(job_id, None)


HANDLERS: dict[type, Callable[[State, Any], None]] = {
    ev.ObjectSet: _object_set,
    ev.ObjectRemoved: _object_removed,
    ev.GroupMembersSet: _group_members_set,
    ev.JobSubmitted: _job_submitted,
    ev.JobChanged: _job_changed,
    ev.HoldsChanged: _holds_changed,
    ev.PendingTasksDeleted: _pending_tasks_deleted,
    ev.TaskDispatched: _task_dispatched,
    ev.TaskStarted: _task_started,
    ev.TaskUsageReported: _task_usage,
    ev.TaskEnded: _task_ended,
    ev.TaskRequeued: _task_requeued,
    ev.TaskCheckpointed: _task_checkpointed,
    ev.TaskErrorCleared: _task_error_cleared,
    ev.JobErrorChanged: _job_error_changed,
    ev.TaskDeletionRequested: _task_deletion_requested,
    ev.TaskReschedulingRequested: _task_rescheduling_requested,
    ev.TaskSuspensionChanged: _task_suspension_changed,
    ev.CommandApplied: _command_applied,
    ev.InstanceFlagsChanged: _instance_flags,
    ev.InstanceErrorSet: _instance_error_set,
    ev.InstanceErrorsCleared: _instance_errors_cleared,
    **HOST_HANDLERS,
    **SLAVE_HANDLERS,
    **reservations.RESERVATION_HANDLERS,
    **share_usage.USAGE_HANDLERS,
    **niceness.NICENESS_HANDLERS,
    ev.PrioritiesSet: _priorities_set,
}
