"""The history of a job: every event of it with its time and cause, as people read it.

Owns the choice of the events and the texts of their causes; the spool keeps the lines, also after a snapshot has replaced the
journal. Pure. Called by `spool` for each transaction that is written, and by `reading`. Source: docs/adr/0107.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gridengine.state.desired_command import UNSURE
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Hold
from gridengine.state.machines import job, slave, task

DAEMON = "qmaster"
"""The user of actions without a request."""


class Line(NamedTuple):
    """`job`: number of the job; `time`: epoch s of its transaction; `task`: 0 for an event of the whole job; `event`: its name in
    the journal. `cause`: a text for people, "" for none."""

    job: int
    time: float
    task: int
    event: str
    cause: str


def lines(events: Iterable[AnyEvent], time: float, user: str, host: str) -> Iterator[Line]:
    """The lines of a transaction in the histories of jobs, in order."""
    by = "" if user == DAEMON else f"by {user}@{host}" if host else f"by {user}"
    for event in events:
        cause_of = CAUSES.get(type(event))
        if cause_of is not None and event.durable:
            number = event.job.id if type(event) is job.JobSubmitted else event.job_id  # type: ignore[union-attr]
            cause = ", ".join(filter(None, (*cause_of(event), by)))
            yield Line(number, time, getattr(event, "task_id", 0), type(event).__name__, cause)


def as_text(line: Line) -> str:
    """A line for a log, its time in epoch seconds."""
    return f"{line.time:.3f} {line.event}{f' of task {line.task}' if line.task else ''}{f': {line.cause}' if line.cause else ''}"


Cause = Callable[[Any], Iterable[str]]


def _plain(_event: Any) -> Iterable[str]:
    return ()


def _changed(event: job.JobChanged) -> Iterable[str]:
    return (" ".join(sorted(event.changes.given())),)


def _held(event: job.HoldsChanged) -> Iterable[str]:
    for verb, flags in (("set", event.set_holds), ("cleared", event.cleared)):
        names = [str(kind.name).lower() for kind in Hold if kind & flags]
        if names:
            yield f"{verb} {' '.join(names)} hold of tasks {event.tasks}"


def _deleted(event: job.PendingTasksDeleted) -> Iterable[str]:
    return (f"tasks {event.tasks}", event.reason)


def _job_error(event: job.JobErrorChanged) -> Iterable[str]:
    return (event.error or "cleared",)


def _dispatched(event: task.TaskDispatched) -> Iterable[str]:
    yield f"attempt {event.attempt}"
    yield " ".join(f"{grant.instance}={grant.slots}" for grant in event.granted)
    yield event.pe


def _ended(event: Any) -> Iterable[str]:
    yield f"exit status {event.exit_status}"
    yield f"failed {event.failed}" if event.failed else ""


def _task_ended(event: task.TaskEnded) -> Iterable[str]:
    yield from _ended(event)
    yield event.reason
    yield _given_up(event.abandoned)


def _requeued(event: task.TaskRequeued) -> Iterable[str]:
    return (event.error and f"in error: {event.error}", event.mishap, _given_up(event.abandoned))


def _given_up(abandoned: bool) -> str:
    return "given up without a report of its host" if abandoned else ""


def _suspension(event: task.TaskSuspensionChanged) -> Iterable[str]:
    return (f"{'suspended' if event.suspended else 'resumed'} ({event.by})",)


def _command(event: task.CommandApplied) -> Iterable[str]:
    return ("sent to the host" if event.command == UNSURE else event.command,)


def _slave_requested(event: slave.SlaveRequested) -> Iterable[str]:
    return (f"slave task {event.slave.number} on {event.slave.host}",)


def _slave_command(event: slave.SlaveCommandApplied) -> Iterable[str]:
    return (f"slave task {event.number}", event.command)


def _slave_recorded(event: slave.SlaveUsageRecorded) -> Iterable[str]:
    return (f"slave task {event.number}", f"cpu {event.reported.cpu:.3f} s")


def _slave_ended(event: slave.SlaveEnded) -> Iterable[str]:
    return (f"slave task {event.number}", *_ended(event), event.reason)


CAUSES: dict[type, Cause] = {
    job.JobSubmitted: _plain,
    job.JobChanged: _changed,
    job.HoldsChanged: _held,
    job.PendingTasksDeleted: _deleted,
    job.JobErrorChanged: _job_error,
    task.TaskDispatched: _dispatched,
    task.TaskStarted: _plain,
    task.TaskUsageRecorded: lambda event: (f"cpu {event.reported.cpu:.3f} s",),
    task.TaskCheckpointed: _plain,
    task.CommandApplied: _command,
    task.NicenessApplied: lambda event: (f"nice {event.nice}",),
    task.MasterEnded: lambda event: _ended(event.end),
    task.TaskEnded: _task_ended,
    task.TaskRequeued: _requeued,
    task.TaskErrorCleared: _plain,
    task.TaskDeletionRequested: _plain,
    task.TaskReschedulingRequested: _plain,
    task.TaskSuspensionChanged: _suspension,
    slave.SlaveRequested: _slave_requested,
    slave.SlaveCommandApplied: _slave_command,
    slave.SlaveUsageRecorded: _slave_recorded,
    slave.SlaveEnded: _slave_ended,
}
"""Event of one job -> its cause, in parts. Only events in the journal have lines."""
