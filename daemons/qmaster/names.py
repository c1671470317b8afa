"""Host names as the qmaster admits them: unique names out of aliases, the resolver, and a short memory.

Owns the only look-up of names that decisions depend on; handlers get it as `World.resolve_host`. Source: GC-5, HG-4.
"""

from __future__ import annotations

import socket
import time

from daemons.runtime.cell import Cell

REMEMBER_S = 60.0


class HostNames:
    """Resolves names; answers are remembered for a minute, refusals for a second."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._known: dict[str, tuple[float, str | None]] = {}

    def resolve(self, name: str) -> str | None:
        """Unique name of a host, None when nothing knows it. Names in host_aliases need no resolver."""
        now = time.monotonic()
        found = self._known.get(name)
        if found is not None and found[0] > now:
            return found[1]
        unique = self._look_up(name)
        self._known[name] = (now + (REMEMBER_S if unique else 1.0), unique)
        return unique

    def _look_up(self, name: str) -> str | None:
        unique = self._cell.unique_name(name)
        if unique in self._cell.aliases.values():
            return unique
        try:
            socket.getaddrinfo(name, None)
        except (OSError, UnicodeError):
            return None
        return unique
