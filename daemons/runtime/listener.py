"""A listener of a daemon: a listening socket whose connections are counted before anything is read from them.

Owns accepting, the identity of the peer (SO_PEERCRED of unix(7), the owner of the other end of a TCP connection within this
host, else its address), the timeout of the first request, and the reaction when descriptors run out. The protocol is the
caller's. Called by `http_listener` and the session server.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from ssl import SSLContext
from typing import Any

from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.socket_owner import socket_owner
from gridengine.addresses import ANY_6, canonical, family_of
from gridengine.files.unix_sockets import peer_credentials

_log = logging.getLogger(__name__)

#: seconds within which the first request must arrive on a new connection, TLS handshake included
FIRST_REQUEST_S = 10.0
#: connections that one address, or one user of this host, may have while they are not authenticated
MAX_PER_ADDRESS = 128
_BACKLOG = 512
#: connections accepted at a time, so that other tasks are served in between; seconds without accepting when descriptors run
#: out
_ACCEPTS_AT_ONCE, _PAUSE_S = 64, 1.0


class Listener:
    """Accepts connections at a socket. `protocol` makes the protocol of a connection, which calls `note_closed()` at its end.

    `tls`: a function is called for each connection. `max_per_peer`: connections of one peer.
    `refusal`: bytes sent to a refused connection before it is closed.
    """

    def __init__(
        self,
        limiter: ConnectionLimiter,
        listening_socket: socket.socket,
        protocol: Callable[[Connection], asyncio.BaseProtocol],
        max_per_peer: int,
        tls: SSLContext | Callable[[], SSLContext] | None = None,
        refusal: bytes = b"",
    ) -> None:
        self._limiter, self._socket, self._protocol = limiter, listening_socket, protocol
        self._max_per_peer, self._tls, self._refusal = max_per_peer, tls, refusal
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._handshakes: set[asyncio.Task[None]] = set()
        self._start_accepting()

    def close(self) -> None:
        """Accept no more connections; existing connections stay open."""
        self._loop.remove_reader(self._socket)
        if self._pause is not None:
            self._pause.cancel()
        for task in self._handshakes:
            task.cancel()
        self._socket.close()

    def _start_accepting(self) -> None:
        self._pause = None
        self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # out of descriptors: the connection stays in the queue, and accepting again at once would only spin
                self._limiter.log_throttle.note("accept", f"cannot accept connections for a while: {error.strerror}")
                self._loop.remove_reader(self._socket)
                self._pause = self._loop.call_later(_PAUSE_S, self._start_accepting)
                return
            self._admit(accepted)

    def _admit(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        try:
            connection = self._limiter.acquire(_peer_of(accepted), self._max_per_peer)
            if connection is None and self._refusal:
                accepted.send(self._refusal)
        except OSError:
            connection = None  # disconnected already
        if connection is None:
            accepted.close()
            return
        task = self._loop.create_task(self._shake_hands(accepted, connection))
        self._handshakes.add(task)
        task.add_done_callback(lambda task: self._finish_handshake(task, accepted, connection))
        connection.abort = lambda: _shut_down_socket(accepted)  # the handshake then fails: see there
        connection.deadline = self._loop.call_later(FIRST_REQUEST_S, lambda: connection.abort())

    async def _shake_hands(self, accepted: socket.socket, connection: Connection) -> None:
        tls = self._tls() if callable(self._tls) else self._tls
        options: dict[str, Any] = {"ssl": tls, "ssl_handshake_timeout": FIRST_REQUEST_S} if tls is not None else {}
        protocol = self._protocol(connection)
        transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, accepted, **options)
        connection.abort = transport.abort

    def _finish_handshake(self, task: asyncio.Task[None], accepted: socket.socket, connection: Connection) -> None:
        self._handshakes.discard(task)
        error = None if task.cancelled() else task.exception()
        if task.cancelled() or error is not None:
            connection.note_closed()
            accepted.close()
        if error is not None and not isinstance(error, OSError):  # OSError: no TLS, or disconnected already
            _log.error("a connection of %s could not be served", connection.peer, exc_info=error)
        if error is not None:
            # frames and error of a failed handshake refer to each other and to 256 KB of buffers, and garbage collection is rare
            traceback.clear_frames(error.__traceback__)


def _shut_down_socket(accepted: socket.socket) -> None:
    """End a connection during its handshake. Cancelling the task instead would lose its error: see `_finish_handshake`."""
    with suppress(OSError):  # disconnected already
        accepted.shutdown(socket.SHUT_RDWR)


def _peer_of(connection: socket.socket) -> str:
    """The peer for which a connection is counted. Users of this host are distinguished at ports as well: behind a tunnel or a
    proxy, and on the loopback address, all have one address. Raises OSError."""
    if connection.family == socket.AF_UNIX:
        return f"user {peer_credentials(connection).uid}"
    uid = socket_owner(connection)
    return f"user {uid} (TCP)" if uid is not None else canonical(connection.getpeername()[0])


def open_tcp_socket(address: str, port: int) -> socket.socket:
    """A socket for a port of one interface; `::` is all interfaces, for IPv4 too. Raises OSError."""
    is_dual = address == ANY_6 and socket.has_dualstack_ipv6()
    listening_socket = socket.create_server(
        (address, port), family=family_of(address), backlog=_BACKLOG, dualstack_ipv6=is_dual
    )
    listening_socket.setblocking(False)
    return listening_socket


def open_tcp_sockets(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """A socket for a port of each address. The first address must be of this host: others are names' addresses that this host
    may lack. Raises OSError."""
    found = [open_tcp_socket(addresses[0], port)]
    try:
        for address in addresses[1:]:
            try:
                found.append(open_tcp_socket(address, port))
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
    except OSError:
        for each in found:
            each.close()
        raise
    return found


def open_first_free(addresses: Sequence[str], ports: Sequence[int]) -> list[socket.socket]:
    """The same at the first of these ports that is free. Raises OSError, also where none is."""
    for port in ports[:-1]:
        try:
            return open_tcp_sockets(addresses, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return open_tcp_sockets(addresses, ports[-1])
