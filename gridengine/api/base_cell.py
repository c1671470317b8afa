"""What `Cell` and `AsyncCell` have in common: the table of methods, and the following of jobs and events (adr/0186).

Owns the life of a request from its operation to its result. `operations` defines the requests, `connection` sends them.
Called by `cell` and `async_cell`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, Protocol, TypeVar, overload

from gridengine import json_text
from gridengine.api import operations, wire
from gridengine.api.answers import CellEvent, JobEnd, RequestDenied, StreamEnded
from gridengine.api.connection import AnswerStream, CellConnection
from gridengine.api.job_follower import PAUSE_S, JobFollower
from gridengine.api.operations import Operation
from gridengine.api.transport import select_transport
from gridengine.api.wire import Unreachable

if TYPE_CHECKING:
    from gridengine.api.connection import Channel

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_S = 60.0
_EARLY_ENDS = {
    "wait": "the qmaster ended the stream before the job had ended",
    "events": "the qmaster ended the stream of events",
}


class _Blocking(Protocol):
    def do(self, operation: Operation[T]) -> T: ...


class _Awaited(Protocol):
    def do(self, operation: Operation[T]) -> Awaitable[T]: ...


class _Method(Generic[P, T]):
    """An operation as a method that carries it out: blocking in `Cell`, to be awaited in `AsyncCell`."""

    def __init__(self, operation: Callable[P, Operation[T]]) -> None:
        @wraps(operation)
        def blocking(cell: _Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return cell.do(operation(*args, **kwargs))

        @wraps(operation)
        async def awaited(cell: _Awaited, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await cell.do(operation(*args, **kwargs))

        self._blocking, self._awaited = blocking, awaited

    @overload
    def __get__(self, cell: _Blocking, kind: type[_Blocking]) -> Callable[P, T]: ...
    @overload
    def __get__(self, cell: _Awaited, kind: type[_Awaited]) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, cell: None, kind: type[BaseCell]) -> Callable[..., Any]: ...
    def __get__(self, cell: Any, kind: Any) -> Callable[..., Any]:
        function: Any = self._awaited if kind._is_async else self._blocking
        return function.__get__(cell, kind)  # type: ignore[no-any-return]


class BaseCell:
    """A cell of either kind."""

    _is_async: ClassVar = False
    _channels: ClassVar[type[Channel]]

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
        self._connection = CellConnection(self._transport, patience, self._channels)
        self._begin()

    def _begin(self) -> None:
        """Belong to this process, with a new lock, which the tasks or threads take in turn."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._transport}>"

    async def _perform(self, operation: Operation[T]) -> T:
        """Carry an operation out. Raises RequestDenied, Unreachable."""
        key = wire.new_key() if operation.changes else ""
        answer = await self._connection.ask(operation.request, json_text.encode(operation.body), key)
        if answer.status:
            raise RequestDenied(answer.status, [text for level, text in answer.answers if level != "info"])
        return operation.read(answer.data)

    request = _Method(operations.request)
    submit = _Method(operations.submit)
    submit_list = _Method(operations.submit_list)
    alter = _Method(operations.alter)
    delete = _Method(operations.delete)
    hold = _Method(operations.hold)
    release = _Method(operations.release)
    suspend = _Method(operations.suspend)
    resume = _Method(operations.resume)
    reschedule = _Method(operations.reschedule)
    clear_error = _Method(operations.clear_error)
    jobs = _Method(operations.jobs)
    job = _Method(operations.job)
    explain = _Method(operations.explain)
    queues = _Method(operations.queues)
    instances = _Method(operations.instances)
    hosts = _Method(operations.hosts)
    enable = _Method(operations.enable)
    disable = _Method(operations.disable)
    reserve = _Method(operations.reserve)
    alter_reservation = _Method(operations.alter_reservation)
    delete_reservation = _Method(operations.delete_reservation)
    reservations = _Method(operations.reservations)
    names = _Method(operations.names)
    show = _Method(operations.show)
    configure = _Method(operations.configure)
    configure_all = _Method(operations.configure_all)

    def _follow(self, request: str, body: Mapping[str, Any], timeout: float | None = None) -> RecordFollower:
        return RecordFollower(self._connection, request, body, timeout)


class RecordFollower:
    """The records of the stream `wait` or `events`, which is reopened when it breaks; the end of a task is not repeated."""

    def __init__(self, connection: CellConnection, request: str, body: Mapping[str, Any], timeout: float | None) -> None:
        self._connection, self._request, self._body = connection, request, body
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._job_follower = JobFollower(connection.patience)
        self._stream: AnswerStream | None = None

    async def next_record(self) -> Any:
        """The next record, None when the job has ended. Raises TimeoutError, Unreachable."""
        while not self._job_follower.is_finished:
            try:
                if self._stream is None:
                    body = json_text.encode(self._body)
                    self._stream = await self._connection.open_stream(self._request, body, self._remaining_s())
                record = await self._stream.next_value()
                if record is None:
                    raise Unreachable(_EARLY_ENDS[self._request])
                if self._job_follower.is_new(record):
                    return record
            except Unreachable as fault:
                self.close()
                self._remaining_s()
                self._job_follower.note_break(fault, time.monotonic())
                await self._connection.sleep(PAUSE_S)
        return None

    def close(self) -> None:
        """Close the stream."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _remaining_s(self) -> float | None:
        """Seconds until the deadline. Raises TimeoutError."""
        if self._deadline is None:
            return None
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError(f"job {self._body['job_id']} has not ended in time")
        return remaining


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
