"""Turns: of the requests of one user only so many are answered at a time, and the rest waits in the order of coming.

So nobody fills the memory with answers that they do not take. Called by the GDI endpoint and the web server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Turns:
    """`most`: turns that one user may have at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lanes: dict[Hashable, tuple[asyncio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def of(self, who: Hashable) -> AsyncIterator[None]:
        """Wait for a turn and have it until the end of the context."""
        lane, users = self._lanes.setdefault(who, (asyncio.Semaphore(self._most), []))
        users.append(None)
        try:
            async with lane:
                yield
        finally:
            users.pop()
            if not users:
                del self._lanes[who]
