"""The connection of a program to its cell, and streams on connections of their own; one text for `Cell` and `AsyncCell`.

Owns the recovery between two requests: from a connection that was closed meanwhile, and a qmaster that is being restarted.
Every change has an idempotency key, so a repeated request is carried out once (adr/0143). The coroutines await nothing but
channels, so with blocking ones they never suspend (adr/0186). Called by `base_cell`.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from gridengine.api import wire
from gridengine.api.transport import Transport
from gridengine.api.wire import Answer, AnswerLost, AnswerParser, RetryLaterError, Unreachable

if TYPE_CHECKING:
    from typing import TypeAlias

    from gridengine.api.asyncio_channel import AsyncioChannel
    from gridengine.api.blocking_channel import BlockingChannel

    Channel: TypeAlias = BlockingChannel | AsyncioChannel

_PAUSE_S = 0.1
#: for how long the first request tries to connect if no socket exists
_ABSENT_S = 1.0


class _Patience:
    """The time for which a request is retried, from the first fault on. `first`: there was no answer yet."""

    def __init__(self, limit: float, first: bool) -> None:
        self._limit, self._first = limit, first
        self._first_fault_at = 0.0

    def pause_after(self, fault: Exception, is_present: bool = True) -> float:
        """Seconds to wait after a fault. `is_present`: the other end exists and may come back. Raises Unreachable."""
        now = time.monotonic()
        self._first_fault_at = self._first_fault_at or now
        limit = self._limit if is_present or not self._first else min(self._limit, _ABSENT_S)
        if now - self._first_fault_at >= limit:
            raise fault if isinstance(fault, Unreachable) else Unreachable(str(fault)) from None
        return _PAUSE_S


class CellConnection:
    """`patience`: seconds for which a request to a cell that does not answer is retried. One request at a time."""

    def __init__(self, transport: Transport, patience: float, channels: type[Channel]) -> None:
        self._transport, self.patience, self.sleep = transport, patience, channels.sleep
        self._open = channels.connect
        self._answered = False
        self._kept: Channel | None = None

    def close(self) -> None:
        """Close the connection; the next request opens a new connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    async def ask(self, name: str, body: bytes, key: str) -> Answer:
        """Send a request and return its answer. Raises Unreachable."""
        patience = _Patience(self.patience, not self._answered)
        while True:
            kept = self._kept is not None
            try:
                self._kept = self._kept or await self._connect(patience)
                answer = await self._exchange(self._kept, name, body, key)
                self._answered = True
                return answer
            except (RetryLaterError, AnswerLost) as fault:
                self.close()
                # a kept connection may have been closed long ago
                if not kept or isinstance(fault, RetryLaterError):
                    await self.sleep(patience.pause_after(fault))
            except BaseException:
                self.close()  # an answer may arrive that is no longer expected
                raise

    async def open_stream(self, name: str, body: bytes, timeout: float | None = None) -> AnswerStream:
        """Send a request whose answer is a stream. `timeout`: s to wait for each of its values, None: forever.

        Raises AnswerLost when it breaks: the caller opens the stream again.
        """
        channel = await self._connect(_Patience(self.patience, not self._answered))
        try:
            parser = await _read_head(channel, self._transport.head(name, len(body), "", False) + body)
            if parser.status != 200:
                try:
                    self._transport.answer(name, parser.status, parser.reason, await _read_body(channel, parser))
                except RetryLaterError as away:
                    raise AnswerLost(str(away) or "the qmaster is away") from None
            self._answered = True
        except BaseException:
            channel.close()
            raise
        channel.timeout = timeout
        return AnswerStream(name, channel, parser)

    async def _connect(self, patience: _Patience) -> Channel:
        while True:
            try:
                return await self._open(self._transport)
            except OSError as error:
                fault = Unreachable(self._transport.explain_no_answer(error))
                pause_s = patience.pause_after(fault, self._transport.may_come_back(error))
            await self.sleep(pause_s)

    async def _exchange(self, channel: Channel, name: str, body: bytes, key: str) -> Answer:
        parser = await _read_head(channel, self._transport.head(name, len(body), key, True) + body)
        text = await _read_body(channel, parser)
        if parser.headers.get(b"connection", b"").lower() == b"close":
            self.close()
        return self._transport.answer(name, parser.status, parser.reason, text)


async def _read_head(channel: Channel, request: bytes) -> AnswerParser:
    """Send a request; as `wire.read_head`."""
    await channel.send(request)
    parser = AnswerParser()
    while not parser.has_head:
        parser.feed(await channel.receive())
    return parser


async def _read_body(channel: Channel, parser: AnswerParser) -> bytes:
    """As `wire.read_body`."""
    while not parser.is_complete:
        parser.feed(await channel.receive())
    return parser.body()


class AnswerStream:
    """The values of an answer as they come."""

    def __init__(self, name: str, channel: Channel, parser: AnswerParser) -> None:
        self._name, self._channel, self._parser = name, channel, parser
        self._lines: deque[bytes] = deque()
        self.close = channel.close

    async def next_value(self) -> Any:
        """The next value, None at the end. Raises Unreachable."""
        while True:
            self._lines.extend(self._parser.lines())
            if self._lines:
                return wire.decode_value(self._name, self._lines.popleft())
            if self._parser.is_complete:
                return wire.check_end(self._name, self._parser)
            self._parser.feed(await self._channel.receive())
