"""The log of jobs in the reporting file: the submission of a job, and each step of the job and its tasks.

Owns the lines of each event, in the terms of 8.1.9, with user and state. Pure: made from the state before the events are
applied. Called by `reporting`. Source: sge_reporting(5) new_job and job_log; their fields are in the order of 8.1.9, where the
priority comes before the submission time (O). RP-1, RP-4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from daemons.qmaster.decision import Record, World
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.job import JobErrorChanged, JobSubmitted, PendingTasksDeleted
from gridengine.state.machines.task import (
    TaskDeletionRequested,
    TaskDispatched,
    TaskEnded,
    TaskRequeued,
    TaskStarted,
    TaskSuspensionChanged,
)
from gridengine.state.state import State
from gridengine.values.ranges import Ranges

MASTER, SCHEDULER, EXECD = "master", "scheduler", "execution daemon"
_PRIORITY_0 = 1024
"""The priority is counted from -1023 on, as 8.1.9 keeps it."""
_NO_TASK, _ONLY_TASK = -1, 0
"""Task numbers of an event before the start of any task, and of the only task of a job that is no array."""


class LogLine(NamedTuple):
    """The fields of a line of job_log. `event`: its name; `task`: number of the task; `state`: a state code as in qstat; `user`,
    `host`: the origin of the event."""

    event: str
    task: int
    state: str
    user: str
    host: str
    message: str


class Occasion(NamedTuple):
    """The source of records: the `state` before a transaction, the `world` then, and the user and host of the request."""

    state: State
    world: World
    user: str
    host: str

    @property
    def where(self) -> str:
        """The host of the request, the master's host for events without a request."""
        return self.host or self.world.master_host


def job_records(occasion: Occasion, events: Iterable[AnyEvent], joblog: bool) -> Iterator[Record]:
    """The records of a transaction that is about to be applied; job_log records only with `joblog`."""
    time = int(occasion.world.now)
    fresh: dict[int, Job] = {}
    for event in events:
        lines_of = _LINES.get(type(event))
        if lines_of is None:
            continue
        if type(event) is JobSubmitted:
            job = fresh[event.job.id] = event.job
            yield "new_job", [int(job.submit_time), job.id, _NO_TASK, "NONE", *_described(job), _priority(job)]
        number = event.job.id if type(event) is JobSubmitted else event.job_id  # type: ignore[union-attr]
        known = fresh.get(number) or occasion.state.jobs.get(number)
        if joblog and known is not None:
            for line in lines_of(occasion, known, event):
                begin = [time, line.event, known.id, line.task, "NONE", line.state, line.user, line.host, 0]
                yield "job_log", [*begin, _priority(known), int(known.submit_time), *_described(known), line.message]


def _described(job: Job) -> list[object]:
    return [job.name, job.owner, job.group, job.project, job.department, job.account]


def _priority(job: Job) -> int:
    return _PRIORITY_0 + job.priority


def _submitted(occasion: Occasion, job: Job, event: JobSubmitted) -> Iterator[LogLine]:
    yield LogLine("pending", _NO_TASK, "", job.owner, job.submit_host or occasion.where, "submitted")


def _dispatched(occasion: Occasion, job: Job, event: TaskDispatched) -> Iterator[LogLine]:
    grants = " ".join(f"{grant.instance}={grant.slots}" for grant in event.granted)
    yield LogLine("sent", _number(job, event.task_id), "t", MASTER, occasion.world.master_host, f"sent to {grants}")


def _started(occasion: Occasion, job: Job, event: TaskStarted) -> Iterator[LogLine]:
    yield LogLine("delivered", _number(job, event.task_id), "r", MASTER, occasion.world.master_host, "its host has started it")


def _ended(occasion: Occasion, job: Job, event: TaskEnded) -> Iterator[LogLine]:
    task = job.tasks.get(event.task_id)
    number, state_code = _number(job, event.task_id), _state_code(task)
    if event.abandoned:
        yield LogLine("deleted", number, state_code, MASTER, occasion.world.master_host, "given up without its host")
    elif task is not None:
        what, message = ("deleted", "its host has ended it") if task.deleted_by else ("finished", "ended")
        yield LogLine(what, number, state_code, EXECD, task.host, message)
    yield from _over(occasion, number, state_code)


def _over(occasion: Occasion, number: int, state_code: str) -> Iterator[LogLine]:
    """The last two lines of each task, as 8.1.9 writes them for its scheduler."""
    yield LogLine("finished", number, state_code, MASTER, occasion.world.master_host, "over")
    yield LogLine("deleted", number, "T", SCHEDULER, occasion.world.master_host, "taken off the list")


def _deletion_requested(occasion: Occasion, job: Job, event: TaskDeletionRequested) -> Iterator[LogLine]:
    number, state_code = _number(job, event.task_id), _state_code(job.tasks.get(event.task_id))
    yield LogLine("deleted", number, state_code, event.by, occasion.where, "qdel")


def _pending_deleted(occasion: Occasion, job: Job, event: PendingTasksDeleted) -> Iterator[LogLine]:
    """One line for all tasks that never began, however many, and one line for each task that did."""
    begun = [task for task in job.tasks if task in event.tasks]
    never = [_NO_TASK if job.is_array else _ONLY_TASK] if event.tasks - Ranges.of(begun) else []
    for number in [*never, *(_number(job, task) for task in begun)]:
        yield LogLine("deleted", number, "", event.by, occasion.where, event.reason or "qdel")
        yield from _over(occasion, number, "")


def _suspension(occasion: Occasion, job: Job, event: TaskSuspensionChanged) -> Iterator[LogLine]:
    user = occasion.user if event.by == "user" else SCHEDULER if event.by == "threshold" else MASTER
    number, state_code = _number(job, event.task_id), _state_code(job.tasks.get(event.task_id))
    what = "suspended" if event.suspended else "unsuspended"
    yield LogLine(what, number, state_code, user, occasion.where, f"by {event.by}")


def _requeued(occasion: Occasion, job: Job, event: TaskRequeued) -> Iterator[LogLine]:
    task = job.tasks.get(event.task_id)
    number, state_code = _number(job, event.task_id), _state_code(task)
    if task is not None and not event.abandoned:
        what, message = ("error", event.error) if event.error else ("restart", event.mishap or "to run again")
        yield LogLine(what, number, state_code, EXECD, task.host, message)
    yield LogLine("restart", number, state_code, MASTER, occasion.world.master_host, "waits for another start")


def _job_error(occasion: Occasion, job: Job, event: JobErrorChanged) -> Iterator[LogLine]:
    if event.error:
        yield LogLine("error", _NO_TASK, "", SCHEDULER, occasion.world.master_host, event.error)


def _number(job: Job, task_id: int) -> int:
    return task_id if job.is_array else _ONLY_TASK


def _state_code(task: Task | None) -> str:
    if task is None or task.waits:
        return ""
    return "t" if task.status == "transferring" else "r"


_LINES: dict[type, Callable[[Occasion, Job, Any], Iterable[LogLine]]] = {
    JobSubmitted: _submitted,
    JobErrorChanged: _job_error,
    PendingTasksDeleted: _pending_deleted,
    TaskDispatched: _dispatched,
    TaskStarted: _started,
    TaskSuspensionChanged: _suspension,
    TaskDeletionRequested: _deletion_requested,
    TaskRequeued: _requeued,
    TaskEnded: _ended,
}
"""Event -> its lines, in order. (occasion, the job before it, event)."""
