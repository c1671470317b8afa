"""Limits how many requests of one user are answered at a time; the others wait in their order of arrival.

So no user fills the memory with answers that they do not read. Called by the GDI endpoint and the web server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class PerUserLimit:
    """`limit`: requests of one user at a time."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._semaphores: dict[Hashable, tuple[asyncio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def of(self, user: Hashable) -> AsyncIterator[None]:
        """Wait until the user is below the limit; the request counts until the end of the context."""
        semaphore, holders = self._semaphores.setdefault(user, (asyncio.Semaphore(self._limit), []))
        holders.append(None)
        try:
            async with semaphore:
                yield
        finally:
            holders.pop()
            if not holders:
                del self._semaphores[user]
