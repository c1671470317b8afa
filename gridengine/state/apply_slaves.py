"""Events of slave tasks, applied. Owns the writing of `SlaveTask` and of what hosts have still to forget.

Called by `gridengine.state.apply` only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridengine.state import events as ev
from gridengine.state.hosts import Host
from gridengine.state.jobs import Job, Task
from gridengine.state.slaves import ENDED_KEPT, SlaveTask
from gridengine.state.state import State


def abandon(state: State, job: Job, task: Task) -> None:
    """The try is over without a word of its host, which is told to kill and forget it."""
    if host := state.hosts.get(task.host):
        host.abandoned.append((job.id, task.id, task.attempt))


def abandon_slaves(state: State, job: Job, task: Task) -> None:
    """The try is over; hosts where slaves of it may still run are told to kill and forget them."""
    for slave in task.slaves.values():
        if not slave.over:
            key = (job.id, task.id, task.attempt, slave.number)
            state.hosts.setdefault(slave.host, Host(slave.host)).abandoned.append(key)
    task.slaves, task.slaves_begun, task.slave_usage, task.master_end = {}, 0, {}, None


def _slave(state: State, event: Any) -> SlaveTask | None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    return task.slaves.get(event.number) if task is not None else None


def _slave_requested(state: State, event: ev.SlaveRequested) -> None:
    task = state.jobs[event.job_id].tasks[event.task_id]
    task.slaves[event.slave.number] = event.slave
    task.slaves_begun = event.slave.number


def _slave_command_applied(state: State, event: ev.SlaveCommandApplied) -> None:
    slave = _slave(state, event)
    if slave is not None:
        slave.applied = event.command  # type: ignore[assignment]


def _slave_usage(state: State, event: ev.SlaveUsageReported) -> None:
    slave = _slave(state, event)
    if slave is not None:
        slave.usage = event.usage


def _slave_ended(state: State, event: ev.SlaveEnded) -> None:
    task, slave = state.task(event.job_id, event.task_id, event.attempt), _slave(state, event)
    if task is None or slave is None:
        return  # the end of the whole try came with the same reports
    slave.over = True
    slave.exit_status, slave.failed, slave.reason = event.exit_status, event.failed, event.reason
    slave.environment = {}
    for name, value in event.usage.items():
        if name != "ru_wallclock":
            task.slave_usage[name] = task.slave_usage.get(name, 0.0) + value
    ended = [number for number, each in task.slaves.items() if each.over]
    for number in ended[: max(0, len(ended) - ENDED_KEPT)]:
        del task.slaves[number]


def _master_ended(state: State, event: ev.MasterEnded) -> None:
    state.jobs[event.job_id].tasks[event.task_id].master_end = event.end


def _tries_forgotten(state: State, event: ev.TriesForgotten) -> None:
    host = state.hosts.get(event.host)
    if host is not None:
        host.abandoned = [key for key in host.abandoned if key not in event.keys]


SLAVE_HANDLERS: dict[type, Callable[[State, Any], None]] = {
    ev.SlaveRequested: _slave_requested,
    ev.SlaveCommandApplied: _slave_command_applied,
    ev.SlaveUsageReported: _slave_usage,
    ev.SlaveEnded: _slave_ended,
    ev.MasterEnded: _master_ended,
    ev.TriesForgotten: _tries_forgotten,
}
