"""Jobs: submitted, changed, held, deleted while pending, finished with their last task.

Owns the events and the writing of `Job`, of the index of dependencies, of the last ended jobs, and of the priorities from the
scheduler. Called by `gridengine.state.apply` only.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec import structs

from gridengine.state.jobs import KEPT_JOBS, NO_TICKETS, FinishedJob, Hold, Job, JobChanges, Tickets
from gridengine.state.machines import reservation as reservations
from gridengine.state.machines.event import Event, Handlers, Transitions, unchanged
from gridengine.state.shared_values import share_values, with_entry
from gridengine.state.state import State
from gridengine.values.ranges import Ranges, parse_slot_ranges


class JobSubmitted(Event, frozen=True, tag=True):
    """`job`: as it was accepted."""

    job: Job


class JobChanged(Event, frozen=True, tag=True):
    """`changes`: by qalter. The version is incremented, unless only its share or priority changes."""

    job_id: int
    changes: JobChanges


class HoldsChanged(Event, frozen=True, tag=True):
    """`set_holds`/`cleared` are `Hold` flags for the named tasks (qhold, qrls, qalter -h); the version is incremented."""

    job_id: int
    tasks: Ranges
    set_holds: int = 0
    cleared: int = 0


class PendingTasksDeleted(Event, frozen=True, tag=True):
    """Tasks that are not at a host were deleted; a job without tasks is gone. `by`: user, or part of the cell, that deleted them;
    `reason`: "" if a user did."""

    job_id: int
    tasks: Ranges
    by: str
    time: float
    reason: str = ""


class JobErrorChanged(Event, frozen=True, tag=True):
    """The scheduler cannot handle the job: `error` is the reason for its owner. "": an operator has cleared it."""

    job_id: int
    error: str


class JobNumbersRaised(Event, frozen=True, tag=True):
    """The next job gets the number `next_job_id` or a greater number: smaller numbers are in use on hosts."""

    next_job_id: int


class PrioritiesSet(Event, frozen=True, tag=True):
    """`priorities`: job id -> (prio, npprior, nurg, ntckts), each 0..1 but prio; `tickets`: of jobs with changed tickets. Source:
    sge_priority(5), PR-1."""

    durable: ClassVar[bool] = False
    priorities: dict[int, tuple[float, float, float, float]]
    tickets: dict[int, Tickets] = {}


JobEvent = (
    JobSubmitted
    | JobChanged
    | HoldsChanged
    | PendingTasksDeleted
    | JobErrorChanged
    | JobNumbersRaised
    | PrioritiesSet
)

TRANSITIONS: Transitions = {
    JobSubmitted: {"none": "known"},
    JobChanged: unchanged("known"),
    HoldsChanged: unchanged("known"),
    JobErrorChanged: unchanged("known"),
    PendingTasksDeleted: {"known": ("known", "none")},
}
"""`none`: there is no such job, or it has ended with its last task. The machine `task` owns its tasks."""


def state_of(state: State, event: Any) -> str:
    """Whether the job of an event exists."""
    number = event.job.id if type(event) is JobSubmitted else event.job_id
    return "known" if number in state.jobs else "none"


def _job_submitted(state: State, event: JobSubmitted) -> None:
    # a copy: a mirror in the same process must not share objects that apply changes
    job = msgspec.structs.replace(event.job, tasks=dict(event.job.tasks), holds=dict(event.job.holds))
    share_values([job])
    state.jobs[job.id] = job
    state.next_job_id = job.id + 1
    index_job(state, job)


def index_job(state: State, job: Job) -> None:
    reservations.index_job(state, job)
    for other in (*job.predecessors, *job.array_predecessors):
        state.dependents.setdefault(other, set()).add(job.id)
    state.owned.setdefault((job.owner, job.group), set()).add(job.id)
    if job.doomed:
        state.doomed.add(job.id)


def _forget_dependencies(state: State, job: Job) -> None:
    for other in (*job.predecessors, *job.array_predecessors):
        state.dependents.get(other, set()).discard(job.id)


POLICY_FIELDS = frozenset(("priority", "job_share"))
"""Fields that affect the order of jobs, not their placement. Source: O (qalter -p, -js leave the version as it is)."""


def _job_changed(state: State, event: JobChanged) -> None:
    job = state.jobs[event.job_id]
    placed = job.placed
    for task in placed:
        state.quotas.charge(job, task, -1)
    _forget_dependencies(state, job)
    reservations.forget_job(state, job)
    given = event.changes.given()
    for name, value in given.items():
        setattr(job, name, value)
    job.version += bool(given.keys() - POLICY_FIELDS)
    job.error = ""  # the change may have fixed it: the scheduler tries again
    index_job(state, job)
    for task in placed:
        state.quotas.charge(job, task)


def _holds_changed(state: State, event: HoldsChanged) -> None:
    job = state.jobs[event.job_id]
    for kind in Hold:
        before = job.holds.get(kind.value, Ranges())
        if event.set_holds & kind:
            job.holds = with_entry(job.holds, kind.value, before | event.tasks)
        elif event.cleared & kind:
            if left := before - event.tasks:
                job.holds[kind.value] = left
            else:
                job.holds.pop(kind.value, None)
    job.version += 1


def _pending_tasks_deleted(state: State, event: PendingTasksDeleted) -> None:
    job = state.jobs[event.job_id]
    job.pending = job.pending - event.tasks
    job.unsuccessful += len(event.tasks)
    for task_id in [t.id for t in job.tasks.values() if t.waits and t.id in event.tasks]:
        del job.tasks[task_id]
    finish_if_done(state, job, event.time, parse_slot_ranges(job.pe_range)[0][0] if job.pe_range else 1)


def _job_error_changed(state: State, event: JobErrorChanged) -> None:
    state.jobs[event.job_id].error = event.error


def _job_numbers_raised(state: State, event: JobNumbersRaised) -> None:
    state.next_job_id = max(state.next_job_id, event.next_job_id)


def _priorities_set(state: State, event: PrioritiesSet) -> None:
    same: dict[Any, Any] = {}  # jobs of one category have equal values
    for job_id, values in event.priorities.items():
        if job_id in state.jobs:
            state.priorities[job_id] = same.setdefault(values, values)
    for job_id, tickets in event.tickets.items():
        if job_id in state.jobs and tickets != NO_TICKETS:
            state.tickets[job_id] = tickets
        else:
            state.tickets.pop(job_id, None)


def finish_if_done(state: State, job: Job, time: float, slots: int) -> None:
    if job.pending or job.tasks:
        return
    del state.jobs[job.id]
    reservations.forget_job(state, job)
    state.tickets.pop(job.id, None)
    prio = state.priorities.pop(job.id, (0.0, 0.0, 0.0, 0.0))
    state.doomed.discard(job.id)
    jobs_of_owner = state.owned[job.owner, job.group]
    jobs_of_owner.discard(job.id)
    if not jobs_of_owner:
        del state.owned[job.owner, job.group]
    _forget_dependencies(state, job)
    for other_id in state.dependents.pop(job.id, ()):
        _predecessor_ended(state, state.jobs[other_id], job)
    state.finished.append(
        FinishedJob(
            id=job.id,
            name=job.name,
            owner=job.owner,
            submit_time=job.submit_time,
            end_time=time,
            slots=slots,
            priority=prio[0],
            unsuccessful=bool(job.unsuccessful),
            tasks=str(job.array or ""),
            job=job,
        )
    )
    if len(state.finished) > KEPT_JOBS:
        state.finished[-KEPT_JOBS - 1] = structs.replace(state.finished[-KEPT_JOBS - 1], job=None)
    forget_finished(state)


def forget_finished(state: State) -> None:
    """Keep only the last `finished_jobs` ended jobs, by the current configuration. Source: sge_conf(5) finished_jobs."""
    del state.finished[: max(0, len(state.finished) - state.configuration().finished_jobs)]


def _predecessor_ended(state: State, job: Job, ended: Job) -> None:
    """Remove an ended job from the predecessors of another job; a job with the wrong outcome stays there (ADR 0020)."""
    condition = job.conditions.get(ended.id)
    if condition is not None and (condition == "ok") == bool(ended.unsuccessful):
        job.doomed = f"job {ended.id} had to {'succeed but failed' if condition == 'ok' else 'fail but succeeded'}"
        state.doomed.add(job.id)
        return
    job.conditions = {other: how for other, how in job.conditions.items() if other != ended.id}
    job.predecessors = tuple(other for other in job.predecessors if other != ended.id)
    job.array_predecessors = tuple(other for other in job.array_predecessors if other != ended.id)


HANDLERS: Handlers = {
    JobSubmitted: _job_submitted,
    JobChanged: _job_changed,
    HoldsChanged: _holds_changed,
    PendingTasksDeleted: _pending_tasks_deleted,
    JobErrorChanged: _job_error_changed,
    JobNumbersRaised: _job_numbers_raised,
    PrioritiesSet: _priorities_set,
}
