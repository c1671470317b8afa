"""The log of jobs in the reporting file: that one is new, and each step that it and its tasks take.

Owns which lines each event has, in the words of 8.1.9, by whom and in which state. Pure: made from the state before the events
are applied. Called by `reporting`. Source: sge_reporting(5) new_job and job_log; their fields are in the order of 8.1.9, where
the priority comes before the submission time (O). RP-1, RP-4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from daemons.qmaster.decision import Record, World
from gridengine.ranges import Ranges
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

MASTER, SCHEDULER, EXECD = "master", "scheduler", "execution daemon"
_PRIORITY_0 = 1024
"""The priority is counted from -1023 on, as 8.1.9 keeps it."""
_NO_TASK, _ONLY_TASK = -1, 0
"""Task numbers of what concerns a job whose tasks have not begun, and of the only task of a job that is no array."""


class LogLine(NamedTuple):
    """What a line of job_log says. `state`: a letter as in qstat; `user`, `host`: who brought it about, and from where."""

    event: str
    task: int
    state: str
    user: str
    host: str
    message: str


class Occasion(NamedTuple):
    """What records are made from: the state before a transaction, the world then, and who asked for it from where."""

    state: State
    world: World
    user: str
    host: str

    @property
    def where(self) -> str:
        """The host that a request came from, the master's for what none asked for."""
        return self.host or self.world.master_host


def job_records(occasion: Occasion, events: Iterable[AnyEvent], joblog: bool) -> Iterator[Record]:
    """The records of a transaction that is about to be applied; those of job_log where they are wanted."""
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
    places = " ".join(f"{grant.instance}={grant.slots}" for grant in event.granted)
    yield LogLine("sent", _number(job, event.task_id), "t", MASTER, occasion.world.master_host, f"sent to {places}")


def _started(occasion: Occasion, job: Job, event: TaskStarted) -> Iterator[LogLine]:
    yield LogLine("delivered", _number(job, event.task_id), "r", MASTER, occasion.world.master_host, "its host has started it")


def _ended(occasion: Occasion, job: Job, event: TaskEnded) -> Iterator[LogLine]:
    task = job.tasks.get(event.task_id)
    number, letter = _number(job, event.task_id), _letter(task)
    if event.abandoned:
        yield LogLine("deleted", number, letter, MASTER, occasion.world.master_host, "given up without its host")
    elif task is not None:
        what, message = ("deleted", "its host has ended it") if task.deleted_by else ("finished", "ended")
        yield LogLine(what, number, letter, EXECD, task.host, message)
    yield from _over(occasion, number, letter)


def _over(occasion: Occasion, number: int, letter: str) -> Iterator[LogLine]:
    """The last two lines of each task, which are those of the scheduler in 8.1.9."""
    yield LogLine("finished", number, letter, MASTER, occasion.world.master_host, "over")
    yield LogLine("deleted", number, "T", SCHEDULER, occasion.world.master_host, "taken off the list")


def _deletion_requested(occasion: Occasion, job: Job, event: TaskDeletionRequested) -> Iterator[LogLine]:
    yield LogLine("deleted", _number(job, event.task_id), _letter(job.tasks.get(event.task_id)), event.by, occasion.where, "qdel")


def _pending_deleted(occasion: Occasion, job: Job, event: PendingTasksDeleted) -> Iterator[LogLine]:
    """One line for all tasks that never began, however many these are; one each for those that did."""
    begun = [task for task in job.tasks if task in event.tasks]
    never = [_NO_TASK if job.is_array else _ONLY_TASK] if event.tasks - Ranges.of(begun) else []
    for number in [*never, *(_number(job, task) for task in begun)]:
        yield LogLine("deleted", number, "", event.by, occasion.where, event.reason or "qdel")
        yield from _over(occasion, number, "")


def _suspension(occasion: Occasion, job: Job, event: TaskSuspensionChanged) -> Iterator[LogLine]:
    user = occasion.user if event.by == "user" else SCHEDULER if event.by == "threshold" else MASTER
    number, letter = _number(job, event.task_id), _letter(job.tasks.get(event.task_id))
    what = "suspended" if event.suspended else "unsuspended"
    yield LogLine(what, number, letter, user, occasion.where, f"by {event.by}")


def _requeued(occasion: Occasion, job: Job, event: TaskRequeued) -> Iterator[LogLine]:
    task = job.tasks.get(event.task_id)
    number, letter = _number(job, event.task_id), _letter(task)
    if task is not None and not event.abandoned:
        what, message = ("error", event.error) if event.error else ("restart", event.mishap or "to run again")
        yield LogLine(what, number, letter, EXECD, task.host, message)
    yield LogLine("restart", number, letter, MASTER, occasion.world.master_host, "waits for another start")


def _job_error(occasion: Occasion, job: Job, event: JobErrorChanged) -> Iterator[LogLine]:
    if event.error:
        yield LogLine("error", _NO_TASK, "", SCHEDULER, occasion.world.master_host, event.error)


def _number(job: Job, task_id: int) -> int:
    return task_id if job.is_array else _ONLY_TASK


def _letter(task: Task | None) -> str:
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
