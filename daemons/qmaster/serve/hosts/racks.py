"""The racks of the cell: which host is the node of each, and which hosts are connected to it.

Owns the choice of a rack's node and its fencing: only the statements of the last named node count. None of it is state: a
qmaster that restarts adopts the nodes that it finds. Knows no Ray. Called by the actor, for hellos, for statements of nodes and
by its watch over nodes. Source: adr/0270.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from daemons.runtime.log_once import LogOnce
from daemons.runtime.messages import about
from gridengine.cell_files import parse_racks
from gridengine.errors import InvalidValueError, plain_fault
from gridengine.protocols.gdi.requests import ExecdHello
from gridengine.protocols.racks import APART, Place, Statement
from gridengine.values.units import format_duration

_log = logging.getLogger(__name__)

GRACE_S = 30.0
"""Time in which a host that is apart has to be connected again, if its rack had no node or it says hello; then it is lost."""
HEARD_S = 5.0
"""A host that is apart and has said hello within this time is not dead."""
START_S, LONGEST_START_S = 45.0, 360.0
"""Time in which a host that was named has to be the node, else the next host is named; twice the time after each in vain."""
LOOKS_PER_S = 2
"""Calls of `alive` a second. Between them a node has to state something: its process may hang while its Ray node is alive. Looks
count, not seconds, since a qmaster that has stood still has taken no statements."""


@dataclass(slots=True)
class _Node:
    """The node of a rack. `joined`: whether its Ray node was there. `looks`: with its Ray node, since its last statement.
    `connected`: hosts by its last statement, `seen`: by any."""

    place: Place
    named_at: float
    joined: bool = False
    looks: int = 0
    connected: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)


class Racks:
    """The racks of one running qmaster. `path`: of the file `racks`; `clock`: seconds of a monotonic clock."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path, self._clock = path, clock
        self._rack_of: dict[str, str] = {}
        self._stamp: tuple[int, ...] = ()
        self._logged = LogOnce()
        self._nodes: dict[str, _Node] = {}
        self._members: set[str] = set()  # hosts behind a node; a host of an earlier release in a rack has a node of its own
        self._away_until: dict[str, float] = {}
        self._dead: dict[str, str] = {}  # rack -> the host that was its node, and whose own node is dead
        self._failures: dict[str, int] = {}
        self._hung: set[str] = set()  # racks whose hosts may still be connected to a node that hangs
        self._apart: dict[str, tuple[float, float]] = {}  # first and last hello of a host that is not connected
        self._begin = clock()
        self._ended: list[Place] = []
        self.read()

    def read(self) -> None:
        """Read the file if it has changed; a wrong file changes nothing, and is logged once. Blocks for a moment."""
        stamp: tuple[int, ...] = ()
        try:
            status = self._path.stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            racks = parse_racks(self._path.read_text(), self._path) if stamp != self._stamp else None
        except FileNotFoundError:
            racks = {}
        except (OSError, UnicodeDecodeError, InvalidValueError) as error:
            if self._logged.is_new(text := plain_fault(error)):
                _log.error("the racks stay as they were: %s", text)
            return
        if racks is not None:
            self._rack_of = {host: rack for rack, hosts in racks.items() for host in hosts}
        self._stamp = stamp
        self._logged.clear()

    # --- hosts ------------------------------------------------------------------------------------------------

    def place(self, hello: ExecdHello) -> Place | None:
        """The place of a host that says hello, None for a host with a node of its own. A place without a node: the host is
        connected to a node that this qmaster does not know yet."""
        host, rack = hello.host, self._rack_of.get(hello.host)
        if rack is None or not hello.rack:
            self._members.discard(host)
            return None
        self._members.add(host)
        if hello.rack == APART:
            now = self._clock()
            self._apart[host] = self._apart.get(host, (now, now))[0], now
        if rack not in self._nodes and (hello.rack == APART or rack in self._hung):
            self._hung.discard(rack)
            self._nodes[rack] = _Node(Place(rack, host, token_hex(16)), self._clock())
            _log.info("host %s becomes the node of rack %s", host, rack, extra=about("rack_node", rack=rack, host=host))
        return self._nodes[rack].place if rack in self._nodes else Place(rack, "", "")

    def is_member(self, host: str) -> bool:
        """Whether a host is behind the node of a rack."""
        return host in self._members

    def place_of(self, host: str) -> Place | None:
        """The place at which a host in a rack is connected, None while it is not."""
        node = self._nodes.get(self._rack_of.get(host, ""))
        return node.place if node is not None and host in node.connected else None

    # --- nodes ------------------------------------------------------------------------------------------------

    def state(self, statement: Statement) -> list[str] | None:
        """Take a statement. Returns the hosts that are newly connected; None if another host is the node."""
        place, now = statement.place, self._clock()
        if self._rack_of.get(place.node) != place.rack:
            self._ended.append(place)
            return None
        if place.rack not in self._nodes:
            self._nodes[place.rack] = _Node(place, now, joined=True)
            _log.info("host %s is the node of rack %s", place.node, place.rack)
        elif self._nodes[place.rack].place.token == place.token and not self._nodes[place.rack].place.port:
            self._log_takeover(place)
        node = self._nodes[place.rack]
        if node.place.token != place.token:
            self._ended.append(place)
            return None
        node.place, node.looks = place, 0
        fresh = sorted(set(statement.hosts) - node.connected)
        node.connected = {host for host in statement.hosts if self._rack_of.get(host) == place.rack}
        node.seen |= node.connected
        self._members |= node.connected
        for host in node.connected:
            self._apart.pop(host, None)
        self._failures.pop(place.rack, None)
        return fresh

    def _log_takeover(self, place: Place) -> None:
        if (until := self._away_until.get(place.rack)) is not None:
            after_s = round(self._clock() - until + GRACE_S, 1)
            taken, text = about("rack_node", rack=place.rack, host=place.node, after_s=after_s), format_duration(after_s)
            _log.warning("host %s is the node of rack %s now, after %s", place.node, place.rack, text, extra=taken)

    def alive(self, nodes: Collection[str]) -> set[str]:
        """The hosts that are presumed alive, by the hosts that have a live Ray node."""
        now = self._clock()
        for rack, node in list(self._nodes.items()):
            host, limit_s = node.place.node, min(START_S * 2 ** self._failures.get(rack, 0), LONGEST_START_S)
            node.joined = node.joined or host in nodes
            node.looks += node.joined
            if self._rack_of.get(host) != rack:
                self._end(rack, "it is in this rack no more")
            elif host not in nodes and node.joined:
                self._dead[rack] = host
                self._end(rack, "its node has ended")
            elif host not in nodes and now - node.named_at > limit_s:
                self._failures[rack] = self._failures.get(rack, 0) + 1
                self._end(rack, "it did not become the node in time")
            elif node.looks > limit_s * LOOKS_PER_S:
                self._failures[rack] = self._failures.get(rack, 0) + 1
                self._hung.add(rack)
                self._end(rack, "its process does not answer")
        own = {host for host in nodes if host not in self._members}
        return own | {host for host, rack in self._rack_of.items() if self._is_connected(host, rack, now)}

    def _is_connected(self, host: str, rack: str, now: float) -> bool:
        """Whether a host is connected, or may still be on its way to its node."""
        node = self._nodes.get(rack)
        if node is not None and host in node.connected:
            return True
        first, last = self._apart.get(host, (-math.inf, -math.inf))
        if now - last < HEARD_S and now - first < GRACE_S:
            return True
        was_seen = node is not None and host in node.seen
        return not was_seen and self._dead.get(rack) != host and now < self._away_until.get(rack, self._begin + GRACE_S)

    def _end(self, rack: str, reason: str) -> None:
        """The node of a rack is the node no more: the next host that says hello is."""
        place = self._nodes.pop(rack).place
        self._ended.append(place)
        self._away_until[rack] = self._clock() + GRACE_S
        lost = about("rack_node_lost", rack=rack, host=place.node)
        _log.warning("host %s is the node of rack %s no more: %s", place.node, rack, reason, extra=lost)

    def ended(self) -> list[Place]:
        """Nodes that are the node no more, each once: their actors are to be ended."""
        ended, self._ended = self._ended, []
        return ended
