"""As `connection`, for asyncio: a kept connection, and streams on connections of their own. Called by `async_cell`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from gridengine.api import wire
from gridengine.api.connection import Patience
from gridengine.api.transport import ANSWER_S, RestTransport, Transport
from gridengine.api.wire import Answer, AnswerLost, RetryLaterError, Unreachable

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Headers = dict[bytes, bytes]
#: bytes of a line of an answer
_LONGEST = 2**26


class AsyncCellConnection:
    """As `CellConnection`. The tasks of one event loop take turns."""

    def __init__(self, transport: Transport, patience: float) -> None:
        self._transport, self._patience = transport, patience
        self._answered = False
        self._owner = os.getpid()
        self._lock = asyncio.Lock()
        self._kept: Streams | None = None

    async def close(self) -> None:
        """Close the connection; the next request opens a new connection."""
        async with self._lock:
            self._drop()

    async def ask(self, name: str, body: bytes, key: str) -> Answer:
        """As `CellConnection.ask`."""
        if self._owner != os.getpid():
            raise Unreachable("this process is a forked child: create a separate AsyncCell in it")
        async with self._lock:
            patience = Patience(self._patience, not self._answered)
            while True:
                kept = self._kept is not None
                try:
                    async with asyncio.timeout(ANSWER_S):
                        answer = await self._exchange(name, body, key)
                    self._answered = True
                    return answer
                except (RetryLaterError, AnswerLost, TimeoutError) as fault:
                    self._drop()
                    if not kept or not isinstance(fault, AnswerLost):
                        await asyncio.sleep(patience.pause_after(fault))
                except OSError as error:
                    self._drop()
                    await asyncio.sleep(patience.pause_after(self._unreachable(error), self._transport.may_come_back(error)))
                except BaseException:
                    self._drop()  # an answer may arrive that is no longer expected
                    raise

    async def stream(self, name: str, body: bytes) -> AsyncGenerator[Any, None]:
        """As `CellConnection.stream`, without a timeout: use `asyncio.timeout`."""
        patience = Patience(self._patience, not self._answered)
        while True:
            try:
                reader, writer = await self._open()
                break
            except OSError as error:
                await asyncio.sleep(patience.pause_after(self._unreachable(error), self._transport.may_come_back(error)))
        try:
            writer.write(self._transport.head(name, len(body), "", False) + body)
            status, reason, headers = await _read_head(reader)
            if status != 200:
                try:
                    self._transport.answer(name, status, reason, b"".join([piece async for piece in _pieces(reader, headers)]))
                except RetryLaterError as away:
                    raise AnswerLost(str(away) or "the qmaster is away") from None
            self._answered = True
            async for value in _values(name, reader, headers):
                yield value
        finally:
            writer.close()

    async def _exchange(self, name: str, body: bytes, key: str) -> Answer:
        if self._kept is None:
            self._kept = await self._open()
        reader, writer = self._kept
        writer.write(self._transport.head(name, len(body), key, True) + body)
        status, reason, headers = await _read_head(reader)
        text = b"".join([piece async for piece in _pieces(reader, headers)])
        if headers.get(b"connection", b"").lower() == b"close":
            self._drop()
        return self._transport.answer(name, status, reason, text)

    async def _open(self) -> Streams:
        """Raises OSError."""
        if isinstance(self._transport, RestTransport):
            context = self._transport.context()
            return await asyncio.open_connection(self._transport.host, self._transport.port, ssl=context, limit=_LONGEST)
        fault: OSError = FileNotFoundError()
        for path in self._transport.sockets:
            try:
                return await asyncio.open_unix_connection(path, limit=_LONGEST)
            except OSError as error:
                fault = fault if isinstance(error, FileNotFoundError) else error
        raise fault

    def _unreachable(self, error: OSError) -> Unreachable:
        return Unreachable(self._transport.explain_no_answer(error))

    def _drop(self) -> None:
        if self._kept is not None:
            self._kept[1].close()
            self._kept = None


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, str, Headers]:
    """As `wire.read_head`."""
    lines = [await _line(reader)]
    while line := await _line(reader):
        lines.append(line)
    return wire.parse_head(lines)


async def _pieces(reader: asyncio.StreamReader, headers: Headers) -> AsyncIterator[bytes]:
    """As `wire.pieces`."""
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        while size := int((await _line(reader)).partition(b";")[0], 16):
            yield await _take(reader, size)
            await _line(reader)
        while await _line(reader):
            pass  # trailers
    else:
        yield await _take(reader, int(headers.get(b"content-length", b"0")))


async def _values(name: str, reader: asyncio.StreamReader, headers: Headers) -> AsyncIterator[Any]:
    """As `wire.values`."""
    rest = b""
    async for piece in _pieces(reader, headers):
        *lines, rest = (rest + piece).split(b"\n")
        for value in wire.values(name, iter([line + b"\n" for line in lines])):
            yield value
    for value in wire.values(name, iter([rest])):
        yield value


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Raises AnswerLost."""
    try:
        return (await reader.readuntil(b"\n")).rstrip(b"\r\n")
    except (asyncio.IncompleteReadError, OSError):
        raise AnswerLost("the qmaster closed the connection before it had answered") from None


async def _take(reader: asyncio.StreamReader, size: int) -> bytes:
    """Raises AnswerLost."""
    try:
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, OSError):
        raise AnswerLost("the qmaster closed the connection before it had answered") from None
