"""`AsyncCell`: as `Cell`, for asyncio.

Owns the methods and the following of jobs and events. `operations` defines the requests, `async_connection` sends them.
Called by users' programs. Source: DM-5; docs/python.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from gridengine import json_text
from gridengine.api import operations, wire
from gridengine.api.answers import CellEvent, JobEnd
from gridengine.api.async_connection import AsyncCellConnection
from gridengine.api.cell import PATIENCE_S, end_of, event_of, outcome_of
from gridengine.api.job_follower import PAUSE_S, JobFollower
from gridengine.api.operations import Operation
from gridengine.api.transport import select_transport
from gridengine.api.wire import Unreachable

if TYPE_CHECKING:
    from typing import Self

P = ParamSpec("P")
T = TypeVar("T")


def _method(operation: Callable[P, Operation[T]]) -> Callable[Concatenate[AsyncCell, P], Awaitable[T]]:
    """The operation as a method that carries it out."""

    @wraps(operation)
    async def method(self: AsyncCell, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.do(operation(*args, **kwargs))

    return method


class AsyncCell:
    """A cell, for a single event loop; arguments and exceptions as of `Cell`."""

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
        self._connection = AsyncCellConnection(self._transport, patience)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncCell: {self._transport}>"

    async def close(self) -> None:
        """Close the connection; a later request opens a new connection."""
        await self._connection.close()

    async def do(self, operation: Operation[T]) -> T:
        """As `Cell.do`."""
        key = wire.new_key() if operation.changes else ""
        return outcome_of(operation, await self._connection.ask(operation.request, json_text.encode(operation.body), key))

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

    async def accounting(self, job: int | str) -> AsyncGenerator[dict[str, str], None]:
        """As `Cell.accounting`."""
        after = -1
        while after:
            records, after = await self.do(operations.accounting_page(job, max(after, 0)))
            for record in records:
                yield record

    async def wait(self, job: int, timeout: float | None = None) -> list[JobEnd]:
        """As `Cell.wait`."""
        try:
            async with asyncio.timeout(timeout):
                return sorted([end async for end in self.ends(job)], key=lambda end: end.task_id)
        except TimeoutError:
            raise TimeoutError(f"job {job} has not ended in time") from None

    async def ends(self, job: int) -> AsyncGenerator[JobEnd, None]:
        """As `Cell.ends`."""
        async with aclosing(self.progress(job)) as records:
            async for record in records:
                if (end := end_of(job, record)) is not None:
                    yield end

    async def progress(self, job: int) -> AsyncGenerator[dict[str, Any], None]:
        """As `Cell.progress`."""
        job_follower = JobFollower(self._patience)
        body = json_text.encode({"job_id": job})
        while True:
            fault: Exception = Unreachable("the qmaster ended the stream before the job had ended")
            try:
                async with aclosing(self._connection.stream("wait", body)) as records:
                    async for record in records:
                        if job_follower.is_new(record):
                            yield record
                        if job_follower.is_finished:
                            return
            except Unreachable as error:
                fault = error
            job_follower.note_break(fault, time.monotonic())
            await asyncio.sleep(PAUSE_S)

    async def events(self, *types: str, name: str = "python") -> AsyncGenerator[CellEvent, None]:
        """As `Cell.events`."""
        body = json_text.encode({"name": name, "types": list(types)})
        job_follower = JobFollower(self._patience)
        while True:
            fault: Exception = Unreachable("the qmaster ended the stream of events")
            try:
                async with aclosing(self._connection.stream("events", body)) as records:
                    async for record in records:
                        job_follower.is_new(record)
                        if (event := event_of(record)) is not None:
                            yield event
            except Unreachable as error:
                fault = error
            job_follower.note_break(fault, time.monotonic())
            await asyncio.sleep(PAUSE_S)
