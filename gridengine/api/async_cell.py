"""`AsyncCell`: as `Cell`, for asyncio.

Owns the methods to be awaited; `base_cell` has what it shares with `Cell`. Called by users' programs. Source: DM-5;
docs/python.md.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from gridengine.api import operations
from gridengine.api.answers import CellEvent, JobEnd
from gridengine.api.asyncio_channel import AsyncioChannel
from gridengine.api.base_cell import BaseCell, end_of, event_of
from gridengine.api.operations import Operation
from gridengine.api.wire import Unreachable

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


class AsyncCell(BaseCell):
    """A cell, for a single event loop; arguments and exceptions as of `Cell`."""

    _is_async, _channels = True, AsyncioChannel

    def _begin(self) -> None:
        self._owner, self._lock = os.getpid(), asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; a later request opens a new connection."""
        async with self._lock:
            self._connection.close()

    async def do(self, operation: Operation[T]) -> T:
        """As `Cell.do`."""
        if self._owner != os.getpid():
            raise Unreachable("this process is a forked child: create a separate AsyncCell in it")
        async with self._lock:
            return await self._perform(operation)

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
        with closing(self._follow("wait", {"job_id": job})) as follower:
            while (record := await follower.next_record()) is not None:
                yield record

    async def events(self, *types: str, name: str = "python") -> AsyncGenerator[CellEvent, None]:
        """As `Cell.events`."""
        with closing(self._follow("events", {"name": name, "types": list(types)})) as follower:
            while (record := await follower.next_record()) is not None:
                if (event := event_of(record)) is not None:
                    yield event
