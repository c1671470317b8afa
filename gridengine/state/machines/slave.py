"""Slave tasks (qrsh -inherit) of parallel tasks: requested, run, ended.

Owns the events and the writing of `SlaveTask`. Called by `gridengine.state.apply` only. Source: statements TI-1 … TI-5.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gridengine.state.hosts import Host
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.event import Event, Handlers, Transitions, unchanged
from gridengine.state.machines.held_units import hold_units
from gridengine.state.reported import Reported
from gridengine.state.slaves import ENDED_KEPT, SlaveTask
from gridengine.state.state import State
from gridengine.usage.unit_usage import UnitUsage, sum_by_unit
from gridengine.values.task_key import SlaveKey


class SlaveRequested(Event, frozen=True, tag=True):
    """The master of a parallel task starts the slave task `slave` on one of its hosts (qrsh -inherit)."""

    job_id: int
    task_id: int
    attempt: int
    slave: SlaveTask


class SlaveCommandApplied(Event, frozen=True, tag=True):
    """The host runs the slave task `number` (`command` is `run`), or has executed another command on it."""

    job_id: int
    task_id: int
    attempt: int
    number: int
    command: str


class SlaveUsageReported(Event, frozen=True, tag=True):
    """Usage of the slave task `number` so far; `usage` as in `SlaveTask`."""

    durable: ClassVar[bool] = False
    job_id: int
    task_id: int
    attempt: int
    number: int
    usage: list[float]


class SlaveUsageRecorded(Event, frozen=True, tag=True):
    """A record of the usage of the running slave task `number` was written to the reporting file (RP-3). `reported`: all usage in
    the file."""

    job_id: int
    task_id: int
    attempt: int
    number: int
    reported: Reported


class SlaveEnded(Event, frozen=True, tag=True):
    """The slave task `number` has ended. `usage`, `units`: as in `Ended` of `gridengine.protocols.delivery`."""

    job_id: int
    task_id: int
    attempt: int
    number: int
    time: float
    exit_status: int = 0
    failed: int = 0
    reason: str = ""
    usage: dict[str, float] = {}
    units: list[UnitUsage] = []


SlaveEvent = SlaveRequested | SlaveCommandApplied | SlaveUsageReported | SlaveUsageRecorded | SlaveEnded

_ALL = ("none", "requested", "running", "over")
TRANSITIONS: Transitions = {
    SlaveRequested: {"none": "requested"},
    # the attempt may have ended by now, or ends with the same reports
    SlaveCommandApplied: {**unchanged(*_ALL), "requested": "running"},
    SlaveUsageReported: unchanged(*_ALL),
    SlaveUsageRecorded: unchanged(*_ALL),
    SlaveEnded: {**unchanged("none"), **dict.fromkeys(("requested", "running", "over"), ("over", "none"))},
}
"""`requested`: its host has not acknowledged it. `over`: the slave task has ended, and is kept for `qrsh -inherit` for a
while. `none`: unknown, or no longer known."""


def state_of(state: State, event: Any) -> str:
    """The state of the slave task of an event."""
    task = state.task(event.job_id, event.task_id, event.attempt)
    number = event.slave.number if type(event) is SlaveRequested else event.number
    slave = task.slaves.get(number) if task is not None else None
    if slave is None:
        return "none"
    return "over" if slave.over else "running" if slave.applied else "requested"


def abandon_slaves(state: State, job: Job, task: Task) -> None:
    """The attempt has ended; hosts where slave tasks of it may still run are instructed to kill and forget them."""
    for slave in task.slaves.values():
        if not slave.over:
            key = SlaveKey(job.id, task.id, task.attempt, slave.number)
            host = state.hosts.setdefault(slave.host, Host(slave.host))
            host.abandoned.append(key)
            hold_units(state, host, key, task)
    task.slaves, task.slaves_begun, task.slave_usage, task.slave_units, task.master_end = {}, 0, {}, [], None


def _slave(state: State, event: Any) -> SlaveTask | None:
    task = state.task(event.job_id, event.task_id, event.attempt)
    return task.slaves.get(event.number) if task is not None else None


def _slave_requested(state: State, event: SlaveRequested) -> None:
    task = state.jobs[event.job_id].tasks[event.task_id]
    task.slaves[event.slave.number] = event.slave
    task.slaves_begun = event.slave.number


def _slave_command_applied(state: State, event: SlaveCommandApplied) -> None:
    slave = _slave(state, event)
    if slave is not None:
        slave.applied = event.command  # type: ignore[assignment]


def _slave_usage(state: State, event: SlaveUsageReported) -> None:
    slave = _slave(state, event)
    if slave is not None:
        slave.usage = event.usage


def _slave_usage_recorded(state: State, event: SlaveUsageRecorded) -> None:
    slave = _slave(state, event)
    if slave is not None:
        slave.reported = event.reported


def _slave_ended(state: State, event: SlaveEnded) -> None:
    task, slave = state.task(event.job_id, event.task_id, event.attempt), _slave(state, event)
    if task is None or slave is None or slave.over:
        return  # a repeated report, or the whole attempt ended with the same reports
    slave.over = True
    slave.exit_status, slave.failed, slave.reason = event.exit_status, event.failed, event.reason
    slave.environment = {}
    for name, value in event.usage.items():
        if name != "ru_wallclock":
            task.slave_usage[name] = task.slave_usage.get(name, 0.0) + value
    if event.units:
        task.slave_units = sum_by_unit([*task.slave_units, *event.units])
    ended = [number for number, each in task.slaves.items() if each.over]
    for number in ended[: max(0, len(ended) - ENDED_KEPT)]:
        del task.slaves[number]


HANDLERS: Handlers = {
    SlaveRequested: _slave_requested,
    SlaveCommandApplied: _slave_command_applied,
    SlaveUsageReported: _slave_usage,
    SlaveUsageRecorded: _slave_usage_recorded,
    SlaveEnded: _slave_ended,
}
