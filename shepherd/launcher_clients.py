"""The clients of the launcher: its Unix socket, requests in lines of JSON, and messages that a slow client has not read yet.

Owns the connections and their limits. Called by `launcher`, which answers the requests.
"""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Callable
from pathlib import Path

from gridengine.files.unix_sockets import unix_listener

_RECEIVE_BYTES = 65536
_LINE_LIMIT = 65536
_UNSENT_LIMIT = 4 * 2**20
Message = dict[str, object]


class _Connection:
    """One client: received bytes that are not a whole line yet, and bytes that are not sent yet."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.received = b""
        self.unsent = b""


class LauncherClients:
    """All clients; `len`: their number. `answer`: called with the line of a request. No method blocks."""

    def __init__(self, path: Path, poll: select.epoll, answer: Callable[[bytes], Message]) -> None:
        self._path, self._poll, self._answer = path, poll, answer
        self._connections: dict[int, _Connection] = {}
        self._listener: socket.socket | None = None

    def open(self) -> None:
        """Accept connections. Raises OSError."""
        self._listener = unix_listener(self._path, 0o600)
        self._poll.register(self._listener, select.EPOLLIN)

    def __len__(self) -> int:
        return len(self._connections)

    def __contains__(self, descriptor: int) -> bool:
        return descriptor in self._connections or (self._listener is not None and descriptor == self._listener.fileno())

    def ready(self, descriptor: int, events: int) -> None:
        """One of the descriptors is ready, as epoll(7) says."""
        if descriptor in self._connections:
            self._serve(self._connections[descriptor], events)
        else:
            self._accept()

    def notify(self, message: Message) -> None:
        """Send a message to all clients."""
        for connection in list(self._connections.values()):
            self._add(connection, message)

    def close(self) -> None:
        """Close all connections, and remove the socket."""
        for connection in list(self._connections.values()):
            self._close(connection)
        if self._listener is not None:
            self._poll.unregister(self._listener)
            self._listener.close()
            self._listener = None
            self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            sock, _ = self._listener.accept()
        except OSError:  # the client has left, or there is no descriptor for it
            return
        sock.setblocking(False)
        self._connections[sock.fileno()] = _Connection(sock)
        self._poll.register(sock, select.EPOLLIN)

    def _serve(self, connection: _Connection, events: int) -> None:
        if events & select.EPOLLOUT:
            self._send(connection)
        if not events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
            return
        try:
            data = connection.socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data or len(connection.received) > _LINE_LIMIT:
            self._close(connection)
            return
        *lines, connection.received = (connection.received + data).split(b"\n")
        for line in lines:
            self._add(connection, self._answer(line))

    def _add(self, connection: _Connection, message: Message) -> None:
        connection.unsent += json.dumps(message).encode() + b"\n"
        self._send(connection)
        if len(connection.unsent) > _UNSENT_LIMIT:
            self._close(connection)  # the client does not read; after its reconnection it requests the list

    def _send(self, connection: _Connection) -> None:
        if connection.socket.fileno() < 0:
            return
        try:
            sent = connection.socket.send(connection.unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._close(connection)
            return
        connection.unsent = connection.unsent[sent:]
        mask = select.EPOLLIN | (select.EPOLLOUT if connection.unsent else 0)
        self._poll.modify(connection.socket, mask)

    def _close(self, connection: _Connection) -> None:
        if connection.socket.fileno() < 0:
            return
        self._poll.unregister(connection.socket)
        del self._connections[connection.socket.fileno()]
        connection.socket.close()
