"""How answers are sent: compressed for whoever takes that, whole ones and streams of events. Called by `app.py` and what streams.

What is compressed holds the token of a session, and texts that others may have chosen. Whoever could make a browser ask again and
again, and count the bytes, would guess the token; the session's cookie goes with no request that another site causes.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

LEAST = 1024
"""Bytes below which compressing is not worth it."""
_GZIP = 31  # window bits of zlib for a gzip stream


@web.middleware
async def compressing(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Compress whole answers that are not compressed already."""
    response = await handler(request)
    if isinstance(response, web.Response) and hdrs.CONTENT_ENCODING not in response.headers:
        if isinstance(response.body, bytes) and len(response.body) >= LEAST:
            response.headers[hdrs.VARY] = hdrs.ACCEPT_ENCODING
            response.enable_compression()
    return response


class EventStream:
    """Server-sent events to one client; what is sent is on its way at once."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self.response = web.StreamResponse(headers={hdrs.CACHE_CONTROL: "no-store"})
        self.response.content_type = "text/event-stream"
        self._packer = None
        if "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
            self.response.headers[hdrs.CONTENT_ENCODING] = "gzip"
            self._packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP)

    async def begin(self) -> None:
        """Send the head, and a comment: the client knows that it is heard."""
        await self.response.prepare(self._request)
        await self._write(": here\n\n")

    async def send(self, event: str, data: str) -> None:
        """Send an event. Raises ConnectionError when nobody is there any more."""
        text = data.rstrip("\r\n").replace("\r", "").replace("\n", "\ndata: ")
        await self._write(f"event: {event}\ndata: {text}\n\n")

    async def _write(self, text: str) -> None:
        body = text.encode()
        if self._packer is not None:
            body = self._packer.compress(body) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        await self.response.write(body)
