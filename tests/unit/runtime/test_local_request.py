"""Requests of a daemon to another daemon of its host."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemons.runtime.local_request import NoLocalAnswerError, post_local


async def serve_once(path: Path, reply: bytes) -> tuple[asyncio.Server, list[bytes]]:
    """A server that answers with `reply`, and closes the connection; and the requests that it got."""
    requests: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"{}"))
        writer.write(reply)
        writer.close()

    return await asyncio.start_unix_server(answer, str(path)), requests


def test_status_and_body_of_the_answer_are_returned(tmp_path: Path) -> None:
    async def scene() -> None:
        server, requests = await serve_once(tmp_path / "sock", b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")
        async with server:
            assert await post_local(tmp_path / "sock", "ping", b"{}", 5.0, {"X-User": "7"}) == (503, b"busy")
        assert requests[0].startswith(b"POST /v1/ping HTTP/1.1\r\n")
        assert b"X-User: 7\r\n" in requests[0] and b"Content-Type: application/json\r\n" in requests[0]

    asyncio.run(scene())


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", b"no HTTP\r\n\r\n"])
def test_an_answer_that_is_cut_off_or_no_answer_is_a_fault(reply: bytes, tmp_path: Path) -> None:
    async def scene() -> None:
        server, _ = await serve_once(tmp_path / "sock", reply)
        async with server:
            await post_local(tmp_path / "sock", "ping", b"{}", 5.0)

    with pytest.raises(NoLocalAnswerError, match="."):
        asyncio.run(scene())


def test_the_reason_is_given_when_no_daemon_listens(tmp_path: Path) -> None:
    with pytest.raises(NoLocalAnswerError, match=str(tmp_path / "sock")):
        asyncio.run(post_local(tmp_path / "sock", "ping", b"{}"))


def test_a_silent_daemon_is_given_up(tmp_path: Path) -> None:
    async def scene() -> None:
        async with await asyncio.start_unix_server(lambda reader, writer: None, str(tmp_path / "sock")):
            await post_local(tmp_path / "sock", "ping", b"{}", 0.01)

    with pytest.raises(NoLocalAnswerError, match="."):
        asyncio.run(scene())
