"""The servers of requests at their sockets: idle and slow clients, bodies too large, answers that are not read."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from daemons.qmaster.serve.requests import gdi_server
from daemons.qmaster.serve.requests.gdi_server import GdiServer
from daemons.runtime import http_listener
from daemons.runtime import listener as listener_module
from daemons.runtime.cell import Cell, Limits
from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.runtime.gateway import Gateway
from daemons.runtime.listener import Listener
from daemons.runtime.qmaster_client import NoQmasterError
from gridengine.protocols.gdi.requests import Answer, Caller

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
SHARE = 8
LIMITS = Limits(max_request_size=2**20, max_submit_size=2**24, max_user_connections=SHARE)
PATIENCE_S = 60.0


class Place:
    """A GDI endpoint on a socket. `asked`: the requests that reached the handler; `data`: its answer."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.asked: list[tuple[str, int]] = []
        self.data: object = None
        self.keys: list[str] = []
        self.hold = asyncio.Event()
        self.hold.set()

    async def handle(self, name: str, body: bytes, caller: Caller, key: str) -> Answer:
        self.asked.append((name, len(body)))
        self.keys.append(key)
        await self.hold.wait()
        return Answer(data=self.data)

    async def connect(self) -> Ends:
        return await asyncio.open_unix_connection(str(self.socket))

    async def request(self, name: str, body: bytes = b"{}", length: int | None = None, head: str = "") -> Ends:
        """A request that declares a body of `length` bytes, and sends the given ones."""
        reader, writer = await self.connect()
        head = head or f"Content-Length: {len(body) if length is None else length}\r\n"
        writer.write(f"POST /v1/{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}\r\n".encode() + body)
        return reader, writer


def run(tmp_path: Path, play: Callable[[Place], Awaitable[None]]) -> None:
    async def served() -> None:
        place = Place(tmp_path / "gdi.sock")
        server = GdiServer(place.handle, {}, (), "master", lambda host: "key", LIMITS)
        await server.start(place.socket)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await play(place)
        finally:
            await server.stop()

    asyncio.run(served())


@pytest.fixture
def short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    """For clients that declare more than they send, and read to the end."""
    monkeypatch.setattr(http_listener, "LINGER_S", 0.05)


async def answer_of(ends: Ends) -> tuple[int, Any]:
    head, _, body = (await ends[0].read()).partition(b"\r\n\r\n")
    ends[1].close()
    return int(head.split()[1]), json.loads(body)


def test_idle_connections_of_a_user_lock_no_client_out_not_even_that_user(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        idle = [await place.connect() for _ in range(40 * SHARE)]
        assert (await answer_of(await place.request("status")))[1]["status"] == 0
        ended = sum([reader.at_eof() or await _ends_now(reader) for reader, _ in idle])
        assert len(idle) - ended < SHARE

    run(tmp_path, play)


async def _ends_now(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(0.0):
            return await reader.read() == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_more_requests_at_a_time_than_a_user_may_have_connections_are_refused_with_a_reason(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        place.hold.clear()
        working = [await place.request("status") for _ in range(SHARE)]
        while len(place.asked) < SHARE:
            await asyncio.sleep(0)
        status, answer = await answer_of(await place.connect())
        assert (status, answer["answers"]) == (503, [["error", "denied: too many connections at the same time"]])
        place.hold.set()
        assert [(await answer_of(each))[0] for each in working] == [200] * SHARE
        assert (await answer_of(await place.request("status")))[0] == 200

    run(tmp_path, play)


@pytest.mark.parametrize("sent", [b"", b"POST /v1/status HTTP/1.1\r\nHost: x\r\n"])
def test_a_connection_on_which_no_request_comes_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(listener_module, "FIRST_REQUEST_S", 0.0)

    async def play(place: Place) -> None:
        reader, writer = await place.connect()
        writer.write(sent)
        with _broken():
            assert await reader.read() == b""

    run(tmp_path, play)


class _broken:
    """Whether the other side ends a connection with or without a reset does not matter."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, ConnectionError)


def test_a_kept_connection_that_is_idle_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_listener, "IDLE_S", 0.05)

    async def play(place: Place) -> None:
        reader, writer = await place.connect()
        writer.write(b"POST /v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")

    run(tmp_path, play)


@pytest.mark.usefixtures("short_linger")
@pytest.mark.parametrize(
    ("name", "length", "parameter"),
    [("status", LIMITS.max_request_size + 1, "max_request_size"), ("submit", 150 * 10**6, "max_submit_size")],
)
def test_a_body_too_large_is_refused_before_it_comes(tmp_path: Path, name: str, length: int, parameter: str) -> None:
    async def play(place: Place) -> None:
        status, answer = await answer_of(await place.request(name, b"", length))
        assert (status, answer["status"]) == (200, 1) and parameter in answer["answers"][0][1]
        assert place.asked == []

    run(tmp_path, play)


@pytest.mark.usefixtures("short_linger")
def test_a_body_in_chunks_is_refused_as_soon_as_it_is_too_large(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        chunk = b"40000\r\n" + b"x" * 2**18 + b"\r\n"
        reader, _ = await place.request("status", chunk * 5, head="Transfer-Encoding: chunked\r\n")
        with _broken():  # as there is more of it
            assert b"max_request_size" in await reader.read()
        assert place.asked == []

    run(tmp_path, play)


@pytest.mark.usefixtures("no_cycles_looked_for", "short_linger")
def test_no_bytes_of_an_unread_body_are_kept(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        for _ in range(10):
            reader, writer = await place.request("status", b"x" * 2**16, length=2**30)
            with _broken():
                await reader.read()
            writer.close()
        kept = [each for each in gc.get_objects() if type(each) is aiohttp.StreamReader]
        assert sum(each.total_bytes for each in kept) > 0, "none has come at all"
        assert sum(len(part) for each in kept for part in each._buffer) == 0

    run(tmp_path, play)


def test_a_script_of_some_megabytes_is_taken(tmp_path: Path) -> None:
    async def play(place: Place) -> None:
        assert (await answer_of(await place.request("submit", b"x" * 2**23)))[0] == 200
        assert place.asked == [("submit", 2**23)]

    run(tmp_path, play)


def test_an_answer_that_the_client_does_not_read_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_listener, "WRITE_TIMEOUT_S", 0.0)
    monkeypatch.setattr(http_listener, "SLOWEST_RATE", 2**40)

    async def play(place: Place) -> None:
        place.data = "x" * 2**24
        ends = await place.request("status")
        while not place.asked:
            await asyncio.sleep(0)
        got = b""
        with _broken():
            got = await ends[0].read()
        assert len(got) < 2**24

    run(tmp_path, play)


def test_of_one_user_only_some_requests_are_answered_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gdi_server, "MAX_ANSWERS_OF_USER", 2)

    async def play(place: Place) -> None:
        place.hold.clear()
        working = [await place.request("status") for _ in range(4)]
        while len(place.asked) < 2:
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(place.asked) == 2
        place.hold.set()
        assert [(await answer_of(each))[0] for each in working] == [200] * 4

    run(tmp_path, play)


def test_a_malformed_request_gives_one_line_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def play(place: Place) -> None:
        for _ in range(20):
            reader, writer = await place.connect()
            writer.write(b"GARBAGE\x00\r\nno header\r\n\r\n")
            assert b" 400 " in await reader.read()
            writer.close()

    run(tmp_path, play)
    assert len(caplog.records) == 1 and caplog.records[0].exc_info is None


class NoDescriptors:
    """A listening socket of a process that has no descriptor left. `tries`: how often it was asked."""

    def __init__(self) -> None:
        self.tries = 0
        self.ends = __import__("socket").socketpair()
        self.ends[1].send(b"x")

    def fileno(self) -> int:
        return int(self.ends[0].fileno())

    def accept(self) -> Any:
        self.tries += 1
        raise OSError(errno.EMFILE, "Too many open files")

    def close(self) -> None:
        for end in self.ends:
            end.close()


def test_without_descriptors_accepting_does_not_spin(caplog: pytest.LogCaptureFixture) -> None:
    listener = NoDescriptors()

    async def play() -> None:
        opened = Listener(ConnectionLimiter(10), listener, lambda connection: asyncio.Protocol(), 10)  # type: ignore[arg-type]
        for _ in range(100):
            await asyncio.sleep(0)
        opened.close()

    asyncio.run(play())
    assert listener.tries == 1
    assert ["cannot accept" in record.getMessage() for record in caplog.records] == [True]


# --- the gateway ---------------------------------------------------------------------------------------------------


class BrokenAnswer:
    """The qmaster's answer, of which it sends a part and goes away."""

    status, content_type, content_length = 200, "application/x-ndjson", None

    @property
    def content(self) -> BrokenAnswer:
        return self

    async def iter_chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        yield b"{}\n" * 100, True
        raise aiohttp.ClientPayloadError("Response payload is not completed")

    async def __aenter__(self) -> BrokenAnswer:
        return self

    async def __aexit__(self, *_: object) -> None: ...


class Client:
    """The way to such a qmaster."""

    async def post(self, *_: object, key: str = "") -> BrokenAnswer:
        return BrokenAnswer()


@asynccontextmanager
async def gateway(directory: Path, client: Client | None = None, is_renewing: bool = False) -> AsyncIterator[Place]:
    spools = {"qmaster_spool_dir": directory, "execd_spool_dir": directory, "run_dir": directory}
    cell = Cell(root=directory, name="default", admin_user="root", **spools, qmaster_port=1, ray_port=2)  # type: ignore[arg-type]
    task = asyncio.create_task(Gateway(cell, client or Client(), ConnectionLimiter(), lambda: is_renewing).run())  # type: ignore[arg-type]
    while not cell.gateway_socket.exists():
        await asyncio.sleep(0)
    yield Place(cell.gateway_socket)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("is_renewing", [False, True])
def test_the_socket_stays_while_the_daemon_goes_on_as_another_release(tmp_path: Path, is_renewing: bool) -> None:
    """So that commands are refused and wait, and do not take it for a host without daemons."""

    async def play() -> None:
        async with asyncio.timeout(PATIENCE_S), gateway(tmp_path, is_renewing=is_renewing):
            pass

    asyncio.run(play())
    assert (tmp_path / "gateway.sock").exists() is is_renewing


class Lost(Client):
    """A way to a qmaster that ended before it had answered. `keys`: under which it was asked."""

    def __init__(self, sent: bool) -> None:
        self.sent, self.keys = sent, list[str]()

    async def post(self, *_: object, key: str = "") -> BrokenAnswer:
        self.keys.append(key)
        raise NoQmasterError("unable to contact qmaster", self.sent)


@pytest.mark.parametrize(
    ("key", "sent", "status"), [("", True, 200), ("", False, 503), ("k1", True, 504), ("k1", False, 503), ("k 1", True, 200)]
)
def test_a_client_with_a_key_learns_that_the_answer_was_lost(tmp_path: Path, key: str, sent: bool, status: int) -> None:
    async def play() -> None:
        client = Lost(sent)
        async with asyncio.timeout(PATIENCE_S), gateway(tmp_path, client) as place:
            head = "Content-Length: 2\r\n" + (f"Idempotency-Key: {key}\r\n" if key else "")
            assert (await answer_of(await place.request("submit", head=head)))[0] == status
        assert client.keys == ([key] if " " not in key else [])

    asyncio.run(play())


def test_an_answer_that_breaks_off_is_no_whole_one_and_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE_S), gateway(tmp_path) as place:
            for _ in range(5):
                reader, _ = await place.request("job_list")
                got = b""
                with _broken():
                    got = await reader.read()
                assert not got.endswith(b"0\r\n\r\n")

    asyncio.run(play())
    lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(lines) == 1 and lines[0].exc_info is None


@pytest.mark.parametrize(("key", "asked", "answer"), [("k1", ["k1"], 0), ("", [""], 0), ("ä", [], 1), ("a b", [], 1)])
def test_the_key_of_a_request_reaches_what_decides(tmp_path: Path, key: str, asked: list[str], answer: int) -> None:
    async def play(place: Place) -> None:
        head = "Content-Length: 2\r\n" + (f"Idempotency-Key: {key}\r\n" if key else "")
        assert (await answer_of(await place.request("submit", head=head)))[1]["status"] == answer
        assert place.keys == asked

    run(tmp_path, play)
