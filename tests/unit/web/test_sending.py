"""Answers are compressed for clients that accept it; each event of a compressed stream arrives at once."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from daemons.web.sending import MIN_COMPRESSED_BYTES, EventStream, compress_response

LONG = "a line of a page\n" * MIN_COMPRESSED_BYTES


def served(handler: Callable[[web.Request], Awaitable[web.StreamResponse]], play: Callable[[Any], Awaitable[Any]]) -> Any:
    async def playing() -> Any:
        app = web.Application(middlewares=[compress_response])
        app.router.add_get("/", handler)
        async with TestClient(TestServer(app), auto_decompress=False) as client:
            return await play(client)

    return asyncio.run(playing())


@pytest.mark.parametrize(
    ("text", "accepted", "coding"),
    [(LONG, "gzip", "gzip"), (LONG, "", None), (LONG, "br", None), ("short", "gzip", None)],
)
def test_whole_answers(text: str, accepted: str, coding: str | None) -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text=text)

    async def read(client: Any) -> tuple[str | None, int]:
        async with client.get("/", headers={"Accept-Encoding": accepted}) as response:
            return response.headers.get("Content-Encoding"), len(await response.read())

    found, size = served(page, read)
    assert found == coding
    assert (size < len(text) / 10) == (coding is not None)


def test_a_compressed_answer_is_left_alone() -> None:
    async def file(request: web.Request) -> web.Response:
        return web.Response(body=zlib.compress(LONG.encode()) * 20, headers={"Content-Encoding": "deflate"})

    async def read(client: Any) -> bytes:
        async with client.get("/", headers={"Accept-Encoding": "gzip, deflate"}) as response:
            return bytes(await response.read())

    assert served(file, read) == zlib.compress(LONG.encode()) * 20


@pytest.mark.parametrize("accepted", ["gzip", ""])
def test_an_event_arrives_before_the_next_is_sent(accepted: str) -> None:
    arrived = asyncio.Event()

    async def stream(request: web.Request) -> web.StreamResponse:
        events = EventStream(request)
        await events.begin()
        await events.send("main", "one\r\ntwo\n")
        await arrived.wait()
        await events.send("age", "")
        return events.response

    async def read(client: Any) -> str:
        unpacker = zlib.decompressobj(31) if accepted else None
        text = ""
        async with client.get("/", headers={"Accept-Encoding": accepted}) as response:
            async for chunk in response.content.iter_any():
                text += (unpacker.decompress(chunk) if unpacker else chunk).decode()
                if "event: main\ndata: one\ndata: two\n\n" in text:
                    arrived.set()
        return text

    assert served(stream, read).endswith("event: age\ndata: \n\n")
