"""Calls between the processes of a simulated cell, in the place of Ray's: bytes in, bytes out, over a Unix socket.

Owns the frames. Either side of a connection calls the other; calls are answered in any order.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

_HEAD = struct.Struct(">I")
_CALL, _ANSWER, _FAULT = 0, 1, 2

Handler = Callable[..., Awaitable[Any]]


class CallFailed(Exception):
    """The other side could not do it, or is gone; its reason."""


class Link:
    """A connection between two processes. The peer answers `call`; `handlers` (name -> function) answer the peer's calls."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handlers: Mapping[str, Handler]) -> None:
        self._reader, self._writer, self._handlers = reader, writer, handlers
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._at_work: set[asyncio.Task[None]] = set()

    async def call(self, name: str, *values: Any) -> Any:
        """Raises CallFailed."""
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send((_CALL, number, name, values))
        return await future

    async def run(self) -> None:
        """Serve until the other side is gone."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (size,) = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
                kind, number, *rest = msgspec.msgpack.decode(await self._reader.readexactly(size))
                if kind == _CALL:
                    task = asyncio.create_task(self._carry_out(number, *rest))
                    self._at_work.add(task)
                    task.add_done_callback(self._at_work.discard)
                elif kind == _ANSWER:
                    self._waiting.pop(number).set_result(rest[0])
                else:
                    self._waiting.pop(number).set_exception(CallFailed(rest[0]))
        for future in self._waiting.values():
            future.set_exception(CallFailed("the other side is gone"))
        self._waiting.clear()

    async def _carry_out(self, number: int, name: str, values: list[Any]) -> None:
        try:
            self._send((_ANSWER, number, await self._handlers[name](*values)))
        except Exception as error:  # noqa: BLE001 - the caller gets any error
            self._send((_FAULT, number, f"{type(error).__name__}: {error}"))

    def _send(self, frame: tuple[Any, ...]) -> None:
        data = msgspec.msgpack.encode(frame)
        self._writer.write(_HEAD.pack(len(data)) + data)


async def connect(path: str, name: str, handlers: Mapping[str, Handler]) -> Link:
    """A link to the qmaster's process, which knows this side by its name from then on. Waits for the socket."""
    while True:
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=2**26)
            break
        except (FileNotFoundError, ConnectionError):
            await asyncio.sleep(0.02)
    writer.write(f"{name}\n".encode())
    return Link(reader, writer, handlers)
