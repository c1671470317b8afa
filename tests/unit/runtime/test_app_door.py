"""An application behind a door: strangers who ask nothing keep nobody out, whoever asks stays."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from daemons.runtime import door
from daemons.runtime.connections import Room
from daemons.runtime.door import tcp_listener
from daemons.runtime.http_door import open_app

SHARE, PATIENCE_S = 4, 60.0
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def here(request: web.Request) -> web.Response:
    return web.Response(text="here")


def run(play: Callable[[Callable[[], Awaitable[Ends]]], Awaitable[None]]) -> None:
    async def served() -> None:
        app = web.Application()
        app.router.add_get("/", here)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        assert runner.server is not None
        listener = tcp_listener("127.0.0.1", 0)
        port = listener.getsockname()[1]
        entrance = open_app(Room(), listener, runner.server, SHARE)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await play(lambda: asyncio.open_connection("127.0.0.1", port))
        finally:
            entrance.close()
            await runner.cleanup()

    asyncio.run(served())


async def ask(ends: Ends) -> bytes:
    reader, writer = ends
    writer.write(REQUEST)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    return await reader.readexactly(4)


def test_idle_connections_keep_nobody_out() -> None:
    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        idle = [await connect() for _ in range(10 * SHARE)]
        assert await ask(await connect()) == b"here"
        assert await idle[0][0].read() == b""

    run(play)


def test_one_that_has_asked_is_not_made_way_with() -> None:
    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        known = await connect()
        assert await ask(known) == b"here"
        for _ in range(3 * SHARE):
            await connect()
        assert await ask(known) == b"here"

    run(play)


def test_a_connection_on_which_no_request_comes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "HEAD_S", 0.0)

    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        reader, writer = await connect()
        writer.write(REQUEST[:10])
        try:
            assert await reader.read() == b""
        except ConnectionError:
            pass

    run(play)
