"""Tasks: dispatched, started, ended or pending again, and the commands in between.

Owns the events and the writing of `Task`, of its bookings and of the indexes of dispatched tasks. Called by
`gridengine.state.apply` only.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gridengine.state.conditions import CONDITIONS, OF_SUSPENSIONS
from gridengine.state.jobs import SHORT_TRY_S, Confinement, Grant, GrantedUnits, Task, Usage
from gridengine.state.machines import reservation as reservations
from gridengine.state.machines.event import Event, Handlers, Transitions, unchanged
from gridengine.state.machines.job import finish_if_done
from gridengine.state.machines.placed import abandon, place, unplace
from gridengine.state.machines.slave import abandon_slaves
from gridengine.state.reported import Reported
from gridengine.state.shared_values import with_entry
from gridengine.state.slaves import MasterEnd
from gridengine.state.state import State


class TaskDispatched(Event, frozen=True, tag=True):
    """A task was dispatched and will be delivered to the host of its first grant. `granted`: all its grants.

    `resources`: the amounts that the job is charged with while it holds the slots. `units`: the units of resource maps that it
    has on each host.
    """

    job_id: int
    task_id: int
    attempt: int
    granted: list[Grant]
    time: float
    pe: str = ""
    resources: dict[str, str] = {}
    units: list[GrantedUnits] = []


class TaskStarted(Event, frozen=True, tag=True):
    """The host has the task and its shepherd runs. `confinement`: cores and memory limit of the task, None for none."""

    job_id: int
    task_id: int
    attempt: int
    time: float
    confinement: Confinement | None = None


class TaskUsageReported(Event, frozen=True, tag=True):
    durable: ClassVar[bool] = False
    job_id: int
    task_id: int
    attempt: int
    #: so far, without the usage of its slave tasks
    usage: Usage


class TaskUsageRecorded(Event, frozen=True, tag=True):
    """A record of the usage of a running task was written to the reporting file (RP-3). `reported`: all usage in the file."""

    job_id: int
    task_id: int
    attempt: int
    reported: Reported


class TaskEnded(Event, frozen=True, tag=True):
    """A task has ended. Its usage is in the accounting record of the same transaction. `abandoned`: its host has not reported
    the end, and is instructed to kill and forget it. `reason`: why it failed or was killed, "" if it did not."""

    job_id: int
    task_id: int
    attempt: int
    time: float
    exit_status: int = 0
    failed: int = 0
    abandoned: bool = False
    reason: str = ""


class TaskRequeued(Event, frozen=True, tag=True):
    """A task released its slots and is pending again (exit 99, host failure, qmod -r).

    `error`: reason of an error state (Eqw), "" if the task may simply run again. `behind`: the job counts as submitted
    now, so earlier jobs precede it (QM-9). `restart`: the next attempt is a restart (`R`, RESTARTED=1).
    `mishap`: why this attempt failed, if that is no error of the job. `abandoned`: as in `TaskEnded`.
    """

    job_id: int
    task_id: int
    attempt: int
    time: float
    error: str = ""
    behind: bool = False
    restart: bool = True
    mishap: str = ""
    abandoned: bool = False


class TaskCheckpointed(Event, frozen=True, tag=True):
    """A checkpoint of the task was made; `pid`: of the job's process in it ($job_pid of restart_command)."""

    job_id: int
    task_id: int
    attempt: int
    pid: int


class TaskErrorCleared(Event, frozen=True, tag=True):
    job_id: int
    task_id: int


class TaskDeletionRequested(Event, frozen=True, tag=True):
    """A task at a host is to be killed; the task is deleted when the host reports its end (`qdel` without `-f`).

    `by`: the user. `by_operator`: kill also the epilog and similar steps; each request is sent again.
    """

    job_id: int
    task_id: int
    by: str
    by_operator: bool = False


class TaskReschedulingRequested(Event, frozen=True, tag=True):
    """A running task is to be killed on its host and become pending again (qmod -rj, -rq). `by`: the user."""

    job_id: int
    task_id: int
    by: str


class TaskSuspensionChanged(Event, frozen=True, tag=True):
    """`by`: `user`, `threshold` or `subordinate` (`gridengine.state.conditions`); `suspended` or resumed."""

    job_id: int
    task_id: int
    by: str
    suspended: bool


class CommandApplied(Event, frozen=True, tag=True):
    """The host has executed `command` (`run`, `suspend`, `migrate`, `kill`) on a task."""

    job_id: int
    task_id: int
    attempt: int
    command: str


class TasksReprioritized(Event, frozen=True, tag=True):
    """Desired nice values of tasks changed. `changes`: (job, task, nice) each (PR-10)."""

    time: float
    changes: list[tuple[int, int, int]]


class NicenessApplied(Event, frozen=True, tag=True):
    """The host has set the nice value `nice` for the processes of a task."""

    job_id: int
    task_id: int
    attempt: int
    nice: int


class MasterEnded(Event, frozen=True, tag=True):
    """The master of a parallel task has ended (`end`) while slave tasks run: the slave tasks are killed first (TI-5)."""

    job_id: int
    task_id: int
    attempt: int
    end: MasterEnd


TaskEvent = (
    TaskDispatched
    | TaskStarted
    | TaskUsageReported
    | TaskUsageRecorded
    | TaskEnded
    | TaskRequeued
    | TaskCheckpointed
    | TaskErrorCleared
    | TaskDeletionRequested
    | TaskReschedulingRequested
    | TaskSuspensionChanged
    | CommandApplied
    | TasksReprioritized
    | NicenessApplied
    | MasterEnded
)

_AT_HOST = ("transferring", "running", "ending")
_HOST_REPORT = unchanged("pending", *_AT_HOST, "over")
"""A host may report on an attempt that has ended by now, or ends with the same reports: this has no effect."""

TRANSITIONS: Transitions = {
    TaskDispatched: dict.fromkeys(("waiting", "pending"), "transferring"),
    TaskStarted: {**_HOST_REPORT, "transferring": "running", "ending": "ending"},
    TaskUsageReported: _HOST_REPORT,
    TaskUsageRecorded: _HOST_REPORT,
    TaskCheckpointed: _HOST_REPORT,
    CommandApplied: _HOST_REPORT,
    NicenessApplied: _HOST_REPORT,
    MasterEnded: dict.fromkeys(("transferring", "running"), "ending"),
    TaskEnded: dict.fromkeys(_AT_HOST, "over"),
    # pending: old journals may contain it twice, since qmod -rj -f could name a job twice
    TaskRequeued: dict.fromkeys((*_AT_HOST, "pending"), "pending"),
    TaskErrorCleared: unchanged("pending"),
    TaskDeletionRequested: unchanged(*_AT_HOST),
    TaskReschedulingRequested: unchanged(*_AT_HOST),
    TaskSuspensionChanged: unchanged(*_AT_HOST),
}
"""`waiting`: never started. `pending`: pending again, perhaps in error. `transferring`: sent to a host that has not acknowledged
it. `running`. `ending`: its master has ended and slave tasks run (TI-5). `over`: this attempt or the whole task has ended."""


def state_of(state: State, event: Any) -> str:
    """The state of the task, or of its attempt, of an event."""
    job = state.jobs.get(event.job_id)
    task = job.tasks.get(event.task_id) if job is not None else None
    if task is None:
        return "waiting" if job is not None and event.task_id in job.pending else "over"
    if getattr(event, "attempt", task.attempt) < task.attempt:
        return "over"
    return "ending" if task.master_end is not None else task.status


def _task_dispatched(state: State, event: TaskDispatched) -> None:
    job = state.jobs[event.job_id]
    task = job.tasks.get(event.task_id)
    if task is None:
        task = Task(event.task_id)
        job.tasks = with_entry(job.tasks, event.task_id, task)
        job.pending = job.pending.minus(event.task_id)
    task.status = "transferring"
    task.attempt = event.attempt
    task.granted = list(event.granted)
    task.pe = event.pe
    task.start_time = event.time
    task.resources = dict(event.resources)
    task.units = list(event.units)
    task.applied = ""
    task.error = task.mishap = ""
    place(state, job, task)
    reservations.note_use(state, job, event.time)


def _task_started(state: State, event: TaskStarted) -> None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    if task is not None and task.status == "transferring":
        task.status = "running"
        task.applied = "run"
        task.confinement = event.confinement


def _task_usage(state: State, event: TaskUsageReported) -> None:
    if (task := state.task(event.job_id, event.task_id, event.attempt)) is not None:
        task.usage = event.usage


def _task_usage_recorded(state: State, event: TaskUsageRecorded) -> None:
    if (task := state.task(event.job_id, event.task_id, event.attempt)) is not None:
        task.reported = event.reported


def _task_ended(state: State, event: TaskEnded) -> None:
    job = state.jobs[event.job_id]
    task = job.tasks.pop(event.task_id)
    abandon_slaves(state, job, task)
    if event.abandoned:
        abandon(state, job, task)
    job.unsuccessful += bool(event.exit_status or event.failed or task.deleted_by)
    unplace(state, job, task)
    reservations.note_use(state, job, event.time)
    finish_if_done(state, job, event.time, task.slots or 1)


def _task_requeued(state: State, event: TaskRequeued) -> None:
    job = state.jobs[event.job_id]
    task = job.tasks[event.task_id]
    abandon_slaves(state, job, task)
    if event.abandoned:
        abandon(state, job, task)
    unplace(state, job, task)
    reservations.note_use(state, job, event.time)
    task.status = "pending"
    task.granted, task.units = [], []
    task.pe = task.applied = ""
    task.conditions = {name: by for name, by in task.conditions.items() if not CONDITIONS[name].cleared_by_requeue}
    task.error, task.mishap = event.error, event.mishap
    task.usage = task.cleared = task.reported = task.confinement = task.nice = task.nice_applied = None
    task.short_tries = task.short_tries + 1 if event.time - task.start_time < SHORT_TRY_S else 0
    task.requeued_at = event.time
    if event.behind:
        job.first_submit_time, job.submit_time = job.submitted, event.time
    if event.restart and not event.error:
        task.restarts += 1


def _task_checkpointed(state: State, event: TaskCheckpointed) -> None:
    if (task := state.task(event.job_id, event.task_id, event.attempt)) is not None:
        task.checkpoint = event.pid


def _task_error_cleared(state: State, event: TaskErrorCleared) -> None:
    task = state.jobs[event.job_id].tasks[event.task_id]
    task.error, task.short_tries = "", 0


def _task_deletion_requested(state: State, event: TaskDeletionRequested) -> None:
    task = state.jobs[event.job_id].tasks[event.task_id]
    task.conditions.setdefault("deleted", event.by)
    if event.by_operator:
        task.conditions.setdefault("ended_by_operator", event.by)
        if task.applied == "end":
            task.applied = "kill"  # the command is sent again


def _task_rescheduling_requested(state: State, event: TaskReschedulingRequested) -> None:
    state.jobs[event.job_id].tasks[event.task_id].conditions["rescheduling"] = event.by


def _task_suspension_changed(state: State, event: TaskSuspensionChanged) -> None:
    conditions = state.jobs[event.job_id].tasks[event.task_id].conditions
    if event.suspended:
        conditions[OF_SUSPENSIONS[event.by]] = ""
    else:
        conditions.pop(OF_SUSPENSIONS[event.by], None)


def _command_applied(state: State, event: CommandApplied) -> None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    if task is not None:
        task.applied = event.command  # type: ignore[assignment]


def _reprioritized(state: State, event: TasksReprioritized) -> None:
    for job_id, task_id, nice in event.changes:
        if (task := state.task(job_id, task_id)) is not None:
            task.nice, task.nice_time = nice, event.time
            state.reniced.add((job_id, task_id))


def _niceness_applied(state: State, event: NicenessApplied) -> None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    if task is not None:
        task.nice_applied = event.nice


def _master_ended(state: State, event: MasterEnded) -> None:
    state.jobs[event.job_id].tasks[event.task_id].master_end = event.end


HANDLERS: Handlers = {
    TaskDispatched: _task_dispatched,
    TaskStarted: _task_started,
    TaskUsageReported: _task_usage,
    TaskUsageRecorded: _task_usage_recorded,
    TaskEnded: _task_ended,
    TaskRequeued: _task_requeued,
    TaskCheckpointed: _task_checkpointed,
    TaskErrorCleared: _task_error_cleared,
    TaskDeletionRequested: _task_deletion_requested,
    TaskReschedulingRequested: _task_rescheduling_requested,
    TaskSuspensionChanged: _task_suspension_changed,
    CommandApplied: _command_applied,
    TasksReprioritized: _reprioritized,
    NicenessApplied: _niceness_applied,
    MasterEnded: _master_ended,
}
