"""Nice values of running tasks: the more tickets a job has among the jobs of its host, the larger is its share of the processor.

Owns the rule, and its values in the state: `Task.nice`, the desired value, and `Task.nice_applied`, the confirmed value,
both None while the queue's `priority` applies. Pure. Source: sge_conf(5) reprioritize, execd_params PTF_MIN_PRIORITY and
PTF_MAX_PRIORITY; sge_sched_conf(5) reprioritize_interval; PR-10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gridengine.state.events import AnyEvent
from gridengine.state.jobs import NO_TICKETS, Job, Task
from gridengine.state.machines.task import TasksReprioritized

if TYPE_CHECKING:
    from gridengine.state.state import State

Change = tuple[int, int, int]
"""(job, task, nice)."""


def niceness_changes(state: State, now: float) -> list[AnyEvent]:
    """One event for all tasks whose nice value has to change; none before the interval has passed.

    now: epoch seconds. Tickets are compared among the tasks with their master on one host. After reprioritize is switched off,
    the priorities of queues apply again.
    """
    interval = state.scheduler.reprioritize_interval_s
    if not interval or not state.configuration().reprioritize:
        changes = list(_of_queues(state))
    else:
        changes = _by_tickets(state, now - interval)
    return [TasksReprioritized(now, changes)] if changes else []


def _of_queues(state: State) -> Iterator[Change]:
    """The tasks whose nice value differs from the nice value of their queue instance."""
    for job_id, task_id in sorted(state.reniced):
        task = state.jobs[job_id].tasks[task_id]
        if task.status == "running":
            nice = state.configs[task.granted[0].instance].execution.priority
            if nice != task.nice:
                yield job_id, task_id, nice


def _by_tickets(state: State, since: float) -> list[Change]:
    """The tasks that need another nice value; none if a nice value was changed after `since`."""
    changes: list[Change] = []
    for host in state.tasks_on:
        tasks = [(job, task, sum(state.tickets.get(job.id, NO_TICKETS))) for job, task in _running_on(state, host)]
        if any(task.nice_time > since for _, task, _ in tasks):
            return []
        parameters = state.configuration(host).execd_params
        least, most = parameters.ptf_min_priority, parameters.ptf_max_priority
        greatest = max((tickets for _, _, tickets in tasks), default=0.0)
        if not greatest:  # no tickets, or the scheduler has not run since the qmaster was started
            continue
        for job, task, tickets in tasks:
            nice = round(least + (most - least) * tickets / greatest)
            if nice != task.nice:
                changes.append((job.id, task.id, nice))
    return changes


def _running_on(state: State, host: str) -> Iterator[tuple[Job, Task]]:
    """The running tasks that have their master on the host."""
    for job_id, task_id in state.tasks_on.get(host, ()):
        job = state.jobs[job_id]
        task = job.tasks[task_id]
        if task.status == "running" and task.host == host:
            yield job, task
