"""Bodies of requests: how large one may be, and how much memory all that are being read or answered take together.

Owns the limits; what a body says is the caller's. A body beyond its limit is refused by what its head says, or as soon as
it passes the limit, and never gathered. Called by the GDI endpoint and the gateways. Source: docs/architecture.md section 4.1.
Deviation: 8.1.9 has no such limits (adr/0096).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from daemons.runtime.cell import Limits

#: requests that carry a job's script
LARGE = frozenset(("submit", "dry_run"))
#: a body of so many bytes needs no part of the budget: there are no more of them than connections
SMALL_BYTES = 2**16
#: all bodies together, and those of one user, in bodies of the largest size
_ALL, _SHARE = 4, 2
#: seconds without a byte after which a body counts as broken off, and the slowest rate in bytes a second
_SILENCE_S, _SLOWEST = 10.0, 2**18


class Unread(Exception):
    """A body that is not read; the text is for the user. `again`: asking again in a moment may help."""

    def __init__(self, text: str, again: bool = False) -> None:
        super().__init__(text)
        self.again = again


class Content(Protocol):
    """Where the bytes come from, in pieces as they come; an empty one is the end."""

    async def readany(self) -> bytes: ...


class Bodies:
    """The bodies that one process holds. `held`: bytes of the budget that are taken."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        largest = max(limits.max_request_size, limits.max_submit_size)
        self._budget, self._share = _ALL * largest, _SHARE * largest
        self._shares: Counter[Hashable] = Counter()
        self.held = 0

    @asynccontextmanager
    async def read(self, name: str, length: int | None, content: Content, who: Hashable) -> AsyncIterator[bytes]:
        """The body of a request. `length`: what its head says, None when it does not; `who`: whose share it comes out of.

        The budget has it until the end of the context: what is made of a body takes as much memory again. Raises Unread.
        """
        parameter = "max_submit_size" if name in LARGE else "max_request_size"
        limit: int = getattr(self._limits, parameter)
        too_large = Unread(f"denied: the request is larger than {limit} bytes ({parameter} of this cell)")
        # without a length it may become as large as it may be
        size = limit if length is None else length
        if size > limit:
            raise too_large
        self._take(who, size)
        parts: list[bytes] = []
        try:
            async for part in pieces(content):
                limit -= len(part)
                if limit < 0:
                    raise too_large
                parts.append(part)
            body = b"".join(parts)
            parts.clear()
            yield body
        finally:
            parts.clear()  # the frames of an exception must not keep them
            self._give_back(who, size)

    def _take(self, who: Hashable, size: int) -> None:
        if size <= SMALL_BYTES:
            return
        if self.held + size > self._budget or self._shares[who] + size > self._share:
            raise Unread("denied: too many large requests at the same time", again=True)
        self.held += size
        self._shares[who] += size

    def _give_back(self, who: Hashable, size: int) -> None:
        if size <= SMALL_BYTES:
            return
        self.held -= size
        self._shares[who] -= size
        if not self._shares[who]:
            del self._shares[who]


async def pieces(content: Content) -> AsyncIterator[bytes]:
    """What comes, in pieces. Raises Unread when it comes too slowly."""
    loop = asyncio.get_running_loop()
    size, began = 0, loop.time()
    while True:
        try:
            async with asyncio.timeout_at(began + _SILENCE_S + size / _SLOWEST):
                part = await content.readany()
        except TimeoutError:
            raise Unread("denied: the request did not come in time") from None
        if not part:
            return
        size += len(part)
        yield part


async def skip(content: Content) -> None:
    """Let a body go by that is not wanted."""
    with suppress(Unread):
        async for _ in pieces(content):
            pass
