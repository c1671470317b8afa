"""Attempts that end without a report of their host: lost hosts, forced deletions, cleaned queues.

Owns their events and accounting records, made from the facts that are known without a report. Reports of hosts belong to
`reports`. Source: qdel(1) -f, qconf(1) -cq, sge_conf(5) reschedule_unknown; EX-11, RL-11.
"""

from __future__ import annotations

from daemons.qmaster.decision import Accounted, Decision
from daemons.qmaster.notifications.accounting import KILLED, killed_end, reason_of, record
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.task import TaskEnded, TaskRequeued
from gridengine.state.state import State


def ended_without_host(
    state: State, job: Job, task: Task, now: float, failed: int, why: str, abandoned: bool = True
) -> Decision:
    """The end of a task, `failed` as in sge_status(5), `why` as a text. `abandoned`: its host must kill the remaining processes
    when it answers again."""
    end = killed_end(job, task, now, failed, why)
    event = TaskEnded(job.id, task.id, task.attempt, now, KILLED, failed, abandoned, reason_of(task, end, failed))
    return _decided(event, (job.id, task.id, record(state, job, task, end, failed)), why)


def requeued_without_host(
    state: State, job: Job, task: Task, now: float, failed: int, why: str, abandoned: bool = True, behind: bool = False
) -> Decision:
    """The task is pending again, `behind` all other jobs or in its old position; `abandoned` as above."""
    event = TaskRequeued(job.id, task.id, task.attempt, now, behind=behind, abandoned=abandoned)
    end = killed_end(job, task, now, failed, why)
    return _decided(event, (job.id, task.id, record(state, job, task, end, failed)), why)


def _decided(event: TaskEnded | TaskRequeued, accounted: Accounted, why: str) -> Decision:
    return Decision(events=[event], accounting=[accounted], why={(event.job_id, event.task_id): why})
