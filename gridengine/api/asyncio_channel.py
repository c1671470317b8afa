"""The channel of `AsyncCell`: streams of asyncio. Called by `async_cell`; adr/0186."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gridengine.api import wire
from gridengine.api.transport import ANSWER_S, RestTransport, Transport

if TYPE_CHECKING:
    from typing import Self


class AsyncioChannel:
    """As `BlockingChannel`, for a single event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.timeout: float | None = ANSWER_S
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, transport: Transport) -> Self:
        """As `BlockingChannel.connect`."""
        if isinstance(transport, RestTransport):
            async with asyncio.timeout(ANSWER_S):
                return cls(*await asyncio.open_connection(transport.host, transport.port, ssl=transport.context()))
        fault: OSError = FileNotFoundError()
        for path in transport.sockets:
            try:
                return cls(*await asyncio.open_unix_connection(path))
            except OSError as error:
                fault = fault if isinstance(error, FileNotFoundError) else error
        raise fault

    async def send(self, data: bytes) -> None:
        """As `BlockingChannel.send`; an error is that of `receive`."""
        self._writer.write(data)

    async def receive(self) -> bytes:
        """As `BlockingChannel.receive`."""
        try:
            async with asyncio.timeout(self.timeout):
                return await self._reader.read(wire.RECEIVED_BYTES)
        except OSError as error:
            raise wire.answer_lost(error, self.timeout) from None

    def close(self) -> None:
        """As `BlockingChannel.close`."""
        self._writer.close()

    @staticmethod
    async def sleep(seconds: float) -> None:
        """As `BlockingChannel.sleep`."""
        await asyncio.sleep(seconds)
