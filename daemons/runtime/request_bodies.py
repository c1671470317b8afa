"""Bodies of requests: their largest size, and the memory budget of all bodies that are being read or answered.

Owns the limits; the contents are the caller's. A body over its limit is refused by its Content-Length, or as soon as
it passes the limit, and never buffered. Called by the GDI endpoint and the gateways. Source: docs/architecture.md section 4.1.
Deviation: 8.1.9 has no such limits (adr/0096).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from daemons.runtime.cell import Limits
from gridengine.errors import RefusalError

#: requests that carry a job's script
LARGE = frozenset(("submit", "dry_run"))
#: a body of at most so many bytes is not counted in the budget: there are no more of them than connections
SMALL_BYTES = 2**16
#: all bodies together, and the bodies of one user, in bodies of the largest size
_TOTAL, _SHARE = 4, 2
#: seconds without a byte after which a body counts as aborted, and the slowest rate in bytes a second
IDLE_S, _SLOWEST_RATE = 10.0, 2**18


class RequestBodyError(RefusalError):
    """A body that is not read; the text is for the user. `may_retry`: the request may succeed in a moment."""

    def __init__(self, text: str, may_retry: bool = False) -> None:
        super().__init__(text)
        self.may_retry = may_retry


class Content(Protocol):
    """The source of the bytes, in pieces as they arrive; an empty piece is the end."""

    async def readany(self) -> bytes: ...


class RequestBodies:
    """The bodies that one process holds. `bytes_held`: the used part of the budget."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        largest = max(limits.max_request_size, limits.max_submit_size)
        self._budget, self._share = _TOTAL * largest, _SHARE * largest
        self._shares: Counter[Hashable] = Counter()
        self.bytes_held = 0

    @asynccontextmanager
    async def read(self, name: str, length: int | None, content: Content, client: Hashable) -> AsyncIterator[bytes]:
        """The body of a request. `length`: its Content-Length, None without that header; `client`: the body is counted in
        the share of this client.

        The body is counted until the end of the context: decoding takes as much memory again. Raises RequestBodyError.
        """
        parameter = "max_submit_size" if name in LARGE else "max_request_size"
        limit: int = getattr(self._limits, parameter)
        too_large = RequestBodyError(f"denied: the request is larger than {limit} bytes ({parameter} of this cell)")
        # a body without a length may become as large as its limit
        size = limit if length is None else length
        if size > limit:
            raise too_large
        self._reserve(client, size)
        parts: list[bytes] = []
        try:
            async for part in read_pieces(content):
                limit -= len(part)
                if limit < 0:
                    raise too_large
                parts.append(part)
            body = b"".join(parts)
            parts.clear()
            yield body
        finally:
            parts.clear()  # the frames of an exception must not keep them
            self._release(client, size)

    def _reserve(self, client: Hashable, size: int) -> None:
        if size <= SMALL_BYTES:
            return
        if self.bytes_held + size > self._budget or self._shares[client] + size > self._share:
            raise RequestBodyError("denied: too many large requests at the same time", may_retry=True)
        self.bytes_held += size
        self._shares[client] += size

    def _release(self, client: Hashable, size: int) -> None:
        if size <= SMALL_BYTES:
            return
        self.bytes_held -= size
        self._shares[client] -= size
        if not self._shares[client]:
            del self._shares[client]


async def read_pieces(content: Content) -> AsyncIterator[bytes]:
    """The body in pieces as they arrive. Raises RequestBodyError when they arrive too slowly."""
    loop = asyncio.get_running_loop()
    size, began = 0, loop.time()
    while True:
        try:
            async with asyncio.timeout_at(began + IDLE_S + size / _SLOWEST_RATE):
                part = await content.readany()
        except TimeoutError:
            raise RequestBodyError("denied: the request did not arrive in time") from None
        if not part:
            return
        size += len(part)
        yield part


async def skip_body(content: Content) -> None:
    """Read and discard a body."""
    with suppress(RequestBodyError):
        async for _ in read_pieces(content):
            pass
