"""`Cell`: a program's client of a cell, with a kept connection.

Owns the methods and the following of jobs and events. `operations` defines the requests, `connection` sends them.
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
    """A cell; without arguments the cell of SGE_ROOT and SGE_CELL, over the sockets of this host. The kernel authenticates the
    caller.

    `url`, `token`, `ca`: the cell behind a web server, from any host (docs/api.md): `https://HOST:8646`, a token of
    `gridengine web --token`, a file of trusted certificates. `patience`: s for which a request is retried while the qmaster does
    not answer. Threads may share a cell, and a forked child may continue to use it. Raises Unreachable, ValueError.
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
        """Close the connection; a later request opens a new connection."""
        self._connection.close()

    def do(self, operation: Operation[T]) -> T:
        """Carry an operation out. Raises RequestDenied when the qmaster refuses it, Unreachable without a qmaster."""
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
        """Accounting records of a job that ended, as qacct -j: fields by their names in accounting(5), a record per task."""
        after = -1
        while after:
            records, after = self.do(operations.accounting_page(job, max(after, 0)))
            yield from records

    def wait(self, job: int, timeout: float | None = None) -> list[JobEnd]:
        """Wait until all tasks of a job have ended; their ends, by task number. TimeoutError after `timeout` s."""
        return sorted(self.ends(job, timeout), key=lambda end: end.task_id)

    def ends(self, job: int, timeout: float | None = None) -> Iterator[JobEnd]:
        """The ends of a job's tasks as they come, until all tasks have ended. Continues across restarts of the qmaster."""
        for record in self.progress(job, timeout):
            if (end := end_of(job, record)) is not None:
                yield end

    def progress(self, job: int, timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """The records of the request `wait` about a job, without repetition. Raises TimeoutError, Unreachable."""
        job_follower = JobFollower(self._patience)
        deadline = None if timeout is None else time.monotonic() + timeout
        body = json_text.encode({"job_id": job})
        while True:
            fault: Exception = Unreachable("the qmaster ended the stream before the job had ended")
            try:
                for record in self._connection.stream("wait", body, None if deadline is None else _remaining_s(deadline, job)):
                    if job_follower.is_new(record):
                        yield record
                    if job_follower.is_finished:
                        return
            except Unreachable as error:
                fault = error
            if deadline is not None:
                _remaining_s(deadline, job)
            job_follower.note_break(fault, time.monotonic())
            time.sleep(PAUSE_S)

    def events(self, *types: str, name: str = "python") -> Iterator[CellEvent]:
        """Events of the given types (JOB, JATASK, QUEUEINSTANCE …: docs/gdi.md), of all types by default; without an end.

        The first event of each type is a LIST of all objects; a broken stream is reopened and begins with these lists.
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


def _remaining_s(deadline: float, job: int) -> float:
    """Seconds until the deadline. Raises TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"job {job} has not ended in time")
    return left


def outcome_of(operation: Operation[T], answer: Answer) -> T:
    """The result of an operation. Raises RequestDenied."""
    if answer.status:
        raise RequestDenied(answer.status, [text for level, text in answer.answers if level != "info"])
    return operation.read(answer.data)


def end_of(job_id: int, record: dict[str, Any]) -> JobEnd | None:
    """The end of a task in a record of `wait`, None for a record of another kind."""
    if record.get("deleted"):
        return JobEnd(job_id, record["task_id"], 0, 0, True)
    if "exit_status" not in record:
        return None
    return JobEnd(job_id, record["task_id"], record["exit_status"], record["failed"], False)


def event_of(record: dict[str, Any]) -> CellEvent | None:
    """The event in a record of `events`, None for another record. Raises StreamEnded."""
    if "refused" in record or "end" in record:
        raise StreamEnded(record.get("refused") or f"the qmaster has ended the events: {record['end']}")
    if "number" not in record:
        return None
    return CellEvent(record["number"], record["type"], record["action"], record["name"], record.get("data"))
