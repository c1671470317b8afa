"""What becomes of tasks, in the words of DRMAA: the state that a task is in, and how one has ended.

Owns those words, and what they are made of; a program that submits by a library hears nothing else. Pure. Called by the
requests `task_states` and `task_ends`. Source: sge_status(5) (DM-3), drmaa_wait(3), drmaa_jobcontrol(3).
"""

from __future__ import annotations

from typing import Any

from gridengine import failed
from gridengine.accounting import FIELDS, AccountingRecord
from gridengine.state.dependencies import is_task_blocked
from gridengine.state.jobs import Hold, Job, Task
from gridengine.state.state import State
from gridengine.state.state_codes import running_state_codes

_HELD = {(True, False): "user_on_hold", (False, True): "system_on_hold", (True, True): "user_system_on_hold"}
_SUSPENDED = {(True, False): "user_suspended", (False, True): "system_suspended", (True, True): "user_system_suspended"}
_RAN = frozenset((0, 12, 13, 14, 15, 17, failed.MIGRATING, failed.RESCHEDULED, failed.ENFORCED, failed.AFTER_JOB))
"""`failed` of tasks whose job did run to an end of its own."""
_LOST = frozenset((failed.SHEPHERD_ERROR, failed.HOST_CRASHED, failed.LOST))
"""Of tasks of which nobody knows how they ended."""
_USED = ("submission_time", "priority", "exit_status", "start_time", "end_time")
_RUSAGE = tuple(name for name in FIELDS if name.startswith("ru_"))
_ACCOUNTED = ("cpu", "mem", "io", "iow", "maxvmem")


def state_of(state: State, job: Job, task_id: int) -> str:
    """The state of a task of a job that is there, `task_id` 0 for the first one that is; "" for a task that is not.

    One of queued_active, system_on_hold, user_on_hold, user_system_on_hold, running, system_suspended, user_suspended,
    user_system_suspended, error (it is held by one, which counts as failed). Source: sge_status(5).
    """
    task_id = task_id or min([*job.tasks, *([job.pending.first] if job.pending else [])])
    task = job.tasks.get(task_id)
    if task is None and task_id not in job.pending:
        return ""
    return _waiting(state, job, task_id, task) if task is None or task.waits else _placed(state, job, task)


def _waiting(state: State, job: Job, task_id: int, task: Task | None) -> str:
    if job.error or (task is not None and task.error):
        return "error"
    holds = job.held(task_id)
    depends = bool(state.waits_for(job)) or is_task_blocked(state, job, task_id)
    return _HELD.get((bool(holds & Hold.USER), depends or bool(holds & ~Hold.USER)), "queued_active")


def _placed(state: State, job: Job, task: Task) -> str:
    stopped = not {"S", "T"}.isdisjoint(running_state_codes(state, job, task))
    return _SUSPENDED.get((task.suspended, stopped), "running")


def state_after(record: AccountingRecord) -> str:
    """The state of a task that has ended: done, or failed."""
    return "done" if record.failed == "0" else "failed"


def outcome(record: AccountingRecord) -> tuple[str, int]:
    """How a task ended, with its exit status or signal: ("exited", 3), ("signaled", 9), ("aborted", 0) before it ran, or
    ("unknown", 0) where its host was lost. A signal shows by an exit status above 128, as shells have it."""
    code, status = int(record.failed), int(record.exit_status)
    if code in _LOST:
        return "unknown", 0
    if code not in _RAN:
        return "aborted", 0
    return ("signaled", status - 128) if code and status > 128 else ("exited", status)


def usage(record: AccountingRecord) -> list[str]:
    """What a task used, as `name=value` with four decimals, by the names of 8.1.9's library (O)."""
    how, number = outcome(record)
    values = {name: getattr(record, name) for name in _USED}
    values["signal"] = str(number if how == "signaled" else 0)
    values |= {name: getattr(record, name) for name in (*_RUSAGE, *_ACCOUNTED)}
    values["vmem"] = "0"
    values |= {f"acct_{name}": getattr(record, name) for name in _ACCOUNTED}
    return [f"{name}={float(value):.4f}" for name, value in values.items()]


def end_of(record: AccountingRecord) -> dict[str, Any]:
    """A line of `task_ends`: how a task has ended. The task of a job that is no array is 0."""
    how, number = outcome(record)
    task = {"job": int(record.job_number), "task": int(record.task_number), "state": state_after(record)}
    return {**task, "outcome": how, "status": number, "usage": usage(record)}


def states(state: State, tasks: list[tuple[int, int]]) -> list[str]:
    """The states of (job, task) that are there, "" for others. Body of `task_states`."""
    return [state_of(state, state.jobs[job], task) if job in state.jobs else "" for job, task in tasks]
