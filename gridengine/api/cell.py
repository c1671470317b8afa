"""`Cell`: a cell as a program has it, with one kept connection.

Owns the methods and how a program follows jobs and events. What can be asked is `operations`; how it gets there, `link`.
Called by users' programs. Source: DM-5; docs/python.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from gridengine import json_text
from gridengine.api import operations, wire
from gridengine.api.answers import CellEvent, JobEnd, RequestDenied, StreamEnded
from gridengine.api.connection import CellConnection
from gridengine.api.job_follower import PAUSE_S, JobFollower
from gridengine.api.operations import Operation
from gridengine.api.transport import select_transport
from gridengine.api.wire import Answer, Unreachable

if TYPE_CHECKING:
    from typing import Self

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_S = 60.0


def _method(operation: Callable[P, Operation[T]]) -> Callable[Concatenate[Cell, P], T]:
    """The operation as a method that carries it out."""

    @wraps(operation)
    def method(self: Cell, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.do(operation(*args, **kwargs))

    return method


class Cell:
    """A cell. Without arguments that of SGE_ROOT and SGE_CELL, by the sockets of this host; the kernel says who asks.

    `url`, `token`, `ca`: the cell behind a web server, from anywhere (docs/api.md): `https://HOST:8646`, a token of
    `gridengine web --token`, a file of certificates that are believed. `patience`: s for which a qmaster that does not answer
    is asked again. Threads may share a cell, and a child of fork may go on with it. Raises Unreachable, ValueError.
    """

    def __init__(
        self,
        root: str = "",
        cell: str = "",
        *,
        url: str = "",
        token: str = "",
        ca: str = "",
        patience: float = PATIENCE_S,
    ) -> None:
        self._transport = select_transport(root, cell, url, token, ca)
        self._patience = patience
        self._connection = CellConnection(self._transport, patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Cell: {self._transport}>"

    def close(self) -> None:
        """End the connection; a later request makes another one."""
        self._connection.close()

    def do(self, operation: Operation[T]) -> T:
        """Carry an operation out. Raises RequestDenied when the qmaster refuses it, Unreachable when there is none."""
        key = wire.new_key() if operation.changes else ""
        return outcome_of(operation, self._connection.ask(operation.request, json_text.encode(operation.body), key))

    request = _method(operations.request)
    submit = _method(operations.submit)
    alter = _method(operations.alter)
    delete = _method(operations.delete)
    hold = _method(operations.hold)
    release = _method(operations.release)
    suspend = _method(operations.suspend)
    resume = _method(operations.resume)
    reschedule = _method(operations.reschedule)
    clear_error = _method(operations.clear_error)
    jobs = _method(operations.jobs)
    job = _method(operations.job)
    explain = _method(operations.explain)
    queues = _method(operations.queues)
    instances = _method(operations.instances)
    hosts = _method(operations.hosts)
    enable = _method(operations.enable)
    disable = _method(operations.disable)
    reserve = _method(operations.reserve)
    alter_reservation = _method(operations.alter_reservation)
    delete_reservation = _method(operations.delete_reservation)
    reservations = _method(operations.reservations)
    names = _method(operations.names)
    show = _method(operations.show)
    configure = _method(operations.configure)
    configure_all = _method(operations.configure_all)

    def accounting(self, job: int | str) -> Iterator[dict[str, str]]:
        """Accounting records of a job that ended, as qacct -j: by the names of accounting(5), of each task, as they come."""
        after = -1
        while after:
            records, after = self.do(operations.accounting_page(job, max(after, 0)))
            yield from records

    def wait(self, job: int, timeout: float | None = None) -> list[JobEnd]:
        """Wait until all of a job has ended; the ends of its tasks, in their order. TimeoutError after `timeout` s."""
        return sorted(self.ends(job, timeout), key=lambda end: end.task_id)

    def ends(self, job: int, timeout: float | None = None) -> Iterator[JobEnd]:
        """The ends of a job's tasks as they come, until all of it has ended. Goes on when the qmaster is restarted."""
        for record in self.progress(job, timeout):
            if (end := end_of(job, record)) is not None:
                yield end

    def progress(self, job: int, timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """What the request `wait` tells of a job, each thing once. Raises TimeoutError, Unreachable."""
        job_follower = JobFollower(self._patience)
        deadline = None if timeout is None else time.monotonic() + timeout
        body = json_text.encode({"job_id": job})
        while True:
            fault: Exception = Unreachable("the qmaster ended the stream before the job had ended")
            try:
                for record in self._connection.stream("wait", body, None if deadline is None else _left(deadline, job)):
                    if job_follower.is_new(record):
                        yield record
                    if job_follower.is_finished:
                        return
            except Unreachable as error:
                fault = error
            if deadline is not None:
                _left(deadline, job)
            job_follower.note_break(fault, time.monotonic())
            time.sleep(PAUSE_S)

    def events(self, *types: str, name: str = "python") -> Iterator[CellEvent]:
        """What happens in the cell, of these types (JOB, JATASK, QUEUEINSTANCE …: docs/gdi.md), all if none is given; for ever.

        Of each type first a LIST of all that is there; when the stream broke it is taken up again, beginning with these.
        Raises StreamEnded when the qmaster refuses or ends it, Unreachable.
        """
        body = json_text.encode({"name": name, "types": list(types)})
        job_follower = JobFollower(self._patience)
        while True:
            fault: Exception = Unreachable("the qmaster ended the stream of events")
            try:
                for record in self._connection.stream("events", body):
                    job_follower.is_new(record)
                    if (event := event_of(record)) is not None:
                        yield event
            except Unreachable as error:
                fault = error
            job_follower.note_break(fault, time.monotonic())
            time.sleep(PAUSE_S)


def _left(deadline: float, job: int) -> float:
    """Seconds until then. Raises TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"job {job} has not ended in time")
    return left


def outcome_of(operation: Operation[T], answer: Answer) -> T:
    """What an operation returns. Raises RequestDenied."""
    if answer.status:
        raise RequestDenied(answer.status, [text for level, text in answer.answers if level != "info"])
    return operation.read(answer.data)


def end_of(job_id: int, record: dict[str, Any]) -> JobEnd | None:
    """The end that a record of `wait` tells of, None for another one."""
    if record.get("deleted"):
        return JobEnd(job_id, record["task_id"], 0, 0, True)
    if "exit_status" not in record:
        return None
    return JobEnd(job_id, record["task_id"], record["exit_status"], record["failed"], False)


def event_of(record: dict[str, Any]) -> CellEvent | None:
    """The event that a record of `events` is. Raises StreamEnded."""
    if "refused" in record or "end" in record:
        raise StreamEnded(record.get("refused") or f"the qmaster has ended the events: {record['end']}")
    if "number" not in record:
        return None
    return CellEvent(record["number"], record["type"], record["action"], record["name"], record.get("data"))
