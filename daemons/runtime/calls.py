"""Calls between two processes over one connection, where Ray does not carry them: bytes in, bytes out.

Owns the frames, a length and a message in msgpack. Either side calls the other; calls are answered in any order. Called by the
hosts of a rack and its node (adr/0270), and by the processes of a simulated cell (`bench/scale`).
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from gridengine.errors import UnavailableError

_HEAD = struct.Struct(">I")
_CALL, _ANSWER, _FAULT = 0, 1, 2
LARGEST, LARGEST_FIRST = 2**31, 2**16
"""Bytes of a frame: the script of a job (`max_submit_size`) fits; and of the first frames of a peer."""
SILENT_S = 4
"""A peer whose kernel has answered nothing for so many seconds is dead."""
_KEEPALIVE = (
    (socket.TCP_KEEPIDLE, SILENT_S // 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, SILENT_S // 2),
    (socket.TCP_USER_TIMEOUT, SILENT_S * 1000),
)  # fmt: skip

Handler = Callable[..., Awaitable[Any]]


class CallFailedError(UnavailableError):
    """The other side could not carry the call out, or is gone; its reason."""


def detect_silence(writer: asyncio.StreamWriter) -> None:
    """Have the kernel end a TCP connection whose other side is silent for `SILENT_S`. This wakes no process. Source: tcp(7)."""
    connection: Any = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, value in _KEEPALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


class Link:
    """A connection between two processes. The peer answers `call`; `handlers` (name -> function) answer the peer's calls.

    `largest`: bytes of a frame that is taken. `is_silent`: whether the connection has ended because the other side's machine did
    not answer.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handlers: Mapping[str, Handler]) -> None:
        self._reader, self._writer, self._handlers = reader, writer, handlers
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._at_work: set[asyncio.Task[None]] = set()
        self._ended = False
        self.largest = LARGEST
        self.is_silent = False

    async def call(self, name: str, *values: Any) -> Any:
        """Raises CallFailedError."""
        if self._ended:
            raise CallFailedError("the other side is gone")
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send((_CALL, number, name, values))
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    async def run(self) -> None:
        """Serve until the connection ends, or the other side breaks the rules of frames."""
        try:
            while True:
                (size,) = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
                if size > self.largest:
                    return
                self._take(msgspec.msgpack.decode(await self._reader.readexactly(size)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except OSError:  # no answer to the kernel's probes, or no route
            self.is_silent = True
        except (ValueError, TypeError):  # no frame of ours
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the connection at once; pending calls fail."""
        self._ended = True
        self._writer.transport.abort()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(CallFailedError("the other side is gone"))

    def _take(self, frame: list[Any]) -> None:
        kind, number, *rest = frame
        if kind == _CALL:
            task = asyncio.get_running_loop().create_task(self._carry_out(number, *rest))
            self._at_work.add(task)
            task.add_done_callback(self._at_work.discard)
            return
        future = self._waiting.get(number)
        if future is None or future.done():
            return  # the caller has given up
        if kind == _ANSWER:
            future.set_result(rest[0])
        else:
            future.set_exception(CallFailedError(str(rest[0])))

    async def _carry_out(self, number: int, name: str, values: list[Any]) -> None:
        try:
            self._send((_ANSWER, number, await self._handlers[name](*values)))
        except CallFailedError as fault:
            self._send((_FAULT, number, str(fault)))
        except Exception as error:  # noqa: BLE001 - the caller gets any error
            self._send((_FAULT, number, f"{type(error).__name__}: {error}"))

    def _send(self, frame: tuple[Any, ...]) -> None:
        data = msgspec.msgpack.encode(frame)
        self._writer.write(_HEAD.pack(len(data)) + data)
