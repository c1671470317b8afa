"""An application behind a listener: idle clients do not lock others out; a client with requests stays."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from daemons.runtime import http_listener
from daemons.runtime import listener as listener_module
from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.runtime.http_listener import serve_app
from daemons.runtime.listener import open_tcp_socket, open_tcp_sockets
from gridengine.addresses import canonical
from tests import needs

SHARE, PATIENCE_S, ANOTHER = 4, 60.0, 54321
ENDED: list[str] = []
"""Requests for `/endless` that are over."""
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def here(request: web.Request) -> web.Response:
    return web.Response(text="here")


async def lasting(request: web.Request) -> web.StreamResponse:
    """Answer until the client goes away."""
    response = web.StreamResponse()
    await response.prepare(request)
    await asyncio.Event().wait()
    return response


async def endless(request: web.Request) -> web.StreamResponse:
    """Write until the client no longer reads."""
    response = web.StreamResponse()
    try:
        await response.prepare(request)
        while True:
            await response.write(bytes(2**16))
    finally:
        ENDED.append(request.path)


def run(play: Callable[[Callable[[], Awaitable[Ends]]], Awaitable[None]]) -> None:
    async def served() -> None:
        app = web.Application()
        app.router.add_get("/", here)
        app.router.add_get("/lasting", lasting)
        app.router.add_get("/endless", endless)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        assert runner.server is not None
        listener = open_tcp_socket("127.0.0.1", 0)
        port = listener.getsockname()[1]
        entrance = serve_app(ConnectionLimiter(), listener, runner.server, SHARE)
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


def test_idle_connections_lock_no_client_out() -> None:
    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        idle = [await connect() for _ in range(10 * SHARE)]
        assert await ask(await connect()) == b"here"
        assert await idle[0][0].read() == b""

    run(play)


def test_a_connection_that_has_asked_outlives_connections_that_have_not() -> None:
    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        known = await connect()
        assert await ask(known) == b"here"
        for _ in range(3 * SHARE):
            await connect()
        assert await ask(known) == b"here"

    run(play)


def test_idle_connections_make_way_although_they_have_asked() -> None:
    """A client without a login asked for `/healthz` on each of 512 connections, and locked all others out."""

    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        oldest, *others = [await connect() for _ in range(SHARE)]
        for each in (oldest, *others):
            assert await ask(each) == b"here"
        assert await ask(await connect()) == b"here"
        assert await oldest[0].read() == b""

    run(play)


def test_requests_that_are_being_answered_are_not_evicted() -> None:
    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        held = [await connect() for _ in range(SHARE)]
        for reader, writer in held:
            writer.write(REQUEST.replace(b"/ ", b"/lasting "))
            await reader.readuntil(b"\r\n\r\n")
        refused = await connect()
        assert await refused[0].read() == b""
        assert not any(reader.at_eof() for reader, _ in held)

    run(play)


def test_a_client_that_takes_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_listener, "WRITE_TIMEOUT_S", 0.5)
    ENDED.clear()

    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect((await connect())[1].get_extra_info("peername"))
        one.sendall(REQUEST.replace(b"/ ", b"/endless "))
        while not ENDED:
            await asyncio.sleep(0.01)
        one.close()

    run(play)


@needs.root
def test_users_of_this_host_have_a_share_each() -> None:
    """All of them come from the loopback address, by ssh tunnels too."""

    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        known = await connect()
        address = known[1].get_extra_info("peername")
        held = []
        for number in range(2 * SHARE):
            one = socket.create_connection(address)
            os.fchown(one.fileno(), ANOTHER, ANOTHER)  # it is not accepted yet
            reader, writer = await asyncio.open_connection(sock=one)
            held.append(writer)
            writer.write(REQUEST.replace(b"/ ", b"/lasting "))
            assert (await reader.read(100) != b"") is (number < SHARE)
        assert await ask(known) == b"here"
        assert await ask(await connect()) == b"here"

    run(play)


def test_a_connection_on_which_no_request_comes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_module, "FIRST_REQUEST_S", 0.0)

    async def play(connect: Callable[[], Awaitable[Ends]]) -> None:
        reader, writer = await connect()
        writer.write(REQUEST[:10])
        try:
            assert await reader.read() == b""
        except ConnectionError:
            pass

    run(play)


def test_an_address_that_this_host_lacks_is_left_out_unless_it_is_the_first() -> None:
    foreign = "192.0.2.1"
    found = open_tcp_sockets(["127.0.0.1", foreign], 0)
    assert [each.getsockname()[0] for each in found] == ["127.0.0.1"]
    with pytest.raises(OSError, match="assign"):
        open_tcp_sockets([foreign, "127.0.0.1"], 0)
    port = found[0].getsockname()[1]
    with pytest.raises(OSError, match="in use"):
        open_tcp_sockets(["127.0.0.2", "127.0.0.1"], port)
    found[0].close()
    socket.create_server(("127.0.0.2", port)).close()  # nothing was left open by the refusal


@needs.ipv6
def test_all_addresses_of_ipv6_are_those_of_ipv4_too() -> None:
    with open_tcp_socket("::", 0) as listening:
        with socket.create_connection(("127.0.0.1", listening.getsockname()[1])):
            listening.setblocking(True)
            accepted, _ = listening.accept()
            assert canonical(accepted.getpeername()[0]) == "127.0.0.1"
            accepted.close()
