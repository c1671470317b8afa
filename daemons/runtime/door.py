"""A door of a daemon: a listening socket whose connections are counted before anything is read from them.

Owns accepting, who the peer is (SO_PEERCRED of unix(7), the owner of the other end of a TCP connection within this host, else
its address), the time for a first request, and what happens when descriptors run out. What is spoken behind it is the
protocol's. Called by `http_door` and the session server.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from ssl import SSLContext
from typing import Any

from daemons.runtime.connections import Connection, Room
from daemons.runtime.socket_owner import socket_owner

_log = logging.getLogger(__name__)

#: seconds in which a new connection must have said what it wants, TLS included
HEAD_S = 10.0
#: connections that one address, or one user of this host, may have before they have proven anything
ADDRESS_SHARE = 128
_BACKLOG = 512
#: connections taken at a time, so that others are served in between; seconds without accepting when descriptors run out
_AT_ONCE, _PAUSE_S = 64, 1.0
_CREDENTIALS = struct.Struct("3i")


class Door:
    """Takes connections from a listening socket. `protocol` makes what speaks with one; it calls `over()` at its end.

    `tls`: a function is asked for each connection. `share`: connections of one peer.
    `refusal`: bytes that a refused connection gets before it is closed.
    """

    def __init__(
        self,
        room: Room,
        listener: socket.socket,
        protocol: Callable[[Connection], asyncio.BaseProtocol],
        share: int,
        tls: SSLContext | Callable[[], SSLContext] | None = None,
        refusal: bytes = b"",
    ) -> None:
        self._room, self._listener, self._protocol = room, listener, protocol
        self._share, self._tls, self._refusal = share, tls, refusal
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._entering: set[asyncio.Task[None]] = set()
        self._open()

    def close(self) -> None:
        """Take no more connections; those that are there stay."""
        self._loop.remove_reader(self._listener)
        if self._pause is not None:
            self._pause.cancel()
        for task in self._entering:
            task.cancel()
        self._listener.close()

    def _open(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                taken, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # out of descriptors: the connection stays in the queue, and accepting at once again would only spin
                self._room.refusals.note("accept", f"cannot accept connections for a while: {error.strerror}")
                self._loop.remove_reader(self._listener)
                self._pause = self._loop.call_later(_PAUSE_S, self._open)
                return
            self._admit(taken)

    def _admit(self, taken: socket.socket) -> None:
        taken.setblocking(False)
        try:
            connection = self._room.enter(_peer(taken), self._share)
            if connection is None and self._refusal:
                taken.send(self._refusal)
        except OSError:
            connection = None  # gone already
        if connection is None:
            taken.close()
            return
        task = self._loop.create_task(self._let_in(taken, connection))
        self._entering.add(task)
        task.add_done_callback(lambda task: self._entered(task, taken, connection))
        connection.end = lambda: _hang_up(taken)  # and the handshake fails: see there
        connection.deadline = self._loop.call_later(HEAD_S, lambda: connection.end())

    async def _let_in(self, taken: socket.socket, connection: Connection) -> None:
        tls = self._tls() if callable(self._tls) else self._tls
        options: dict[str, Any] = {"ssl": tls, "ssl_handshake_timeout": HEAD_S} if tls is not None else {}
        protocol = self._protocol(connection)
        transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, taken, **options)
        connection.end = transport.abort

    def _entered(self, task: asyncio.Task[None], taken: socket.socket, connection: Connection) -> None:
        self._entering.discard(task)
        error = None if task.cancelled() else task.exception()
        if task.cancelled() or error is not None:
            connection.over()
            taken.close()
        if error is not None and not isinstance(error, OSError):  # of that kind: no TLS, or gone already
            _log.error("a connection of %s could not be served", connection.peer, exc_info=error)
        if error is not None:
            # frames and error of a failed handshake hold each other and 256 KB of buffers, and cycles are seldom looked for
            traceback.clear_frames(error.__traceback__)


def _hang_up(taken: socket.socket) -> None:
    """End a connection whose handshake goes on. To cancel it would leave its error to nobody: see `_entered`."""
    with suppress(OSError):  # gone already
        taken.shutdown(socket.SHUT_RDWR)


def _peer(connection: socket.socket) -> str:
    """Whose share a connection comes out of. Users of this host are told apart at ports as well: behind a tunnel or a proxy, and
    by the loopback address, all have one address. Raises OSError."""
    if connection.family == socket.AF_UNIX:
        return f"user {credentials(connection)[0]}"
    uid = socket_owner(connection)
    return f"user {uid} (TCP)" if uid is not None else str(connection.getpeername()[0])


def credentials(connection: socket.socket) -> tuple[int, int]:
    """User and group of the process at the other end of a Unix socket, as the kernel says. Source: unix(7) SO_PEERCRED."""
    _, uid, gid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return uid, gid


def unix_listener(path: Path) -> socket.socket:
    """A socket that every user of this host may connect to, in place of what was there. Raises OSError."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def tcp_listener(address: str, port: int) -> socket.socket:
    """A socket for a port of one interface. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, port), family=family, backlog=_BACKLOG)
    listener.setblocking(False)
    return listener
