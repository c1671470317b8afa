"""`POST /api/v1/streams/NAME`: the streams of the GDI for programs, asked as the user and passed on line by line.

Owns which these are, and their end when the user is logged out. What they say is the qmaster's. Source: docs/gdi.md; adr/0162.
"""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import msgspec
from aiohttp import hdrs, web

from daemons.runtime.qmaster_client import NoQmaster
from daemons.web.api.problem import problem, refused
from daemons.web.shared import IS_LOGGED_IN, WEB, caller_of
from gridengine.gdi.requests import Answer

STREAMS = ("events", "wait")
_LOOK_S = 5.0
_RETRY_S = 5
_LINES = "application/x-ndjson"


async def stream(request: web.Request) -> web.StreamResponse:
    """Pass a stream on until either side ends it."""
    name = request.match_info["name"]
    if name not in STREAMS:
        return problem(404, f'there is no stream "{name}", only {", ".join(STREAMS)}')
    try:
        answer = await request.app[WEB].follow(name, await request.read(), caller_of(request))
    except NoQmaster as away:
        response = problem(503, str(away))
        response.headers[hdrs.RETRY_AFTER] = str(_RETRY_S)
        return response
    async with answer:
        if answer.content_type != _LINES:
            return refused(msgspec.json.decode(await answer.read(), type=Answer), of_one=False)
        return await _passed_on(request, answer)


async def _passed_on(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": _LINES, "Cache-Control": "no-store"})
    try:
        await response.prepare(request)
        while request[IS_LOGGED_IN]():
            lines = await _next(answer)
            if lines == b"":
                break
            if lines is not None:
                await response.write(lines)
            elif request.transport is None or request.transport.is_closing():
                break
    except (ConnectionError, aiohttp.ClientError):
        pass  # one of the two has gone: the program asks again
    return response


async def _next(answer: aiohttp.ClientResponse) -> Any:
    """What came, b"" at the end, None for nothing in a while. Raises aiohttp.ClientError."""
    try:
        async with asyncio.timeout(_LOOK_S):
            return await answer.content.readany()
    except TimeoutError:
        return None
