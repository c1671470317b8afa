"""Limits the connections to a daemon: their number for each peer, and the time until the first request.

Owns the counts of one process, over all its listeners. Knows no sockets: callers provide the function that ends a connection.
A peer is a user of this host as the kernel names them (`user 1001`, at a port `user 1001 (TCP)`) or an address.
Called by `listener`.

A peer at its limit loses its oldest connection without a request, else the connection that has been idle for longest. A
peer with thousands of connections therefore still gets new connections, and an attacker at the address of a gateway does
not lock the gateway out. A connection whose request is being answered is never ended for a newer connection.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from itertools import chain

from daemons.runtime.log_throttle import LogThrottle

#: connections of one process, even if it may have more descriptors: each costs memory
MAX_CONNECTIONS = 8192
#: of so many descriptors one is reserved for the daemon's own files
_RESERVED = 4


def _do_nothing() -> None:
    """Ends a connection that has ended already."""


def _is_in_use() -> bool:
    """For a connection whose protocol does not report when it is idle."""
    return False


class Connection:
    """One connection of a peer. `abort`: ends it at once, in any state; `deadline`: ends it while it is `unused`, that is, before
    the first request. The listener sets `abort` and `deadline`. `is_idle`: whether all requests are answered, according to
    the protocol. `is_logged_in`: its requests are of a user who is logged in. `is_authenticated`: see
    `note_authenticated`."""

    def __init__(self, peer: str, limiter: ConnectionLimiter) -> None:
        self.peer = peer
        self.unused = True
        self.is_authenticated = self.is_logged_in = False
        self.is_idle: Callable[[], bool] = _is_in_use
        self.abort: Callable[[], object] = _do_nothing
        self.deadline: asyncio.TimerHandle | None = None
        self._limiter = limiter

    def note_request(self) -> None:
        """A request has arrived: from now on the deadline no longer applies."""
        self.unused = False
        self._limiter.note_use(self)
        if self.deadline is not None:
            self.deadline.cancel()

    def note_authenticated(self) -> None:
        """The peer has proven to belong to the cell. Its gateways count their users themselves, so its address is not counted."""
        self.note_request()
        self.is_authenticated = True
        self._limiter.move_to_authenticated(self)

    def note_closed(self) -> None:
        """The connection has ended. May be called again."""
        self.note_request()
        # the protocol behind these functions is large and refers to this object: garbage collection is rare
        self.abort, self.is_idle = _do_nothing, _is_in_use
        self._limiter.release(self)


class ConnectionLimiter:
    """The connections of one process. `max_connections`: the limit on their number, by default the number that the process
    has descriptors for."""

    def __init__(self, max_connections: int = 0, log_throttle: LogThrottle | None = None) -> None:
        self._max_connections = max_connections or max_by_descriptors()
        self._peers: dict[str, dict[Connection, None]] = {}  # by the time of the last request, or of the connection
        self._authenticated: set[Connection] = set()  # not counted for a peer
        self.count = 0
        self.log_throttle = log_throttle or LogThrottle()

    def acquire(self, peer: str, max_per_peer: int) -> Connection | None:
        """Admit another connection, if necessary in place of an unused connection; None when the limit is reached.

        `max_per_peer`: the limit of such a peer; a quarter of all connections if that is less.
        """
        if self.count_of_peer(peer) >= min(max_per_peer, max(1, self._max_connections // 4)) and not self._evict_unused(peer):
            self.log_throttle.note(peer, f"{peer} has {self.count_of_peer(peer)} connections and gets no more")
            return None
        if self.count >= self._max_connections and not self._evict_unused(max(self._peers, key=self.count_of_peer, default=peer)):
            self.log_throttle.note("", f"there are {self.count} connections: {peer} and others get none")
            return None
        connection = Connection(peer, self)
        self._peers.setdefault(peer, {})[connection] = None
        self.count += 1
        return connection

    def count_of_peer(self, peer: str) -> int:
        """Return the number of connections that are counted for a peer."""
        return len(self._peers.get(peer, ()))

    def note_use(self, connection: Connection) -> None:
        """A request has arrived: the connection is now the most recently used one of its peer."""
        if self._remove(connection):
            self._peers.setdefault(connection.peer, {})[connection] = None

    def move_to_authenticated(self, connection: Connection) -> None:
        """See `Connection.note_authenticated`."""
        if self._remove(connection):
            self._authenticated.add(connection)

    def release(self, connection: Connection) -> None:
        """See `Connection.note_closed`."""
        if self._remove(connection) or connection in self._authenticated:
            self._authenticated.discard(connection)
            self.count -= 1

    def _remove(self, connection: Connection) -> bool:
        connections = self._peers.get(connection.peer, {})
        if connection not in connections:
            return False
        del connections[connection]
        if not connections:
            del self._peers[connection.peer]
        return True

    def _evict_unused(self, peer: str) -> bool:
        """End the oldest connection of a peer without a request, else an idle connection, preferably without a login."""
        connections = self._peers.get(peer, {})
        unused = (each for each in connections if each.unused)
        idle = (each for login in (False, True) for each in connections if each.is_logged_in is login and each.is_idle())
        oldest = next(chain(unused, idle), None)
        if oldest is None:
            return False
        self.log_throttle.note(peer, f"{peer} has too many connections: the oldest unused ones are closed")
        self.release(oldest)
        oldest.abort()
        return True


def max_by_descriptors() -> int:
    """Return the number of connections that this process can have with enough descriptors left for its files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MAX_CONNECTIONS, soft - soft // _RESERVED)
