"""Array dependencies: which tasks of a job wait for which tasks of another job (-hold_jid_ad).

Owns only the arithmetic: both arrays cover the same range of ids, a task covers the ids from its own up to the next
task, and a task waits for every unfinished task that covers one of its ids. With equal steps the dependency is task by
task; with different steps many to one or one to many. Must not iterate over single tasks where ranges suffice. Called by
`gridengine.state.state_codes` and `gridengine.placement.pending`. Source: DP-4, sge_submit(1) -hold_jid_ad; O.
"""

from __future__ import annotations

from gridengine.state.jobs import Job
from gridengine.state.state import State
from gridengine.values.ranges import Ranges


def unfinished(job: Job) -> Ranges:
    """Tasks of a job that have not ended."""
    return job.pending | Ranges.of(job.tasks) if job.tasks else job.pending


def blocked_tasks(state: State, job: Job) -> Ranges:
    """Tasks of a job that array dependencies block; may contain ids that are no tasks of the job."""
    blocked = Ranges()
    for other_id in job.array_predecessors:
        other = state.jobs.get(other_id)
        if other is not None:
            blocked = blocked | _blocked_by(job, other)
    return blocked


def _blocked_by(job: Job, other: Job) -> Ranges:
    left = unfinished(other)
    own, width = job.task_step, other.task_step
    if own == width or job.array is None:
        return left
    return left.widened(own - 1, width - 1) & job.array


def is_task_blocked(state: State, job: Job, task_id: int) -> bool:
    """Whether an array dependency still blocks this task."""
    for other_id in job.array_predecessors:
        other = state.jobs.get(other_id)
        if other is not None and any(t in other.pending or t in other.tasks for t in waited_for(job, other, task_id)):
            return True
    return False


def waited_for(job: Job, other: Job, task_id: int) -> range:
    """Ids of the other array's tasks that a task waits for."""
    if other.array is None or job.task_step == other.task_step:
        return range(task_id, task_id + 1)
    first, width = other.array.first, other.task_step
    return range(first + max(0, (task_id - first) // width) * width, task_id + job.task_step, width)
