"""Reports of exec hosts: load, starts, ends, inventories; what each does to the state, and the verdict on it.

Owns the rules for the end of a task: ended, again (exit 99, host failure), error state, queue instance in error;
whose fault a failure is, is `failures`'. An interactive job, whose user is told at once, is over in any case (IA-8).
Source: sge_status(5), sge_shepherd(8); statements EX-2 … EX-4, EX-9, EX-10, AC-2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from daemons.qmaster.decide.hosts.host_faults import fault_events
from daemons.qmaster.decide.hosts.strays import Standing, WasHere, adoption, standing, stray_events
from daemons.qmaster.decide.jobs.ends import ended_without_host, requeued_without_host
from daemons.qmaster.decide.jobs.failures import Fault, Then, judge
from daemons.qmaster.decide.jobs.rerun import may_rerun
from daemons.qmaster.decide.jobs.slaves import holding, lost_slave, slave_ended
from daemons.qmaster.decision import Decision
from daemons.qmaster.tell.accounting import record
from gridengine.delivery import (
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
from gridengine.failed import LOST, MIGRATING, RESCHEDULED
from gridengine.state.bookings import GLOBAL
from gridengine.state.hosts import Stray
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.host import HostBooted, HostHeard
from gridengine.state.machines.instance import InstanceErrorSet
from gridengine.state.machines.slave import SlaveUsageReported
from gridengine.state.machines.task import MasterEnded, TaskCheckpointed, TaskEnded, TaskRequeued, TaskStarted, TaskUsageReported
from gridengine.state.slaves import MasterEnd
from gridengine.state.state import State
from gridengine.task_key import SlaveKey, TaskKey


class ReportsDecision(Decision):
    """A decision on a batch of reports, with one verdict per report."""

    verdicts: list[Verdict] = []


def host_reports(state: State, host: str, reports: list[Report], now: float, was_here: WasHere) -> ReportsDecision:
    """The decision on one batch of reports. Reports about tasks that are over are answered `forget`, those about tasks that
    this cell does not know `strays`."""
    outcome = ReportsDecision(verdicts=[])
    ended: set[TaskKey] = set()
    adopted: set[TaskKey] = set()
    judged = partial(standing, state, host, was_here=was_here)
    for report in reports:
        verdict = Verdict()
        if isinstance(report, Load):
            _load(state, host, report, now, outcome)
            verdict.unknown_hosts = _load_of_others(state, host, report, now, outcome)
        elif isinstance(report, Started):
            _started(state, report, judged(report.key, Origin()), outcome, verdict)
        elif isinstance(report, Ended):
            found = judged(report.key, Origin())
            if report.key in adopted:
                verdict.ok = False  # it has just become the cell's again, and its end is taken when it is told again
            elif found in (Standing.LATER, Standing.UNKNOWN):
                verdict.strays.append(report.key)
            elif report.key in ended:
                pass
            elif isinstance(report.key, SlaveKey):
                slave_ended(state, report.key, report, outcome)
            else:
                _ended(state, host, report, now, outcome)
            if found in (Standing.LIVE, Standing.OVER):
                ended.add(report.key)
                verdict.forget.append(report.key)
        elif isinstance(report, UsageReport):
            _usage(report, judged(report.key, Origin()), outcome, verdict)
        elif isinstance(report, Checkpointed):
            _checkpointed(state, report.key, report.pid, outcome)
        elif isinstance(report, HostFaults):
            outcome.events += fault_events(state, host, report.faults)
        else:
            adopted |= _unknown_here(state, host, report, judged, now, outcome, verdict)
            _inventory(state, host, report, now, outcome, ended)
        outcome.verdicts.append(verdict)
    return outcome


def _usage(report: UsageReport, found: Standing, outcome: ReportsDecision, verdict: Verdict) -> None:
    used = report.usage
    if found is not Standing.LIVE:
        verdict.forget.extend([report.key] if found is Standing.OVER else [])
    elif isinstance(report.key, SlaveKey):
        outcome.events.append(SlaveUsageReported(*report.key.master, report.key.number, [used.cpu, used.mem, used.io]))
    else:
        outcome.events.append(TaskUsageReported(*report.key.master, used))


def _checkpointed(state: State, key: TaskKey, pid: int, outcome: ReportsDecision) -> None:
    task = _live(state, key)
    if task is not None and task.checkpoint != pid:
        outcome.events.append(TaskCheckpointed(*key.master, pid))


def _live(state: State, key: TaskKey) -> Task | None:
    task = state.task(*key.master)
    return task if task is not None and not task.waits else None


def _load(state: State, host: str, report: Load, now: float, outcome: ReportsDecision) -> None:
    known = state.hosts.get(host)
    removed = list(report.removed)
    if report.full and known is not None:
        removed = [name for name in known.load if name not in report.values]
    outcome.events.append(HostHeard(host, now, report.values, removed))


def _load_of_others(state: State, by: str, report: Load, now: float, outcome: ReportsDecision) -> list[str]:
    """What load sensors of a host say of others and of the cluster (LS-3); the hosts that do not exist."""
    removed = dict(report.others_removed)
    if report.full:
        for name, host in state.hosts.items():
            given = [value for value, giver in host.sensed_by.items() if giver == by]
            removed[name] = [value for value in given if value not in report.others.get(name, {})]
    unknown = []
    for name in dict.fromkeys((*report.others, *removed)):
        load, gone = report.others.get(name, {}), removed.get(name, [])
        if name != GLOBAL and not state.has("exec_host", name):
            unknown.append(name)
        elif load or gone:
            outcome.events.append(HostHeard(name, now, load, gone, by))
    return unknown


def _started(state: State, report: Started, found: Standing, outcome: ReportsDecision, verdict: Verdict) -> None:
    if found is Standing.OVER:
        verdict.forget.append(report.key)
    task = _live(state, report.key) if found is Standing.LIVE and not isinstance(report.key, SlaveKey) else None
    if task is not None and task.status == "transferring":
        outcome.events.append(TaskStarted(*report.key.master, report.time, report.confinement))


def _unknown_here(
    state: State,
    host: str,
    report: Inventory,
    judged: Callable[[TaskKey, Origin], Standing],
    now: float,
    outcome: ReportsDecision,
    verdict: Verdict,
) -> set[TaskKey]:
    """Tasks that the host knows and the state does not are forgotten, adopted (those are returned), or kept as strays."""
    strays: list[Stray] = []
    adopted: set[TaskKey] = set()
    told = dict(zip(report.keys, [*report.origins, *[Origin()] * len(report.keys)], strict=False))
    # the last try of a task first: when that is adopted, those before it are over
    for key in sorted(told, key=lambda key: key.attempt, reverse=True):
        origin = told[key]
        found = judged(key, origin)
        if found is Standing.OVER or found is Standing.LATER and any(key[:2] == other[:2] for other in adopted):
            verdict.forget.append(key)
        elif found is Standing.LATER and (events := adoption(state, key, origin, now)):
            outcome.events += events
            adopted.add(key)
        elif found is not Standing.LIVE:
            verdict.strays.append(key)
            strays.append(Stray(key, origin.owner, origin.submit_time))
    outcome.events += stray_events(state, host, strays)
    return adopted


def _inventory(
    state: State, host: str, report: Inventory, now: float, outcome: ReportsDecision, ended: set[TaskKey]
) -> None:
    """Tasks that the state knows and the host does not are lost.

    After a boot also those are given up that the host has not acknowledged: they may have begun, and an attempt must
    not begin twice.
    """
    here = set(report.keys)
    known = state.hosts.get(host)
    booted = known is not None and known.incarnation != report.incarnation
    if booted:
        outcome.events.append(HostBooted(host, report.incarnation))
    for job_id, task_id in sorted(state.tasks_on.get(host, ())):
        job = state.jobs[job_id]
        task = job.tasks[task_id]
        key = TaskKey(job_id, task_id, task.attempt)
        for slave in task.slaves.values():
            own = SlaveKey(job_id, task_id, task.attempt, slave.number)
            if slave.host == host and own not in here and own not in ended and (slave.applied or booted):
                lost_slave(state, own, now, outcome)
        if task.host != host or key in here or key in ended or task.master_end is not None:
            continue
        if task.applied:
            lost(state, job, task, now, outcome)
        elif booted:
            outcome.events.append(TaskRequeued(job_id, task_id, task.attempt, now))


def lost(state: State, job: Job, task: Task, now: float, outcome: Decision) -> None:
    """A task that was running and is no longer known to its host: run again if it may, else ended as failed."""
    if may_rerun(state, job, task) and not task.deleted_by:
        outcome += requeued_without_host(state, job, task, now, LOST, abandoned=False)
    else:
        outcome += ended_without_host(state, job, task, now, LOST, abandoned=False)


def _ended(state: State, host: str, report: Ended, now: float, outcome: ReportsDecision) -> None:
    task = _live(state, report.key)
    if task is None or task.master_end is not None:
        return
    if report.checkpoint:
        _checkpointed(state, report.key, report.checkpoint, outcome)
    if holding(state, task):
        known = {name: getattr(report, name) for name in MasterEnd.__struct_fields__}
        outcome.events.append(MasterEnded(*report.key.master, MasterEnd(**known)))
    else:
        _conclude(state, host, report, now, outcome)


def concluded(state: State, job: Job, task: Task, now: float) -> ReportsDecision:
    """The end of a task whose master has ended, and now its slaves, too (TI-5)."""
    assert task.master_end is not None
    outcome = ReportsDecision(verdicts=[])
    report = Ended(TaskKey(job.id, task.id, task.attempt), **msgspec.structs.asdict(task.master_end))
    _conclude(state, task.host, report, now, outcome)
    return outcome


def _conclude(state: State, host: str, report: Ended, now: float, outcome: ReportsDecision) -> None:
    """What the end of a task means. The master of a parallel job is the job: its exit status counts (TI-4)."""
    job = state.jobs[report.key.job]
    task = job.tasks[report.key.task]
    report = _with_slaves(state, task, report)
    failure = judge(report, _is_queues_shell(state, job, task))
    again = failure.then is Then.AGAIN and job.kind == "batch"
    if task.deleted_by:
        _end(state, job, task, report, outcome)
    elif report.host_faults:
        outcome.accounting.append((job.id, task.id, record(state, job, task, report, report.failed)))
        requeued = TaskRequeued(*report.key.master, now, mishap=report.reason)
        outcome.events += [*fault_events(state, host, report.host_faults), requeued]
    elif task.rescheduling or report.failed in (MIGRATING, RESCHEDULED):
        failed = RESCHEDULED if task.rescheduling else report.failed
        outcome.accounting.append((job.id, task.id, record(state, job, task, report, failed)))
        behind = task.rescheduling and goes_behind(state, job)
        outcome.events.append(TaskRequeued(*report.key.master, now, behind=behind))
    elif failure.fault is Fault.JOB and again:
        reason = report.reason or "the job ended with exit status 100"
        _requeue_in_error(state, job, task, report, reason, now, outcome)
    elif failure.fault is Fault.QUEUE:
        _queue_error(state, job, task, report, again, now, outcome)
    elif failure.fault is Fault.HOST and again:
        _requeue_unstarted(state, job, task, report, now, outcome)
    elif failure.then is Then.IF_IT_MAY and may_rerun(state, job, task, report.checkpoint):
        outcome.accounting.append((job.id, task.id, record(state, job, task, report, report.failed)))
        outcome.events.append(TaskRequeued(*report.key.master, now))
    else:
        _end(state, job, task, report, outcome)


def _with_slaves(state: State, task: Task, report: Ended) -> Ended:
    """The report with what slave tasks used, where they have no records of their own (PE-13 accounting_summary)."""
    pe = state.pes.get(task.pe) if task.slave_usage else None
    if pe is None or not pe.accounting_summary:
        return report
    names = {**report.usage, **task.slave_usage}
    usage = {name: report.usage.get(name, 0.0) + task.slave_usage.get(name, 0.0) for name in names}
    return msgspec.structs.replace(report, usage=usage)


def goes_behind(state: State, job: Job) -> bool:
    """Whether a job that somebody rescheduled waits behind all others. Source: sge_conf(5) OLD_RESCHEDULE_BEHAVIOR; QM-9."""
    parameters = state.configuration().qmaster_params
    return not (parameters.old_reschedule_behavior_array_job if job.is_array else parameters.old_reschedule_behavior)


def _end(state: State, job: Job, task: Task, report: Ended, outcome: ReportsDecision) -> None:
    outcome.accounting.append((job.id, task.id, record(state, job, task, report, report.failed)))
    outcome.events.append(
        TaskEnded(*report.key.master, report.end_time or task.start_time, report.exit_status, report.failed)
    )


def _requeue_in_error(
    state: State, job: Job, task: Task, report: Ended, reason: str, now: float, outcome: ReportsDecision
) -> None:
    outcome.accounting.append((job.id, task.id, record(state, job, task, report, report.failed)))
    outcome.events.append(TaskRequeued(*report.key.master, now, error=reason))


def _is_queues_shell(state: State, job: Job, task: Task) -> bool:
    """Whether the queue's `shell` or `starter_method` was to run the job, and not what its owner chose."""
    config = state.configs.get(task.granted[0].instance)
    queue = config.execution if config is not None else None
    if queue is not None and queue.starter_method is not None:
        return True
    if any(host in ("", task.host) for host, _ in job.shells):
        return False
    return not job.no_shell if job.binary else queue is None or queue.shell_start_mode != "unix_behavior"


def _queue_error(state: State, job: Job, task: Task, report: Ended, again: bool, now: float, outcome: ReportsDecision) -> None:
    instance = task.granted[0].instance
    why = f": {report.reason}" if report.reason else ""
    reason = f"queue {task.granted[0].queue} marked QERROR as result of job {job.id}'s failure at host {task.host}{why}"
    outcome.events.append(InstanceErrorSet(instance, reason))
    if again:
        _requeue_unstarted(state, job, task, report, now, outcome)
    else:
        _end(state, job, task, report, outcome)


def _requeue_unstarted(state: State, job: Job, task: Task, report: Ended, now: float, outcome: ReportsDecision) -> None:
    """Again, for no fault of the job: what it failed for did not let it begin, or is not to count."""
    outcome.accounting.append((job.id, task.id, record(state, job, task, report, report.failed)))
    outcome.events.append(TaskRequeued(*report.key.master, now, restart=False, mishap=report.reason))
