"""What one user may have the server do at the same time, whatever they log in with: streams, and other requests.

So nobody takes all connections or the memory with a login. Called by the guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from aiohttp import web

from daemons.runtime.per_user_limit import PerUserLimit

MOST_STREAMS = 32
"""Streams of one user; a further one is refused."""
MOST_REQUESTS = 16
"""Other requests of one user that are answered at a time; the rest waits, before its bodies are read."""
_STREAMS = ("/live", "/api/v1/events", "/api/v1/streams/")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Shares:
    """The shares of all users of one server."""

    def __init__(self) -> None:
        self._per_user_limit = PerUserLimit(MOST_REQUESTS)
        self._streams: Counter[str] = Counter()

    async def answer(self, user: str, request: web.Request, handler: Handler) -> web.StreamResponse | None:
        """The handler's answer within the user's share; None when the share of streams is used up."""
        if not request.path.startswith(_STREAMS):
            async with self._per_user_limit.of(user):
                return await handler(request)
        if self._streams[user] >= MOST_STREAMS:
            return None
        self._streams[user] += 1
        try:
            return await handler(request)
        finally:
            self._streams[user] -= 1
            if not self._streams[user]:
                del self._streams[user]
