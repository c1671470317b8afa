"""Pending: the tasks of a job that may start at a moment, and the reasons why the other tasks must wait.

Owns holds, dependencies, start times and the limits of array jobs, for the scheduler and `qstat -j`.
Must not know resources. Source: SO-49, DP-1 … DP-4, AJ-1 … AJ-4, sge_submit(1) -a -h -hold_jid -tc.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridengine.placement.reasons import Reason
from gridengine.state.dependencies import blocked_tasks, is_task_blocked
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State


def job_waits(state: State, job: Job, now: float) -> Reason | None:
    """Return the reason why all tasks of a job must wait: dependencies, a start time. None: no reason."""
    if job.predecessors and state.waits_for(job):
        return Reason("dependencies")
    return Reason("start_time") if job.start_after > now else None


def paused_tasks(job: Job, now: float) -> list[Task]:
    """Tasks that must not be retried yet: a task that repeatedly ends at once (a prolog, a job that exits with 99) would else
    keep its host and the accounting file busy. If the clock was set back they are not paused."""
    return [task for task in job.tasks.values() if _pauses(task, now)]


def _pauses(task: Task, now: float) -> bool:
    return task.requeued_at <= now < task.paused_until


def task_limit(state: State, job: Job) -> int:
    """Return the number of tasks of the job that may be dispatched at the same time; 0: no limit. Source: AJ-2, AJ-3."""
    if not job.is_array:
        return 0
    limits = (job.task_concurrency, state.configuration().max_aj_instances)
    return min((limit for limit in limits if limit > 0), default=0)


def ready_tasks(state: State, job: Job, now: float) -> Iterator[tuple[int, Task | None]]:
    """Pending tasks without hold, error, pause or array dependency; tasks that have run before come first.

    Lazy: a million tasks cost as much as their ranges until they are requested.
    """
    if job.error:
        return
    own = [task for task in job.tasks.values() if task.waits] if job.tasks else []
    for task in sorted(own, key=lambda task: task.id):
        waits = task.error or task.deleted_by or _pauses(task, now) or job.held(task.id)
        if not (waits or is_task_blocked(state, job, task.id)):
            yield task.id, task
    ready = job.pending
    for held in job.holds.values():
        ready = ready - held
    if job.array_predecessors:
        ready = ready - blocked_tasks(state, job)
    for task_id in ready:
        yield task_id, None


def waiting_reason(state: State, job: Job, now: float) -> Reason | None:
    """Return the reason why no task of the job is considered for placement; None if a task is considered. now: epoch seconds."""
    reason = job_waits(state, job, now)
    if reason is not None:
        return reason
    if next(ready_tasks(state, job, now), None) is None:
        return _blocking_reason(job, now)
    return task_limit_reached(state, job) or user_limit(state, job)


def task_limit_reached(state: State, job: Job) -> Reason | None:
    """Whether the job has as many dispatched tasks as its limit allows."""
    limit = task_limit(state, job)
    running = len(job.placed) if limit else 0
    return Reason("task_limit", number=running) if limit and running >= limit else None


def _blocking_reason(job: Job, now: float) -> Reason | None:
    """Return the reason why none of the pending tasks is ready; None if no task is pending."""
    if job.error or any(task.error for task in job.tasks.values() if task.waits):
        return Reason("in_error")
    if job.holds:
        return Reason("held")
    if paused := paused_tasks(job, now):
        return Reason("paused", number=paused[0].short_tries)
    return Reason("task_dependencies") if job.array_predecessors else None


def user_limit(state: State, job: Job) -> Reason | None:
    """Whether the owner has as many running jobs as maxujobs allows. Source: sge_sched_conf(5) maxujobs, SC-4."""
    limit = state.scheduler.maxujobs
    if limit <= 0:
        return None
    running = sum(len(other.placed) for other in state.jobs.values() if other.owner == job.owner)
    return Reason("user_limit", other=job.owner, number=running) if running >= limit else None
