"""Failures of a call in a job, apart from its own exception.

Owns the exceptions of a GridExecutor. Raised by its futures. Source: docs/python.md.
"""

from __future__ import annotations

from gridengine.api.wire import GridError


class NotPicklable(GridError):
    """A function, its arguments or its result cannot be pickled; the text names the object."""


class TaskFailed(GridError):
    """A task ended without a result. `job_id`, `task_id`, `host` ("" if unknown): of the task; `log`: the end of its output."""

    def __init__(self, text: str, job_id: int = 0, task_id: int = 0, host: str = "", log: str = "") -> None:
        self.text, self.job_id, self.task_id, self.host, self.log = text, job_id, task_id, host, log
        location = f"task {job_id}.{task_id}" + (f" on host {host}" if host else "")
        super().__init__(f"{location}: {text}" + (f"\n{log}" if log else "") if job_id else text)

    def __reduce__(self) -> tuple[type[TaskFailed], tuple[str, int, int, str, str]]:
        return type(self), (self.text, self.job_id, self.task_id, self.host, self.log)


class LostHost(TaskFailed):
    """The host of a task is lost: the state of the task is unknown."""


class ResultTooLarge(TaskFailed):
    """A result is larger than `most_bytes` of the executor."""


class OtherPython(TaskFailed):
    """The Python of the exec host has another version than the caller's Python, and cannot read the caller's functions."""


class RemoteTraceback(Exception):
    """The traceback of an exception in the job; the cause of that exception."""

    def __str__(self) -> str:
        return f"in the job:\n{self.args[0]}"
