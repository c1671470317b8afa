"""Placed tasks: the bookings and indexes of a dispatched task, made and undone.

Owns the writing of everything that is derived from a task's grants. Called by `gridengine.state.apply` when a state is read, and
by the machine of tasks.
"""

from __future__ import annotations

from gridengine.state.jobs import Job, Task
from gridengine.state.machines import reservation as reservations
from gridengine.state.machines.closed_units import book_closed_units
from gridengine.state.machines.held_units import hold_units
from gridengine.state.state import State
from gridengine.values.task_key import TaskKey


def abandon(state: State, job: Job, task: Task) -> None:
    """Give up an attempt without a report of its host, which is instructed to kill and forget it."""
    if host := state.hosts.get(task.host):
        key = TaskKey(job.id, task.id, task.attempt)
        host.abandoned.append(key)
        hold_units(state, host, key, task)


def place(state: State, job: Job, task: Task) -> None:
    reservations.book_of(state, job).book(state.bookings_of(task))
    state.quotas.charge(job, task)
    _book_units(state, task)
    key = (job.id, task.id)
    if task.nice is not None:
        state.reniced.add(key)
    for grant in task.granted:
        state.tasks_on.setdefault(grant.host, set()).add(key)
        state.tasks_in.setdefault(grant.instance, set()).add(key)


def _book_units(state: State, task: Task, sign: int = 1) -> None:
    state.units_in_use.book(task.units, sign)
    if state.closed_shares:
        for host in {grant.host for grant in task.units} & state.closed_shares.keys():
            book_closed_units(state, host)


def unplace(state: State, job: Job, task: Task) -> None:
    if not task.granted:
        return
    reservations.book_of(state, job).book(state.bookings_of(task), -1)
    state.quotas.charge(job, task, -1)
    _book_units(state, task, -1)
    key = (job.id, task.id)
    state.reniced.discard(key)
    for grant in task.granted:
        state.tasks_on.get(grant.host, set()).discard(key)
        state.tasks_in.get(grant.instance, set()).discard(key)
        reservations.drop_orphan(state, grant.instance)
