"""What the cell answers a program: jobs, ends of tasks, events, and the exceptions.

Owns the shapes that `Cell` and `AsyncCell` hand out. Called by `operations`, which makes them, and by users' programs.
Source: docs/gdi.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gridengine.api.wire import GridError


class RequestDenied(GridError):
    """The qmaster has refused a request, and nothing was changed. `status`: what a command would exit with; `texts`: why."""

    def __init__(self, status: int, texts: Sequence[str]) -> None:
        self.status, self.texts = status, list(texts)
        super().__init__("; ".join(texts) or f"the request was refused with status {status}")

    def __reduce__(self) -> tuple[type[RequestDenied], tuple[int, list[str]]]:
        return RequestDenied, (self.status, self.texts)


class StreamEnded(GridError):
    """The qmaster has ended a stream of events, or has not begun it; the text says why."""


class SubmittedJob(NamedTuple):
    """A job that was submitted. `tasks`: those of an array as ranges, else ""."""

    id: int
    name: str
    tasks: str


class JobEnd(NamedTuple):
    """The end of a task. `deleted`: it never ran. `failed`: code of sge_status(5), 0 where all went well."""

    job_id: int
    task_id: int
    exit_status: int
    failed: int
    deleted: bool

    @property
    def ok(self) -> bool:
        """Whether it ran and ended with status 0."""
        return not (self.deleted or self.failed or self.exit_status)


class ListedJob(NamedTuple):
    """A row of the job list. `state`: letters of qstat; `time`: epoch s of the start, while it waits of the submission.

    `instances`: (queue instance, slots) that it has, the master's first, () while it waits; `tasks`: task number, or the ranges
    that wait, of an array job, else "".
    """

    id: int
    priority: float
    name: str
    owner: str
    state: str
    time: float
    instances: tuple[tuple[str, int], ...]
    slots: int
    tasks: str


class CellEvent(NamedTuple):
    """Something that happened. `type`, `action`: those of docs/gdi.md; `name`: of the object; `data`: what it is now."""

    number: int
    type: str
    action: str
    name: str
    data: Any
