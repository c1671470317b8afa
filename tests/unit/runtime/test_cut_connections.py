"""Connections that are cut at every stage of a request: a clear end for the other side, and never a traceback in the log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from daemons.qmaster.serve.requests.gdi_server import GdiServer
from daemons.runtime.cell import USUAL_LIMITS, Cell
from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.runtime.gateway import Gateway
from daemons.runtime.http_listener import serve_app
from daemons.runtime.qmaster_client import QmasterClient
from gridengine.files.unix_sockets import unix_listener
from gridengine.protocols.gdi.requests import Answer, Caller
from tests.garbage import collect_garbage

PATIENCE_S = 60.0
REQUEST = b"POST /v1/submit HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
BODY = json.dumps({"status": 0, "answers": [["info", "x" * 200_000]], "data": None}).encode()
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
PIECES = b"".join(b"%x\r\n%b\r\n" % (len(BODY[at : at + 5000]), BODY[at : at + 5000]) for at in range(0, len(BODY), 5000))
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n" + PIECES + b"0\r\n\r\n"
HEAD = WHOLE.index(b"\r\n\r\n") + 4
CUTS = {
    "nothing": 0, "in the first line": 9, "in a field": 30, "before the empty line": HEAD - 2, "behind the head": HEAD,
    "in the first bytes": HEAD + 3, "in the middle": HEAD + 100_000, "before the last byte": -1, "before the end": -5,
}
"""How much of an answer comes; the two of them differ a little in where that is."""


class Qmaster:
    """Reads a request, sends so much of an answer, and ends the connection, by a reset if `reset`."""

    def __init__(self) -> None:
        self.answer, self.reset = WHOLE, False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):  # a gateway that was left connects in vain
            await reader.readuntil(b"\r\n\r\n")
            writer.write(self.answer)
            await writer.drain()
        if self.reset:
            taken: Any = writer.get_extra_info("socket")
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        else:
            writer.close()


class PlainClient(QmasterClient):
    """The client without TLS, to a port of this machine."""

    def __init__(self, cell: Cell, port: int) -> None:
        self._cell, self._host, self._key, self._port = cell, "h1", "key", port
        self._order, self._last_master, self._addresses = ["master"], "", {}
        self._plain = aiohttp.ClientSession(auto_decompress=False)
        self._session: Any = self

    async def close(self) -> None:
        await self._plain.close()

    def _possible_masters(self) -> list[str]:
        return ["master"]

    async def _address(self, _master: str) -> str:
        return "127.0.0.1"

    def post(self, *arguments: Any, **options: Any) -> Any:
        if "server_hostname" not in options:
            return QmasterClient.post(self, *arguments, **options)
        del options["server_hostname"]
        return self._plain.post(f"http://127.0.0.1:{self._port}/", **options)


class Place:
    """A gateway before a qmaster."""

    def __init__(self, directory: Path) -> None:
        spools = {"qmaster_spool_dir": directory, "execd_spool_dir": directory, "run_dir": directory}
        self.cell = Cell(root=directory, name="default", admin_user="root", **spools, qmaster_port=1, ray_port=2)  # type: ignore[arg-type]
        self.qmaster = Qmaster()

    async def __aenter__(self) -> Place:
        self._server = await asyncio.start_server(self.qmaster.serve, "127.0.0.1", 0)
        self.client = PlainClient(self.cell, self._server.sockets[0].getsockname()[1])
        self._gateway = asyncio.create_task(Gateway(self.cell, self.client, ConnectionLimiter()).run())
        while not self.cell.gateway_socket.exists():
            await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._gateway.cancel()
        await asyncio.gather(self._gateway, return_exceptions=True)
        await self.client.close()
        self._server.close()

    async def ask(self, take: int = -1) -> tuple[bytes, bytes]:
        """Head and body of what comes until the connection ends; or leave after so many bytes."""
        reader, writer = await asyncio.open_unix_connection(str(self.cell.gateway_socket))
        writer.write(REQUEST + b"{}")
        got = b""
        with contextlib.suppress(ConnectionError):
            if take >= 0:
                got = await reader.readexactly(take)
                writer.transport.abort()
            while take < 0 and (part := await reader.read(65536)):
                got += part
        writer.close()
        head, _, body = got.partition(b"\r\n\r\n")
        return head, body


def whole(head: bytes, body: bytes) -> bool:
    """Whether a client would take this for an answer."""
    if b"Transfer-Encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    return bool(head) and b"Content-Length: %d\r\n" % len(body) in head + b"\r\n"


def ended_clearly(head: bytes, body: bytes) -> None:
    """Either the gateway reports that there is no answer, or the client discards the partial one."""
    if b'"status":1' in body:
        message = json.loads(body)["answers"][0][1]
        assert message.startswith('unable to contact qmaster on host "master"')
        assert "RawResponse" not in message
    else:
        assert not whole(head, body)


@pytest.fixture(autouse=True)
def no_traceback(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """The log has nothing worse than a warning, and no exception, not even one that is only noticed at the end."""
    collect_garbage()  # log records of an earlier test do not count
    caplog.clear()
    caplog.set_level(logging.INFO)
    yield
    collect_garbage()
    bad = [record for record in caplog.records if record.exc_info or record.levelno > logging.WARNING]
    assert [(record.getMessage(), record.exc_info) for record in bad] == []


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("answer", [WHOLE, CHUNKED], ids=["length", "chunked"])
@pytest.mark.parametrize("cut", CUTS)
def test_a_qmaster_that_ends_in_the_middle_of_an_answer(tmp_path: Path, answer: bytes, cut: str, reset: bool) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE_S), Place(tmp_path) as place:
            place.qmaster.answer, place.qmaster.reset = answer[: CUTS[cut]], reset
            ended_clearly(*await place.ask())
            place.qmaster.answer, place.qmaster.reset = answer, False
            assert whole(*await place.ask())

    asyncio.run(play())


@pytest.mark.parametrize("answer", [WHOLE, CHUNKED], ids=["length", "chunked"])
@pytest.mark.parametrize("take", [0, 1, 100, 1000, 150_000])
def test_a_client_that_leaves_in_the_middle_of_an_answer(tmp_path: Path, answer: bytes, take: int) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE_S), Place(tmp_path) as place:
            place.qmaster.answer = answer
            await place.ask(take)
            assert whole(*await place.ask())

    asyncio.run(play())


@pytest.mark.parametrize("part", [REQUEST[:9], REQUEST[:-2], REQUEST, REQUEST + b"{", REQUEST + b"{}"])
@pytest.mark.parametrize("daemon", ["gateway", "qmaster", "web"])
def test_a_client_that_leaves_in_the_middle_of_its_request(tmp_path: Path, part: bytes, daemon: str) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE_S), opened(tmp_path, daemon) as path:
            for leave in ("abort", "close"):
                _, writer = await asyncio.open_unix_connection(str(path))
                writer.write(part)
                for _ in range(20):
                    await asyncio.sleep(0)
                getattr(writer.transport, leave)()
            reader, writer = await asyncio.open_unix_connection(str(path))
            writer.write(REQUEST + b"{}")
            assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
            writer.close()

    asyncio.run(play())


@contextlib.asynccontextmanager
async def opened(directory: Path, daemon: str) -> AsyncIterator[Path]:
    """A listener of one of the daemons that speak HTTP, open at a path."""
    path = directory / "http.sock"
    if daemon == "gateway":
        async with Place(directory) as place:
            yield place.cell.gateway_socket
    elif daemon == "qmaster":
        server = GdiServer(_done, {}, (), "master", lambda host: "key", USUAL_LIMITS)
        await server.start(path)
        yield path
        await server.stop()
    else:
        app = web.Application()
        app.router.add_post("/v1/submit", _echo)
        runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await runner.setup()
        assert runner.server is not None
        pages = serve_app(ConnectionLimiter(), unix_listener(path, 0o666), runner.server, 8)
        yield path
        pages.close()
        await runner.cleanup()


async def _done(name: str, body: bytes, caller: Caller, key: str) -> Answer:
    return Answer()


async def _echo(request: web.Request) -> web.Response:
    return web.Response(body=await request.read())
