"""`POST /api/v1/streams/NAME`: the streams of the GDI for programs, requested as the user and forwarded line by line.

Owns the list of streams, and their end at the logout of the user. The qmaster owns their content. Source: docs/gdi.md; adr/0162.
"""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from daemons.web.api.problem import problem, refused
from daemons.web.shared import IS_LOGGED_IN, WEB, caller_of
from gridengine.protocols.gdi.requests import Answer

STREAMS = ("events", "wait")
_CHECK_S = 5.0
_LINES = "application/x-ndjson"


async def stream(request: web.Request) -> web.StreamResponse:
    """Forward a stream until either side ends the connection. Raises NoQmasterError."""
    name = request.match_info["name"]
    if name not in STREAMS:
        return problem(404, f'there is no stream "{name}", only {", ".join(STREAMS)}')
    async with await request.app[WEB].follow(name, await request.read(), caller_of(request)) as answer:
        if answer.content_type != _LINES:
            return refused(msgspec.json.decode(await answer.read(), type=Answer), is_single=False)
        return await _forward(request, answer)


async def _forward(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": _LINES, "Cache-Control": "no-store"})
    try:
        await response.prepare(request)
        while request[IS_LOGGED_IN]():
            lines = await _next_lines(answer)
            if lines == b"":
                break
            if lines is not None:
                await response.write(lines)
            elif request.transport is None or request.transport.is_closing():
                break
    except (ConnectionError, aiohttp.ClientError):
        pass  # either side has closed the connection: the program sends the request again
    return response


async def _next_lines(answer: aiohttp.ClientResponse) -> Any:
    """The received lines, b"" at the end of the stream, None after _CHECK_S without lines. Raises aiohttp.ClientError."""
    try:
        async with asyncio.timeout(_CHECK_S):
            return await answer.content.readany()
    except TimeoutError:
        return None
