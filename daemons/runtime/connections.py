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

from daemons.runtime.refusals import Refusals

#: connections of one process, however many descriptors it may have: each costs memory
MOST_IN_ALL = 8192
#: the part of the descriptors that is kept for the daemon's own files
_RESERVED = 4


def _nothing() -> None:
    """The end of a connection that has ended."""


def _busy() -> bool:
    """Of a connection whose protocol does not say when it is idle."""
    return False


class Connection:
    """One connection of a peer. `end`: ends it at once, whatever state it is in; `deadline`: ends it while it is `silent`, that
    is, until the peer has asked something. The door sets both. `idle`: whether all that was asked is answered, as the protocol
    says. `known`: its requests are of somebody who is logged in. `trusted`: see `vouched`."""

    def __init__(self, peer: str, room: Room) -> None:
        self.peer = peer
        self.silent = True
        self.trusted = self.known = False
        self.idle: Callable[[], bool] = _busy
        self.end: Callable[[], object] = _nothing
        self.deadline: asyncio.TimerHandle | None = None
        self._room = room

    def asked(self) -> None:
        """The peer has said what they want: from now on the connection lasts as long as that does."""
        self.silent = False
        self._room.note_use(self)
        if self.deadline is not None:
            self.deadline.cancel()

    def vouched(self) -> None:
        """The peer has proven to be of the cell, whose gateways count their users themselves: his address does not count."""
        self.asked()
        self.trusted = True
        self._room.trust(self)

    def over(self) -> None:
        """The connection has ended. May be called again."""
        self.asked()
        self.end, self.idle = _nothing, _busy  # what it belongs to is large, and refers to this: cycles are seldom looked for
        self._room.leave(self)


class Room:
    """The connections of one process. `in_all`: how many there may be, by default what its descriptors allow."""

    def __init__(self, in_all: int = 0, refusals: Refusals | None = None) -> None:
        self._in_all = in_all or most_by_descriptors()
        self._peers: dict[str, dict[Connection, None]] = {}  # in order of coming, or of the last request
        self._trusted: set[Connection] = set()  # these count for nobody
        self.count = 0
        self.refusals = refusals or Refusals()

    def enter(self, peer: str, share: int) -> Connection | None:
        """Room for one more, if need be of an older one that is not in use; None when there is none.

        `share`: how many a peer of this kind may have, if that is no more than a quarter of all.
        """
        if self.held_by(peer) >= min(share, max(1, self._in_all // 4)) and not self._make_way(peer):
            self.refusals.note(peer, f"{peer} has {self.held_by(peer)} connections and gets no more")
            return None
        if self.count >= self._in_all and not self._make_way(max(self._peers, key=self.held_by, default=peer)):
            self.refusals.note("", f"there are {self.count} connections: {peer} and others get none")
            return None
        connection = Connection(peer, self)
        self._peers.setdefault(peer, {})[connection] = None
        self.count += 1
        return connection

    def held_by(self, peer: str) -> int:
        """How many connections count for a peer."""
        return len(self._peers.get(peer, ()))

    def note_use(self, connection: Connection) -> None:
        """A request has come: among the idle ones of its peer it is the youngest."""
        if self._drop(connection):
            self._peers.setdefault(connection.peer, {})[connection] = None

    def trust(self, connection: Connection) -> None:
        """See `Connection.vouched`."""
        if self._drop(connection):
            self._trusted.add(connection)

    def leave(self, connection: Connection) -> None:
        """See `Connection.over`."""
        if self._drop(connection) or connection in self._trusted:
            self._trusted.discard(connection)
            self.count -= 1

    def _drop(self, connection: Connection) -> bool:
        held = self._peers.get(connection.peer, {})
        if connection not in held:
            return False
        del held[connection]
        if not held:
            del self._peers[connection.peer]
        return True

    def _make_way(self, peer: str) -> bool:
        """End the oldest connection of a peer that has not asked anything, else an idle one, rather without a login."""
        held = self._peers.get(peer, {})
        silent = (each for each in held if each.silent)
        idle = (each for known in (False, True) for each in held if each.known is known and each.idle())
        oldest = next(chain(silent, idle), None)
        if oldest is None:
            return False
        self.refusals.note(peer, f"{peer} has too many connections: the oldest unused ones are closed")
        self.leave(oldest)
        oldest.end()
        return True


def most_by_descriptors() -> int:
    """How many connections this process can have so that descriptors are left for its files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MOST_IN_ALL, soft - soft // _RESERVED)
