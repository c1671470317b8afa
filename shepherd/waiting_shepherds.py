"""Shepherds that wait for their next task, in the launcher: which may wait, which are waiting, and which gets a task.

Owns the socket on which they report (docs/architecture.md section 5.1). A shepherd serves one owner alone, from its first
task to its last. The shepherd is a child of this launcher, which is how the launcher knows of its death; connections of
other processes are closed. Must not know files of tasks. Called by `launcher`; the other side is `next_task`. Source:
adr/0155.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gridengine.files.unix_sockets import peer_credentials, unix_listener
from shepherd.next_task import MESSAGE_BYTES, OVER, SOCKET

#: memory of a waiting shepherd that is not shared, bytes, and the share of the host's memory for all of them
_SIZE, _SHARE = 3 * 2**20, 0.01
_MIN_WAITING, _MAX_WAITING = 8, 128


def max_waiting() -> int:
    """Return the number of shepherds that may wait on this host; if there are more, the shepherd that has waited longest ends."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(_MIN_WAITING, min(int(memory * _SHARE / _SIZE), _MAX_WAITING))


class WaitingShepherds:
    """`on_task_end(pid)`: the task of this shepherd has ended, and its files are written. No method blocks."""

    def __init__(self, spool: Path, poll: select.epoll, on_task_end: Callable[[int], None]) -> None:
        self._path, self._poll, self._on_task_end, self._most = spool / SOCKET, poll, on_task_end, max_waiting()
        self._listener: socket.socket | None = None
        self._owners: dict[int, str] = {}  # shepherds that may wait when their task has ended
        self._reused: set[int] = set()  # shepherds whose task is not their first
        self._connections: dict[int, tuple[int, socket.socket]] = {}  # descriptor -> shepherd and connection
        self._waiting: dict[int, int] = {}  # shepherd -> descriptor, the longest waiting first

    def open(self) -> None:
        """Accept connections of shepherds. Raises OSError."""
        self._listener = unix_listener(self._path, 0o600, socket.SOCK_SEQPACKET)
        self._poll.register(self._listener, select.EPOLLIN)

    def close(self) -> None:
        """Close all connections: waiting shepherds end, and the other shepherds when their task has ended."""
        for descriptor in list(self._connections):
            self._drop(descriptor)
        if self._listener is not None:
            self._poll.unregister(self._listener)
            self._listener.close()
            self._listener = None
            self._path.unlink(missing_ok=True)

    def __contains__(self, descriptor: int) -> bool:
        return descriptor in self._connections or (self._listener is not None and descriptor == self._listener.fileno())

    def expect(self, pid: int, owner: str) -> None:
        """A shepherd that was just forked may wait for more tasks of this owner."""
        self._owners[pid] = owner

    def hand_over(self, directory: str, owner: str) -> int:
        """Assign a task of this owner to the shepherd that came last, and return its process id; 0: none waits."""
        for pid in reversed(self._waiting):
            if self._owners[pid] != owner:
                continue
            descriptor = self._waiting.pop(pid)
            try:
                self._connections[descriptor][1].send(directory.encode(errors="surrogateescape"))
            except OSError:  # the shepherd is about to end
                self._drop(descriptor)
                return self.hand_over(directory, owner)
            self._reused.add(pid)
            return pid
        return 0

    def ended(self, pid: int) -> str:
        """A shepherd is dead. Returns its owner if it was assigned a task here, which it may not have claimed; else ""."""
        for descriptor in [descriptor for descriptor, (of, _) in self._connections.items() if of == pid]:
            self._drop(descriptor)
        owner = self._owners.pop(pid, "")
        if pid not in self._reused:
            return ""
        self._reused.discard(pid)
        return owner

    def ready(self, descriptor: int) -> None:
        """One of the descriptors is readable."""
        if descriptor in self._connections:
            self._receive(descriptor)
        else:
            self._accept()

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            connection, _ = self._listener.accept()
        except OSError:  # the shepherd has left, or there is no descriptor for it
            return
        pid = peer_credentials(connection).pid
        if pid not in self._owners:
            connection.close()
            return
        connection.setblocking(False)
        self._connections[connection.fileno()] = pid, connection
        self._poll.register(connection, select.EPOLLIN)
        self._receive(connection.fileno())

    def _receive(self, descriptor: int) -> None:
        pid, connection = self._connections[descriptor]
        try:
            message = connection.recv(MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if message != OVER:
            self._drop(descriptor)
            return
        self._waiting.pop(pid, None)
        self._waiting[pid] = descriptor
        self._on_task_end(pid)
        if len(self._waiting) > self._most:
            self._drop(self._waiting[next(iter(self._waiting))])

    def _drop(self, descriptor: int) -> None:
        """Close a connection: the shepherd at its other end takes no more tasks."""
        pid, connection = self._connections.pop(descriptor)
        self._waiting.pop(pid, None)
        with suppress(OSError):
            self._poll.unregister(descriptor)
        connection.close()
