"""Mail: the mail messages that the events of a transaction cause, and their texts.

Owns the rules of -m and -M, subjects and bodies. Pure: made from the state before the events are applied; sending is
`daemons.runtime.mail_sender`. Source: sge_submit(1) -m; sge_conf(5) administrator_mail; statements MA-1, MA-2, SO-19.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

from daemons.qmaster.decision import Decision
from daemons.qmaster.notifications.reservation_mail import reservation_messages
from gridengine.mail import Mail
from gridengine.state.conditions import OF_SUSPENSIONS
from gridengine.state.desired_command import suspending_instances
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.host import DevicesReported, HostLost
from gridengine.state.machines.instance import InstanceErrorSet, InstanceFlagsChanged
from gridengine.state.machines.job import JobErrorChanged, PendingTasksDeleted
from gridengine.state.machines.task import TaskEnded, TaskRequeued, TaskStarted, TaskSuspensionChanged
from gridengine.state.state import State
from gridengine.usage import failed as codes
from gridengine.usage.accounting import AccountingRecord
from gridengine.values.ranges import Ranges
from gridengine.values.units import format_memory, format_time

BEGIN, END, ABORT, SUSPEND = "b", "e", "a", "s"
_MOST_NAMED = 20
"""Jobs that a mail message names."""
_STOPS = ("suspended", "subordinated", "calendar_suspended")


def mail_messages(state: State, decision: Decision, now: float, zone: tzinfo) -> list[Mail]:
    """The mail messages of a transaction that is about to be applied. now: epoch s; `zone`: of the times in the messages."""
    reservation_drafts = reservation_messages(state, decision.events, zone)
    messages = [Mail(recipients, subject, _body(subject, lines)) for recipients, subject, lines in reservation_drafts]
    moment = _Moment(state, decision, now, zone)
    for event in decision.events:
        messages_of = _MESSAGES.get(type(event))
        if messages_of is not None:
            messages += messages_of(moment, event)
    return messages


class _Moment(NamedTuple):
    """The source of mail messages: the state before a transaction, its decision, and its time."""

    state: State
    decision: Decision
    now: float
    zone: tzinfo

    def job(self, job_id: int, occasions: str) -> Job | None:
        """The job if its owner requested mail on one of these occasions."""
        job = self.state.jobs.get(job_id)
        return job if job is not None and set(occasions) & set(job.mail_options) else None

    def task(self, job_id: int, task_id: int, occasions: str) -> tuple[Job, Task] | None:
        """The same for a task."""
        job = self.job(job_id, occasions)
        return (job, job.tasks[task_id]) if job is not None and task_id in job.tasks else None


def _instance_in_error(moment: _Moment, event: InstanceErrorSet) -> Iterable[Mail]:
    return _to_administrators(moment.state, f'Queue instance "{event.instance}" in error state', event.reason)


def _host_lost(moment: _Moment, event: HostLost) -> Iterable[Mail]:
    """To administrators only: owners of the jobs there get mail when their jobs end. Deviation: 8.1.9 sends no mail."""
    state = moment.state
    host = state.hosts.get(event.host)
    if host is None or not host.up or event.orderly:
        return ()
    heard = f"last heard: {_time(host.last_heard, moment.zone)}" if host.last_heard else "never heard"
    running = sorted({state.jobs[job_id].label(task_id) for job_id, task_id in state.tasks_on.get(event.host, ())})
    shown = ", ".join(running[:_MOST_NAMED]) + (f" and {len(running) - _MOST_NAMED} more" if len(running) > _MOST_NAMED else "")
    return _to_administrators(state, f'Host "{event.host}" is lost', heard, f"jobs there: {shown or 'none'}")


def _units_closed(moment: _Moment, event: DevicesReported) -> Iterator[Mail]:
    """To administrators, and to the owners of jobs that have such a unit and requested mail about an abort."""
    state, host = moment.state, moment.state.hosts.get(event.host)
    before = host.closed_units if host is not None else {}
    closed = {
        f"{resource}/{unit}": reason
        for resource, units in event.closed.items()
        for unit, reason in units.items()
        if unit not in before.get(resource, {})
    }
    if not closed:
        return
    lines = [f"{unit}: {reason}" for unit, reason in closed.items()]
    yield from _to_administrators(state, f'Host "{event.host}" closes units', *lines)
    for job_id, task_id in sorted(state.tasks_on.get(event.host, ())):
        concerned = moment.task(job_id, task_id, ABORT)
        granted = concerned[1].units if concerned is not None else ()
        own = [f"{each.resource}/{unit}" for each in granted if each.host == event.host for unit in dict.fromkeys(each.units)]
        if concerned is not None and (hit := [f"{unit} of {event.host}: {closed[unit]}" for unit in own if unit in closed]):
            yield _mail(concerned[0], f"{_label(concerned[0], task_id)} has a unit that fails", hit)


def _killed_from_pending(moment: _Moment, event: PendingTasksDeleted) -> Iterator[Mail]:
    if job := moment.job(event.job_id, ABORT):
        subject = f"{_label(job, event.tasks)} was killed from pending"
        yield _mail(job, subject, [f"deleted by {event.by}", event.reason])


def _job_in_error(moment: _Moment, event: JobErrorChanged) -> Iterable[Mail]:
    job = moment.state.jobs.get(event.job_id)
    if job is None or not event.error:
        return ()
    return _set_in_error(moment.state, job, f"{_label(job, job.waiting)} Set in error state", [event.error])


def _task_started(moment: _Moment, event: TaskStarted) -> Iterator[Mail]:
    begun = moment.task(event.job_id, event.task_id, BEGIN)
    if begun is not None and begun[1].status == "transferring":
        job, task = begun
        rows = [*_location_rows(job, task, task.granted[0].queue), ("Start Time", _time(event.time, moment.zone))]
        yield _mail(job, f"{_label(job, task.id)} Started", _table(rows, 10))


def _task_ended(moment: _Moment, event: TaskEnded) -> Iterable[Mail]:
    job_and_task = moment.task(event.job_id, event.task_id, ABORT + END)
    return _ended(*job_and_task, event, moment.decision, moment.zone) if job_and_task is not None else ()


def _task_requeued(moment: _Moment, event: TaskRequeued) -> Iterable[Mail]:
    """To administrators even if the owner requested no mail."""
    job = moment.state.jobs.get(event.job_id)
    task = job.tasks.get(event.task_id) if job is not None else None
    if job is None or task is None:
        return ()
    return _requeued(moment.state, job, task, event, moment.decision, moment.zone)


def _task_stopped(moment: _Moment, event: TaskSuspensionChanged) -> Iterator[Mail]:
    """No mail while another condition or its queue suspends the task: the event neither stops it nor lets it go on."""
    job_and_task = moment.task(event.job_id, event.task_id, SUSPEND)
    if job_and_task is None:
        return
    job, task = job_and_task
    name = OF_SUSPENSIONS[event.by]
    is_repeated = (name in task.conditions) == event.suspended
    if not (is_repeated or task.suspensions - {name} or suspending_instances(moment.state, task)):
        yield _stopped(job, task, event.suspended, moment.now, moment.zone)


def _ended(job: Job, task: Task, event: TaskEnded, decision: Decision, zone: tzinfo) -> Iterator[Mail]:
    """A task that failed or was deleted is aborted; every other task is complete, with any exit status."""
    aborted = bool(event.failed or task.deleted_by)
    if (ABORT if aborted else END) not in job.mail_options:
        return
    used = _used(_record(job, task, decision))
    if aborted:
        lines = _broken_off(job, task, event.exit_status, event.time, used, zone)
        if event.failed:
            lines.append(f"failed {codes.TEXTS.get(event.failed, event.failed)}")
        deleted = f"deleted by {task.deleted_by}" if task.deleted_by else ""
        lines += filter(None, dict.fromkeys((event.reason, deleted)))
        yield _mail(job, f"{_label(job, task.id)} Aborted", lines)
        return
    rows = [*_ran(job, task, event.time, zone), *used, ("Exit Status", event.exit_status)]
    yield _mail(job, f"{_label(job, task.id)} Complete", _table(rows))


_TIMES = (("User Time", "ru_utime"), ("System Time", "ru_stime"), ("Wallclock Time", "ru_wallclock"), ("CPU", "cpu"))
_WIDTH = 16
_Rows = list[tuple[str, object]]


def _record(job: Job, task: Task, decision: Decision) -> AccountingRecord | None:
    """The accounting record that the same transaction writes for the task."""
    return next((record for job_id, task_id, record in decision.accounting if (job_id, task_id) == (job.id, task.id)), None)


def _used(record: AccountingRecord | None) -> _Rows:
    if record is None:
        return []
    memory = float(record.maxvmem)
    times: _Rows = [(label, format_time(float(getattr(record, field)))) for label, field in _TIMES]
    return [*times, ("Max vmem", format_memory(memory) if memory else "NA")]


def _broken_off(job: Job, task: Task, status: int, end: float, used: _Rows, zone: tzinfo) -> list[str]:
    """The rows of an attempt that was broken off: the kind of its end first."""
    rows: _Rows = [("Exit Status", status)]
    rows += [("Signal", known.name.removeprefix("SIG")) for known in signal.Signals if known == status - 128]
    return _table([*rows, *_ran(job, task, end, zone), *(row for row in used if row[0] in ("CPU", "Max vmem"))])


def _requeued(
    state: State, job: Job, task: Task, event: TaskRequeued, decision: Decision, zone: tzinfo
) -> Iterator[Mail]:
    subject = f"{_label(job, task.id)} {'Set in error state' if event.error else 'Rescheduled'}"
    record = _record(job, task, decision)
    status, failed = (int(record.exit_status), int(record.failed)) if record else (0, 0)
    lines = _broken_off(job, task, status, event.time, _used(record), zone)
    if failed:
        lines.append(f"failed {codes.TEXTS.get(failed, failed)}{' because:' if event.error else ''}")
    if event.error:
        yield from _set_in_error(state, job, subject, [*lines, event.error])
    elif ABORT in job.mail_options:
        yield _mail(job, subject, lines)


def _set_in_error(state: State, job: Job, subject: str, lines: list[str]) -> Iterator[Mail]:
    lines = [*lines, f"When the cause is fixed: qmod -cj {job.id}"]
    if ABORT in job.mail_options:
        yield _mail(job, subject, lines)
    yield from _to_administrators(state, subject, *lines)


def _instances_stopped(moment: _Moment, event: InstanceFlagsChanged) -> Iterator[Mail]:
    """Jobs that stop or continue with their queue instances; no mail for a task that something else suspends."""
    state = moment.state
    stopped: dict[tuple[int, int], bool] = {}
    for name in event.instances:
        instance = state.instances.get(name)
        if instance is None:
            continue
        stops = any(event.flags.get(flag, getattr(instance, flag)) for flag in _STOPS)
        if stops != instance.stops_jobs:
            stopped |= dict.fromkeys(state.tasks_in.get(name, ()), stops)
    for (job_id, task_id), stops in sorted(stopped.items()):
        job = state.jobs[job_id]
        task = job.tasks[task_id]
        others = set(suspending_instances(state, task)) - set(event.instances)
        if SUSPEND in job.mail_options and not (others or task.suspensions):
            yield _stopped(job, task, stops, moment.now, moment.zone)


def _stopped(job: Job, task: Task, stopped: bool, now: float, zone: tzinfo) -> Mail:
    subject = f"{_label(job, task.id)} {'Suspended' if stopped else 'Continued'}"
    queue = task.granted[0].queue if task.granted else ""
    rows = [*_location_rows(job, task, queue), ("Start Time", _time(task.start_time, zone)), ("Time", _time(now, zone))]
    return _mail(job, subject, _table(rows, 10))


def _label(job: Job, tasks: int | Ranges) -> str:
    if not job.is_array:
        return f"Job {job.id} ({job.name})"
    if isinstance(tasks, Ranges) and len(tasks) > 1:
        return f"Job-array tasks {tasks.summary()} of job {job.id} ({job.name})"
    return f"Job-array task {job.id}.{tasks if isinstance(tasks, int) else tasks.first} ({job.name})"


def _location_rows(job: Job, task: Task, queue: str) -> _Rows:
    """Owner and location of a task: `queue` is the name of the queue at the start, of the instance after the end."""
    return [("User", job.owner), ("Queue", queue), ("Host", task.host)]


def _ran(job: Job, task: Task, end: float, zone: tzinfo) -> _Rows:
    instance = f"{task.granted[0].queue}@{task.host}" if task.granted else ""
    start = _time(task.start_time, zone) if task.start_time else "NA"
    return [*_location_rows(job, task, instance), ("Start Time", start), ("End Time", _time(end, zone))]


def _table(rows: _Rows, width: int = _WIDTH) -> list[str]:
    return [f"{label:<{width}} = {value}" for label, value in rows]


def _time(seconds: float, zone: tzinfo) -> str:
    return f"{datetime.fromtimestamp(seconds, zone):%m/%d/%Y %H:%M:%S}"


def _mail(job: Job, subject: str, lines: Iterable[str]) -> Mail:
    return Mail(tuple(job.mail_list), subject, _body(subject, lines))


def _to_administrators(state: State, subject: str, *lines: str) -> list[Mail]:
    """Problem reports; none without administrator_mail."""
    addresses = state.configuration().administrator_mail
    return [Mail(addresses, subject, _body(subject, lines))] if addresses else []


def keys_replaced(state: State, host: str, address: str) -> list[Mail]:
    """The mail to administrators when a host that had keys joins again, from an address."""
    subject = f"GE: host {host} got new keys"
    return _to_administrators(
        state,
        subject,
        f"Host {host} had keys of this cell and joined again by a token, from {address}.",
        f"The earlier keys are void. If no administrator did this: gridengine host revoke {host}",
    )


def _body(subject: str, lines: Iterable[str]) -> str:
    # a blank before each line, so that the mailer takes no line of a reason for a command
    parts = [part for line in lines for part in line.splitlines()]
    return "".join(f"{line}\n" for line in (subject, *(f" {part}" for part in parts)))


_MESSAGES: dict[type, Callable[[_Moment, Any], Iterable[Mail]]] = {
    DevicesReported: _units_closed,
    HostLost: _host_lost,
    InstanceErrorSet: _instance_in_error,
    InstanceFlagsChanged: _instances_stopped,
    PendingTasksDeleted: _killed_from_pending,
    JobErrorChanged: _job_in_error,
    TaskStarted: _task_started,
    TaskEnded: _task_ended,
    TaskRequeued: _task_requeued,
    TaskSuspensionChanged: _task_stopped,
}
"""Events that cause mail messages."""
