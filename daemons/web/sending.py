"""Compression of answers and event streams for clients that accept it. Called by `app.py` and the streaming handlers.

Compressed answers contain the token of a session, and texts that other users may have chosen. An attacker who could make a
browser repeat requests, and count the bytes, could guess the token. But the session's cookie is not sent with requests of other
sites.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

MIN_COMPRESSED_BYTES = 1024
"""Answers with fewer bytes are not compressed."""
_GZIP = 31  # window bits of zlib for a gzip stream


@web.middleware
async def compress_response(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Compress complete answers, unless they are compressed already."""
    response = await handler(request)
    if isinstance(response, web.Response) and hdrs.CONTENT_ENCODING not in response.headers:
        if isinstance(response.body, bytes) and len(response.body) >= MIN_COMPRESSED_BYTES:
            response.headers[hdrs.VARY] = hdrs.ACCEPT_ENCODING
            response.enable_compression()
    return response


class EventStream:
    """Server-sent events to one client, sent without delay."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self.response = web.StreamResponse(headers={hdrs.CACHE_CONTROL: "no-store"})
        self.response.content_type = "text/event-stream"
        self._compressor = None
        if "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
            self.response.headers[hdrs.CONTENT_ENCODING] = "gzip"
            self._compressor = zlib.compressobj(1, zlib.DEFLATED, _GZIP)

    async def begin(self) -> None:
        """Send the headers, and a comment: so the client knows that the stream is open."""
        await self.response.prepare(self._request)
        await self._write(": here\n\n")

    async def send(self, event: str, data: str) -> None:
        """Send an event. Raises ConnectionError when the client is gone."""
        text = data.rstrip("\r\n").replace("\r", "").replace("\n", "\ndata: ")
        await self._write(f"event: {event}\ndata: {text}\n\n")

    async def _write(self, text: str) -> None:
        body = text.encode()
        if self._compressor is not None:
            body = self._compressor.compress(body) + self._compressor.flush(zlib.Z_SYNC_FLUSH)
        await self.response.write(body)
