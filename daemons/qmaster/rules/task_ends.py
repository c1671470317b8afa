"""Consequences of the end of a task: ended, again (exit 99, a failing host), in error, its queue instance in error.

Owns the events and the accounting record of each end; `failures` decides on the cause of a failure. An interactive job always
ends, since its user is informed at once (IA-8). Called by `reports`, and after the end of a slave task. Source: sge_status(5),
sge_shepherd(8); statements EX-2 … EX-4, EX-9, EX-10, AC-2.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.notifications.accounting import reason_of, record, sums_up
from daemons.qmaster.rules.ends import ended_without_host, requeued_without_host
from daemons.qmaster.rules.failures import Fault, Then, judge
from daemons.qmaster.rules.host_faults import fault_events
from daemons.qmaster.rules.lost_hosts import is_lost
from daemons.qmaster.rules.rerun import may_rerun
from gridengine.protocols.delivery import Ended
from gridengine.state.affected import Affected
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.instance import InstanceErrorSet
from gridengine.state.machines.task import TaskEnded, TaskRequeued
from gridengine.state.slaves import SlaveTask
from gridengine.state.state import State
from gridengine.usage.failed import LOST, MIGRATING, RESCHEDULED, reason_on_host
from gridengine.usage.unit_usage import sum_by_unit
from gridengine.values.task_key import TaskKey


def conclude_master(state: State, job: Job, task: Task, now: float) -> Decision:
    """The end of a task whose master task has ended, and now its slave tasks as well (TI-5)."""
    assert task.master_end is not None
    report = Ended(TaskKey(job.id, task.id, task.attempt), **msgspec.structs.asdict(task.master_end))
    return conclude_task(state, task.host, report, now)


def conclude_task(state: State, host: str, report: Ended, now: float) -> Decision:
    """Conclude a task. The master task of a parallel job decides: its exit status is the status of the job (TI-4)."""
    job = state.jobs[report.key.job]
    task = job.tasks[report.key.task]
    report = _with_slaves(state, task, report)
    key = report.key.master
    failure = judge(report, _is_queues_shell(state, job, task))
    again = failure.then is Then.AGAIN and job.kind == "batch"
    reason = reason_of(task, report, report.failed)
    over = TaskEnded(*key, report.end_time or task.start_time, report.exit_status, report.failed, reason=reason)
    # again, without a fault of the job: the failure prevented its start, or does not count
    mishap = reason_on_host(report.reason, host, now) if report.reason else ""
    unstarted = TaskRequeued(*key, now, restart=False, mishap=mishap)
    failed = report.failed
    rescheduling = "rescheduling" in task.conditions
    events: list[AnyEvent]
    if task.deleted_by:
        events = [over]
    elif report.host_faults:
        events = [*fault_events(state, host, report.host_faults), TaskRequeued(*key, now, mishap=mishap)]
    elif rescheduling or failed in (MIGRATING, RESCHEDULED):
        failed = RESCHEDULED if rescheduling else failed
        events = [TaskRequeued(*key, now, behind=rescheduling and goes_behind(state, job))]
    elif failure.fault is Fault.JOB and again and not job.error_ends:
        error = reason_on_host(report.reason or "the job ended with exit status 100", host, now)
        events = [TaskRequeued(*key, now, error=error)]
    elif failure.fault is Fault.QUEUE:
        events = [_queue_error(job, task, report), unstarted if again else over]
    elif failure.fault is Fault.HOST and again:
        events = [unstarted]
    elif failure.then is Then.IF_IT_MAY and may_rerun(state, job, task, report.checkpoint):
        events = [TaskRequeued(*key, now)]
    else:
        events = [over]
    why = {(job.id, task.id): report.reason} if report.failed else {}
    return Decision(events=events, accounting=[(job.id, task.id, record(state, job, task, report, failed))], why=why)


def awaited_slaves(state: State, task: Task, world: World) -> list[SlaveTask]:
    """The live slave tasks that the end of a master task waits for, on hosts that can report their end (TI-5)."""
    awaited = [slave for slave in task.slaves.values() if not slave.over]
    return [slave for slave in awaited if not is_lost(state.hosts[slave.host], world.now, world.started)]


def ended_masters(state: State, affected: Affected, world: World) -> list[tuple[Job, Task]]:
    """Tasks after the end of their master task, if the last awaited slave task ended in this transaction."""
    return _without_slaves(state, affected.parallel_ends, affected.lost, world)


def masters_without_slaves(state: State, world: World) -> Decision:
    """Ends of tasks after the end of their master task whose slave tasks are on hosts that did not return to a new qmaster."""
    decision = Decision()
    absent = [host.name for host in state.hosts.values() if not host.up]
    for job, task in _without_slaves(state, (), absent, world):
        decision += conclude_master(state, job, task, world.now)
    return decision


def _without_slaves(
    state: State, keys: Iterable[tuple[int, int]], hosts: Iterable[str], world: World
) -> list[tuple[Job, Task]]:
    """The tasks of these keys or on these hosts whose master task has ended, and which wait for no slave task."""
    ended: list[tuple[Job, Task]] = []
    for job_id, task_id in {*keys}.union(*(state.tasks_on.get(host, ()) for host in hosts)):
        task = state.task(job_id, task_id)
        if task is not None and task.master_end is not None and not awaited_slaves(state, task, world):
            ended.append((state.jobs[job_id], task))
    return ended


def lost_task(state: State, job: Job, task: Task, now: float) -> Decision:
    """A task that was running and is no longer known to its host: run again if it may, else ended as failed."""
    why = f"host {task.host} no longer knows it"
    if may_rerun(state, job, task) and not task.deleted_by:
        return requeued_without_host(state, job, task, now, LOST, why, abandoned=False)
    return ended_without_host(state, job, task, now, LOST, why, abandoned=False)


def goes_behind(state: State, job: Job) -> bool:
    """Whether a job rescheduled by a user waits behind all other jobs. Source: sge_conf(5) OLD_RESCHEDULE_BEHAVIOR; QM-9."""
    parameters = state.configuration().qmaster_params
    return not (parameters.old_reschedule_behavior_array_job if job.is_array else parameters.old_reschedule_behavior)


def _with_slaves(state: State, task: Task, report: Ended) -> Ended:
    """The report plus the usage of slave tasks that have no records of their own (PE-13 accounting_summary)."""
    if not (task.slave_usage or task.slave_units) or not sums_up(state, task):
        return report
    names = {**report.usage, **task.slave_usage}
    usage = {name: report.usage.get(name, 0.0) + task.slave_usage.get(name, 0.0) for name in names}
    return msgspec.structs.replace(report, usage=usage, units=sum_by_unit([*report.units, *task.slave_units]))


def _is_queues_shell(state: State, job: Job, task: Task) -> bool:
    """Whether the queue's `shell` or `starter_method` was to run the job, not the choice of its owner."""
    config = state.configs.get(task.granted[0].instance)
    queue = config.execution if config is not None else None
    if queue is not None and queue.starter_method is not None:
        return True
    if any(host in ("", task.host) for host, _ in job.shells):
        return False
    return not job.no_shell if job.binary else queue is None or queue.shell_start_mode != "unix_behavior"


def _queue_error(job: Job, task: Task, report: Ended) -> InstanceErrorSet:
    first = task.granted[0]
    why = f": {report.reason}" if report.reason else ""
    text = f"queue {first.queue} marked QERROR as result of job {job.id}'s failure at host {task.host}{why}"
    return InstanceErrorSet(first.instance, text)
