"""Who may hold how many connections to a daemon, and for how long one may say nothing.

Owns the counts of one process, of all its doors together. Knows no sockets: what a connection is, and how it is ended,
comes in. A peer is a user of this host as the kernel names them (`user 1001`, at a port `user 1001 (TCP)`) or an address.
Called by `door`.

Peers with more connections than their share lose the oldest one on which nothing has been asked yet, else the one that has been
idle for longest: so one who opens thousands gets in again, and an attacker at the address of a gateway does not lock the gateway
out. One on which a request is being answered is never ended for a newer one.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from itertools import chain

from daemons.runtime.log_throttle import LogThrottle

#: connections of one process, however many descriptors it may have: each costs memory
MAX_CONNECTIONS = 8192
#: the part of the descriptors that is kept for the daemon's own files
_RESERVED = 4


def _do_nothing() -> None:
    """The end of a connection that has ended."""


def _is_in_use() -> bool:
    """Of a connection whose protocol does not say when it is idle."""
    return False


class Connection:
    """One connection of a peer. `abort`: ends it at once, whatever state it is in; `deadline`: ends it while it is `unused`, that
    is, until the peer has asked something. The door sets both. `is_idle`: whether all that was asked is answered, as the protocol
    says. `is_logged_in`: its requests are of somebody who is logged in. `is_authenticated`: see `note_authenticated`."""

    def __init__(self, peer: str, limiter: ConnectionLimiter) -> None:
        self.peer = peer
        self.unused = True
        self.is_authenticated = self.is_logged_in = False
        self.is_idle: Callable[[], bool] = _is_in_use
        self.abort: Callable[[], object] = _do_nothing
        self.deadline: asyncio.TimerHandle | None = None
        self._limiter = limiter

    def note_request(self) -> None:
        """The peer has said what they want: from now on the connection lasts as long as that does."""
        self.unused = False
        self._limiter.note_use(self)
        if self.deadline is not None:
            self.deadline.cancel()

    def note_authenticated(self) -> None:
        """The peer has proven to be of the cell, whose gateways count their users themselves: his address does not count."""
        self.note_request()
        self.is_authenticated = True
        self._limiter.move_to_authenticated(self)

    def note_closed(self) -> None:
        """The connection has ended. May be called again."""
        self.note_request()
        self.abort, self.is_idle = _do_nothing, _is_in_use  # what it belongs to is large, and refers to this: cycles are seldom looked for
        self._limiter.release(self)


class ConnectionLimiter:
    """The connections of one process. `max_connections`: how many there may be, by default what its descriptors allow."""

    def __init__(self, max_connections: int = 0, log_throttle: LogThrottle | None = None) -> None:
        self._max_connections = max_connections or max_by_descriptors()
        self._peers: dict[str, dict[Connection, None]] = {}  # in order of coming, or of the last request
        self._authenticated: set[Connection] = set()  # these count for nobody
        self.count = 0
        self.log_throttle = log_throttle or LogThrottle()

    def acquire(self, peer: str, max_per_peer: int) -> Connection | None:
        """Room for one more, if need be of an older one that is not in use; None when there is none.

        `max_per_peer`: how many a peer of this kind may have, if that is no more than a quarter of all.
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
        """How many connections count for a peer."""
        return len(self._peers.get(peer, ()))

    def note_use(self, connection: Connection) -> None:
        """A request has come: among the idle ones of its peer it is the youngest."""
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
        """End the oldest connection of a peer that has not asked anything, else an idle one, rather without a login."""
        connections = self._peers.get(peer, {})
        unused = (each for each in connections if each.unused)
        is_idle = (each for is_logged_in in (False, True) for each in connections if each.is_logged_in is is_logged_in and each.is_idle())
        oldest = next(chain(unused, is_idle), None)
        if oldest is None:
            return False
        self.log_throttle.note(peer, f"{peer} has too many connections: the oldest unused ones are closed")
        self.release(oldest)
        oldest.abort()
        return True


def max_by_descriptors() -> int:
    """How many connections this process can have so that descriptors are left for its files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MAX_CONNECTIONS, soft - soft // _RESERVED)
