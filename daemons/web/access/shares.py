"""Limits of concurrent streams and requests per user, over all their sessions and tokens.

The limits keep one user from taking all connections or the memory. Called by the guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from aiohttp import web

from daemons.runtime.per_user_limit import PerUserLimit

MOST_STREAMS = 32
"""Streams of one user; further streams are refused."""
MOST_REQUESTS = 16
"""Other requests of one user that are served at a time; the rest waits, before the server reads their bodies."""
_STREAMS = ("/live", "/api/v1/events", "/api/v1/streams/")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Shares:
    """The shares of all users of one server."""

    def __init__(self) -> None:
        self._per_user_limit = PerUserLimit(MOST_REQUESTS)
        self._streams: Counter[str] = Counter()

    async def answer(self, user: str, request: web.Request, handler: Handler) -> web.StreamResponse | None:
        """The handler's answer within the user's limits; None if the limit of streams is reached."""
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
