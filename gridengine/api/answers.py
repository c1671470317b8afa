"""Results of requests to a cell: jobs, ends of tasks, events, and the exceptions.

Owns the types that `Cell` and `AsyncCell` return. Called by `operations`, which creates them, and by users' programs.
Source: docs/gdi.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gridengine.api.wire import GridError


class RequestDenied(GridError):
    """The qmaster has refused a request and changed nothing. `status`: exit status of the command; `texts`: the reasons."""

    def __init__(self, status: int, texts: Sequence[str]) -> None:
        self.status, self.texts = status, list(texts)
        super().__init__("; ".join(texts) or f"the request was refused with status {status}")

    def __reduce__(self) -> tuple[type[RequestDenied], tuple[int, list[str]]]:
        return RequestDenied, (self.status, self.texts)


class StreamEnded(GridError):
    """The qmaster has ended or refused a stream of events; the text is the reason."""


class SubmittedJob(NamedTuple):
    """A submitted job. `id`: its number. `tasks`: the task numbers of an array as ranges, otherwise ""."""

    id: int
    name: str
    tasks: str


class JobEnd(NamedTuple):
    """The end of a task. `deleted`: the task never ran. `failed`: code of sge_status(5), 0 for success."""

    job_id: int
    task_id: int
    exit_status: int
    failed: int
    deleted: bool

    @property
    def ok(self) -> bool:
        """Whether the task ran and ended with status 0."""
        return not (self.deleted or self.failed or self.exit_status)


class ListedJob(NamedTuple):
    """A row of the job list. `id`: number of the job. `state`: state codes of qstat; `time`: epoch s of the start, of the
    submission while pending.

    `instances`: granted (queue instance, slots), the master's first, () while pending; `tasks`: task number, or the pending
    ranges, of an array job, otherwise "".
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
    """An event. `number`: increases with each event. `type`, `action`: see docs/gdi.md; `name`: of the object; `data`: the object
    after the event."""

    number: int
    type: str
    action: str
    name: str
    data: Any
