"""Placed tasks: sentences for users about the tasks of a job that hold slots (qexplain).

Owns the sentences. Pure. Called by `explanation`. Source: sge_status(5) for the states.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from gridengine.placement.expected_start import run_time_limit
from gridengine.state.conditions import CONDITIONS
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.closed_units import closed_units_of
from gridengine.state.state import State
from gridengine.state.state_codes import running_state_codes
from gridengine.values.units import INFINITY, format_moment

SHOWN = 5
"""Number of tasks with a sentence; the remaining tasks are counted."""


def placed_tasks(state: State, job: Job, zone: tzinfo) -> list[str]:
    """A sentence or two for each of the first placed tasks. zone: time zone of printed times."""
    tasks = sorted(job.placed, key=lambda task: task.id)
    found = []
    for task in tasks[:SHOWN]:
        subject = f"task {task.id}" if job.is_array else "it"
        found.append(f"{subject} {'; '.join(_describe_task(state, job, task, zone))}")
    return [*found, f"and {len(tasks) - SHOWN} more tasks"] if len(tasks) > SHOWN else found


def _describe_task(state: State, job: Job, task: Task, zone: tzinfo) -> Iterator[str]:
    where = " ".join(f"{grant.instance} ({grant.slots} slot{'' if grant.slots == 1 else 's'})" for grant in task.granted)
    if task.status == "transferring":
        yield f"was given to {where} at {format_moment(task.start_time, zone)}, whose host has not confirmed it yet"
    else:
        yield f"{_describe_activity(state, job, task)} on {where} since {format_moment(task.start_time, zone)}"
    if task.deleted_by:
        yield f"{task.deleted_by} has deleted it: it goes when host {task.host} reports its end"
    for unit in closed_units_of(state, task):
        yield f"{unit.resource}/{unit.unit} of host {unit.host}, which it has, is closed: {unit.reason}"
    host = state.hosts.get(task.host)
    if host is None or not host.up:
        heard = f"since {format_moment(host.last_heard, zone)}" if host is not None and host.last_heard else "so far"
        yield f"nothing was heard of host {task.host} {heard}"
        if task.deleted_by:
            yield f"qdel -f {job.id} of an operator does not wait for that host"
    elif not task.deleted_by and (limit := run_time_limit(state, job, task)) != INFINITY:
        yield f"its run time limit ends it at {format_moment(task.start_time + limit, zone)}"


def _describe_activity(state: State, job: Job, task: Task) -> str:
    state_codes = running_state_codes(state, job, task)
    suspended = (row.activity for row in CONDITIONS.values() if row.activity and row.code in state_codes)
    return next(suspended, "runs").format(job=job.id)
