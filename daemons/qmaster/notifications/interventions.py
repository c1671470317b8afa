"""Interventions in jobs, for readers of the log: the user or cause that ended, moved or stopped them, one line each.

Owns the choice of the logged events, their level and their texts. Regular ends of jobs are in the accounting. Pure. Called by
`master` for each transaction with the state before it; `serve.interventions_log` writes the lines. Deviation: 8.1.9 logs that a
job died of a signal, but not the user who caused it. Source: docs/formats/messages.md; QI-10, GC-4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from daemons.qmaster.decision import Decision
from gridengine.state.conditions import CONDITIONS, OF_SUSPENSIONS
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.instance import InstanceErrorSet, InstanceFlagsChanged
from gridengine.state.machines.job import JobErrorChanged, PendingTasksDeleted
from gridengine.state.machines.reservation import ReservationEnding
from gridengine.state.machines.task import (
    TaskDeletionRequested,
    TaskEnded,
    TaskRequeued,
    TaskReschedulingRequested,
    TaskSuspensionChanged,
)
from gridengine.state.state import State
from gridengine.usage.failed import RESCHEDULED, plain_reason
from gridengine.values.ranges import Ranges

_NAMES = 5
"""Hosts or queue instances that a line names before it only counts them."""
_SUSPENDING = {
    "suspended": "qmod -sq",
    "calendar_suspended": "its calendar",
    "subordinated": "jobs in a queue that it is subordinate to",
}


class Intervention(NamedTuple):
    """A line: `level` of 8.1.9's codes (E W I); `event`: its name in the journal; `fields`: of the structured log."""

    level: str
    text: str
    event: str
    fields: dict[str, object]


class _Part(NamedTuple):
    """The effect of one event on one task, or on tasks of `job` without a host (`tasks`). `what` completes `job 5 …`."""

    level: str
    job: Job
    tasks: Ranges
    host: str
    what: str
    event: str


class _Scene(NamedTuple):
    """The state before a transaction, its decision, and the caller: " by ann@h1", "" for the qmaster itself."""

    state: State
    decision: Decision
    by: str


def interventions(state: State, decision: Decision, user: str, host: str) -> list[Intervention]:
    """The lines of a transaction, in order; a line for all tasks of a job with the same intervention. `user`: "" for the
    qmaster."""
    scene = _Scene(state, decision, f" by {user}@{host}" if user else "")
    result: list[Intervention] = []
    parts: dict[tuple[str, int, str], list[_Part]] = {}
    for event in decision.events:
        if (parts_of := _OF_TASKS.get(type(event))) and _is_known(state, event):
            for part in parts_of(scene, event):
                parts.setdefault((part.level, part.job.id, part.what), []).append(part)
        elif lines_of := _OF_OTHERS.get(type(event)):
            result += lines_of(scene, event)
    result += [_line(some, f"{user}@{host}" if user else "") for some in parts.values()]
    return result


def _is_known(state: State, event: Any) -> bool:
    """Whether the job of an event, and its task if any, existed before the transaction, instead of being adopted in it."""
    job, task = state.jobs.get(event.job_id), getattr(event, "task_id", None)
    return job is not None and (task is None or task in job.tasks)


def _line(parts: list[_Part], by: str) -> Intervention:
    first = parts[0]
    tasks = Ranges.union_of(part.tasks for part in parts)
    hosts = list(dict.fromkeys(part.host for part in parts if part.host))
    number = f"{first.job.id}.{tasks.summary()}" if first.job.is_array else str(first.job.id)
    where = f" on {_listed(hosts)}" if hosts else ""
    fields = {"job": first.job.id, "tasks": str(tasks) if first.job.is_array else "", "user": first.job.owner}
    fields |= {"by": by, "hosts": hosts, "what": first.what}
    return Intervention(first.level, f"job {number} ({first.job.owner}){where} {first.what}", first.event, fields)


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _part(scene: _Scene, event: Any, what: str, level: str = "W") -> Iterator[_Part]:
    job, task = _of(scene, event)
    yield _Part(level, job, Ranges.of([task.id]), task.host, what, type(event).__name__)


def _of(scene: _Scene, event: Any) -> tuple[Job, Task]:
    job = scene.state.jobs[event.job_id]
    return job, job.tasks[event.task_id]


def _why(scene: _Scene, event: Any) -> str:
    return plain_reason(scene.decision.why.get((event.job_id, event.task_id), ""))


def _deletion(scene: _Scene, event: TaskDeletionRequested) -> Iterator[_Part]:
    if not _of(scene, event)[1].deleted_by:
        yield from _part(scene, event, f"is ended: {_why(scene, event) or 'qdel'}{scene.by}")


def _rescheduling(scene: _Scene, event: TaskReschedulingRequested) -> Iterator[_Part]:
    yield from _part(scene, event, f"is ended, to run again: qmod -r{scene.by}")


def _ended(scene: _Scene, event: TaskEnded) -> Iterator[_Part]:
    why = _why(scene, event)
    if why and (event.abandoned or not _of(scene, event)[1].deleted_by):
        status = "" if event.abandoned else f"; exit status {event.exit_status}"
        yield from _part(scene, event, f"has ended: {why}{scene.by}{status}")


def _requeued(scene: _Scene, event: TaskRequeued) -> Iterator[_Part]:
    why = _why(scene, event) or plain_reason(event.error or event.mishap)
    if event.error:
        yield from _part(scene, event, f"is in error state and waits: {why}")
    elif why and (event.abandoned or "rescheduling" not in _of(scene, event)[1].conditions):
        own = not event.abandoned and not event.mishap and _code(scene, event) == str(RESCHEDULED)
        yield from _part(scene, event, f"waits to run again: {why}{scene.by}", "I" if own else "W")


def _code(scene: _Scene, event: Any) -> str:
    """`failed` in the record of an attempt that has ended."""
    records = (record for *key, record in scene.decision.accounting if key == [event.job_id, event.task_id])
    return next((record.failed for record in records), "")


def _suspension(scene: _Scene, event: TaskSuspensionChanged) -> Iterator[_Part]:
    _, task = _of(scene, event)
    instance = task.granted[0].instance if task.granted else ""
    cause = CONDITIONS[OF_SUSPENSIONS[event.by]].causes[not event.suspended]
    if event.by == "threshold":
        config = scene.state.configs.get(instance)
        limits = ",".join(f"{name}={value}" for name, value in config.suspend_thresholds.items()) if config is not None else ""
        cause = f"suspend_thresholds {limits} of {instance}" if limits else f"{instance} no longer has suspend_thresholds"
    yield from _part(scene, event, f"{'is suspended' if event.suspended else 'goes on'}: {cause}{scene.by}")


def _pending_deleted(scene: _Scene, event: PendingTasksDeleted) -> Iterator[_Part]:
    cause = event.reason or ("qdel" if scene.by else f"the {event.by}")
    what = f"is deleted before it began: {cause}{scene.by}"
    yield _Part("I" if scene.by else "W", scene.state.jobs[event.job_id], event.tasks, "", what, type(event).__name__)


def _job_error(scene: _Scene, event: JobErrorChanged) -> Iterator[_Part]:
    if event.error:
        job = scene.state.jobs[event.job_id]
        yield _Part("W", job, job.pending, "", f"is in error state: {event.error}", type(event).__name__)


def _flags(scene: _Scene, event: InstanceFlagsChanged) -> Iterator[Intervention]:
    """Queue instances whose jobs are stopped or resumed. The number of these jobs decides on the level."""
    running = sum(len(scene.state.tasks_in.get(name, ())) for name in event.instances)
    for flag in event.flags.keys() & _SUSPENDING.keys():
        on = event.flags[flag]
        cause = "qmod -usq" if flag == "suspended" and not on else _SUSPENDING[flag]
        several = len(event.instances) != 1
        state = f"{'are' if several else 'is'} {'suspended' if on else 'no longer suspended'}"
        names = f"queue instance{'s' if several else ''} {_listed(event.instances)}"
        what = f"{names} {state}: {cause}{scene.by}; {_count(running, 'task')} there"
        fields = {"instances": event.instances, "flag": flag, "on": on, "by": scene.by.removeprefix(" by "), "tasks": running}
        yield Intervention("W" if running else "I", what, type(event).__name__, fields)


def _instance_error(scene: _Scene, event: InstanceErrorSet) -> Iterator[Intervention]:
    instance = scene.state.instances.get(event.instance)
    if instance is not None and event.reason not in instance.errors:
        fields: dict[str, object] = {"instances": [event.instance], "what": event.reason}
        yield Intervention("E", f"{event.instance}: {event.reason}", type(event).__name__, fields)


def _reservation(scene: _Scene, event: ReservationEnding) -> Iterator[Intervention]:
    reservation = scene.state.reservations[event.ar_id]
    cause = event.why or ("its time is over" if event.state == "x" else "qrdel")
    jobs = len(scene.state.reserved.jobs[event.ar_id])
    text = f"advance reservation {event.ar_id} ({reservation.owner}) ends: {cause}{scene.by}; {_count(jobs, 'job')} in it"
    fields = {"reservation": event.ar_id, "user": reservation.owner, "by": scene.by.removeprefix(" by "), "jobs": jobs}
    yield Intervention("W" if jobs else "I", text, type(event).__name__, fields)


_OF_TASKS: dict[type, Callable[[_Scene, Any], Iterable[_Part]]] = {
    TaskDeletionRequested: _deletion,
    TaskReschedulingRequested: _rescheduling,
    TaskEnded: _ended,
    TaskRequeued: _requeued,
    TaskSuspensionChanged: _suspension,
    PendingTasksDeleted: _pending_deleted,
    JobErrorChanged: _job_error,
}
_OF_OTHERS: dict[type, Callable[[_Scene, Any], Iterable[Intervention]]] = {
    InstanceFlagsChanged: _flags,
    InstanceErrorSet: _instance_error,
    ReservationEnding: _reservation,
}
