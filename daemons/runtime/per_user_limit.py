"""Turns: of the requests of one user only so many are answered at a time, and the rest waits in the order of coming.

So nobody fills the memory with answers that they do not take. Called by the GDI endpoint and the web server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class PerUserLimit:
    """`limit`: turns that one user may have at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._semaphores: dict[Hashable, tuple[asyncio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def of(self, user: Hashable) -> AsyncIterator[None]:
        """Wait for a turn and have it until the end of the context."""
        semaphore, holders = self._semaphores.setdefault(user, (asyncio.Semaphore(self._limit), []))
        holders.append(None)
        try:
            async with semaphore:
                yield
        finally:
            holders.pop()
            if not holders:
                del self._semaphores[user]
