"""DRMAA states and ends of tasks.

Owns the names of DRMAA and their derivation; a program that submits through a library gets no other facts. Pure. Called by the
requests `task_states` and `task_ends`. Source: sge_status(5) (DM-3), drmaa_wait(3), drmaa_jobcontrol(3).
"""

from __future__ import annotations

from typing import Any

from gridengine.state.conditions import CONDITIONS, SUSPENSION_CODES
from gridengine.state.dependencies import is_task_blocked
from gridengine.state.jobs import Hold, Job, Task
from gridengine.state.state import State
from gridengine.state.state_codes import running_state_codes
from gridengine.usage import failed
from gridengine.usage.accounting import FIELDS, AccountingRecord

_HELD = {(True, False): "user_on_hold", (False, True): "system_on_hold", (True, True): "user_system_on_hold"}
_SUSPENDED = {(True, False): "user_suspended", (False, True): "system_suspended", (True, True): "user_system_suspended"}
_OF_SYSTEM = SUSPENSION_CODES - {CONDITIONS["suspended"].code}
"""State codes of suspensions that no user requested."""
_RAN = frozenset((0, 12, 13, 14, 15, 17, failed.MIGRATING, failed.RESCHEDULED, failed.ENFORCED, failed.AFTER_JOB))
"""`failed` of tasks whose job ran and ended by itself."""
_LOST = frozenset((failed.SHEPHERD_ERROR, failed.HOST_CRASHED, failed.LOST))
"""`failed` of tasks with an unknown end."""
_USED = ("submission_time", "priority", "exit_status", "start_time", "end_time")
_RUSAGE = tuple(name for name in FIELDS if name.startswith("ru_"))
_ACCOUNTED = ("cpu", "mem", "io", "iow", "maxvmem")


def state_of(state: State, job: Job, task_id: int) -> str:
    """The state of a task of an existing job, `task_id` 0 for its first existing task; "" for a missing task.

    The state is one of queued_active, system_on_hold, user_on_hold, user_system_on_hold, running, system_suspended,
    user_suspended, user_system_suspended, error (the task is held by an error, which counts as failed). Source: sge_status(5).
    """
    task_id = task_id or min([*job.tasks, *([job.pending.first] if job.pending else [])])
    task = job.tasks.get(task_id)
    if task is None and task_id not in job.pending:
        return ""
    return _waiting_state(state, job, task_id, task) if task is None or task.waits else _placed_state(state, job, task)


def _waiting_state(state: State, job: Job, task_id: int, task: Task | None) -> str:
    if job.error or (task is not None and task.error):
        return "error"
    holds = job.held(task_id)
    depends = bool(state.waits_for(job)) or is_task_blocked(state, job, task_id)
    return _HELD.get((bool(holds & Hold.USER), depends or bool(holds & ~Hold.USER)), "queued_active")


def _placed_state(state: State, job: Job, task: Task) -> str:
    stopped = not _OF_SYSTEM.isdisjoint(running_state_codes(state, job, task))
    return _SUSPENDED.get(("suspended" in task.conditions, stopped), "running")


def state_after(record: AccountingRecord) -> str:
    """The state of a task that has ended: done, or failed."""
    return "done" if record.failed == "0" else "failed"


def outcome(record: AccountingRecord) -> tuple[str, int]:
    """The end of a task, with its exit status or signal: ("exited", 3), ("signaled", 9), ("aborted", 0) before it ran, or
    ("unknown", 0) for a lost host. An exit status above 128 stands for a signal, as in shells."""
    code, status = int(record.failed), int(record.exit_status)
    if code in _LOST:
        return "unknown", 0
    if code not in _RAN:
        return "aborted", 0
    return ("signaled", status - 128) if code and status > 128 else ("exited", status)


def usage(record: AccountingRecord) -> list[str]:
    """Resource usage of a task, as `name=value` with four decimals, by the names of 8.1.9's library (O)."""
    kind, number = outcome(record)
    values = {name: getattr(record, name) for name in _USED}
    values["signal"] = str(number if kind == "signaled" else 0)
    values |= {name: getattr(record, name) for name in (*_RUSAGE, *_ACCOUNTED)}
    values["vmem"] = "0"
    values |= {f"acct_{name}": getattr(record, name) for name in _ACCOUNTED}
    return [f"{name}={float(value):.4f}" for name, value in values.items()]


def end_of(record: AccountingRecord) -> dict[str, Any]:
    """A line of `task_ends`: the end of a task. The task number of a non-array job is 0."""
    kind, number = outcome(record)
    task = {"job": int(record.job_number), "task": int(record.task_number), "state": state_after(record)}
    return {**task, "outcome": kind, "status": number, "usage": usage(record)}


def states(state: State, tasks: list[tuple[int, int]]) -> list[str]:
    """The states of tasks, given as (job, task); "" for a missing task. Body of `task_states`."""
    return [state_of(state, state.jobs[job], task) if job in state.jobs else "" for job, task in tasks]
