"""Host names as the qmaster admits them: unique names out of aliases, the resolver, and a bounded memory.

Owns the only look-up of names that decisions depend on; handlers get it as `World.resolve_host`. Decisions never wait:
a name that is not in the memory counts as unknown and is noted, and `settled` looks the noted names up in threads and has
the decision made again. A resolver that does not answer delays the request that named the host, and nobody else's.
Source: GC-5, HG-4.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from daemons.runtime.cell import Cell, is_address
from daemons.runtime.turns import Turns

#: seconds for which answers and refusals are remembered, and names that are remembered at most
REMEMBER_S, REFUSED_S, MOST_NAMES = 60.0, 1.0, 4096
#: seconds for which a request waits for its names; those that are not found by then count as unknown
PATIENCE_S = 5.0
#: look-ups at a time, of all and of one user; how many of a user may be due; how often a decision may come upon further names
_THREADS, _SHARE, _MOST_DUE, _ROUNDS = 16, 4, 64, 3
#: of a whole name: RFC 1035, 2.3.4
_LONGEST = 255

_Result = TypeVar("_Result")


class Settled(Protocol):
    """Calls what asks for names of hosts, and may do so again; see `HostNames.settled`."""

    async def __call__(self, decide: Callable[[], _Result], who: Hashable) -> _Result: ...


async def at_once(decide: Callable[[], _Result], who: Hashable) -> _Result:
    """For a world whose names are all known."""
    return decide()


class HostNames:
    """Resolves names, for one event loop. `exists`, and `named` for addresses: ask the resolver, in a thread.

    A host that is named by its address is the one whose name the resolver gives for it, as in 8.1.9; an address without a
    name is unknown.
    """

    def __init__(
        self, cell: Cell, exists: Callable[[str], bool] | None = None, named: Callable[[str], str] | None = None
    ) -> None:
        self._cell = cell
        self._aliased = frozenset(cell.aliases.values())
        self._exists = exists or _exists
        self._named = named or _named
        self._known: OrderedDict[str, tuple[float, str | None]] = OrderedDict()  # -> until when, unique name
        self._found: dict[str, str | None] = {}  # what the request that is decided on has waited for
        self._wanted: set[str] = set()
        self._due: dict[str, asyncio.Task[str | None]] = {}
        self._due_of: Counter[Hashable] = Counter()
        self._turns = Turns(_SHARE)
        self._threads = ThreadPoolExecutor(_THREADS, "names")

    def resolve(self, name: str) -> str | None:
        """Unique name of a host, None when nothing knows it, or nothing yet. Names in host_aliases need no resolver."""
        unique = self._cell.unique_name(name)
        if unique in self._aliased:
            return unique
        if name in self._found:
            return self._found[name]
        until, known = self._known.get(name, (0.0, None))
        if until > time.monotonic():
            self._known.move_to_end(name)
            return known
        self._wanted.add(name)
        return None

    async def settled(self, decide: Callable[[], _Result], who: Hashable) -> _Result:
        """What `decide` returns when the names that it asks for are known, or cannot be found out.

        It is called again until then, so it must not change anything. Its last call and what the caller does with the result
        are not interrupted. `who`: whose request it is.
        """
        found: dict[str, str | None] = {}
        for _ in range(_ROUNDS):
            result, wanted = self._attempt(decide, found)
            if not wanted:
                return result
            found |= await self._look_up(wanted, who)
        return self._attempt(decide, found)[0]

    def _attempt(self, decide: Callable[[], _Result], found: dict[str, str | None]) -> tuple[_Result, set[str]]:
        self._found, self._wanted = found, set()
        try:
            return decide(), self._wanted
        finally:
            self._found, self._wanted = {}, set()

    async def _look_up(self, names: Iterable[str], who: Hashable) -> dict[str, str | None]:
        due = {name: task for name in names if (task := self._task(name, who)) is not None}
        if due:
            await asyncio.wait(due.values(), timeout=PATIENCE_S)
        return dict.fromkeys(names) | {name: task.result() for name, task in due.items() if task.done()}

    def _task(self, name: str, who: Hashable) -> asyncio.Task[str | None] | None:
        """The look-up of a name, which others may be waiting for, too; None when there will be none."""
        if name not in self._due:
            if len(name) > _LONGEST or self._due_of[who] >= _MOST_DUE:
                return None
            self._due_of[who] += 1
            self._due[name] = asyncio.get_running_loop().create_task(self._ask(name, who))
        return self._due[name]

    async def _ask(self, name: str, who: Hashable) -> str | None:
        """Goes on when the request has given up: the thread cannot be stopped, and its user has a turn less until it ends."""
        try:
            async with self._turns.of(who):
                host = await asyncio.get_running_loop().run_in_executor(self._threads, self._host, name)
        finally:
            del self._due[name]
            self._due_of[who] -= 1
            if not self._due_of[who]:
                del self._due_of[who]
        unique = self._cell.unique_name(host) if host else None
        self._known[name] = time.monotonic() + (REMEMBER_S if host else REFUSED_S), unique
        self._known.move_to_end(name)
        if len(self._known) > MOST_NAMES:
            self._known.popitem(last=False)
        return unique


    def _host(self, name: str) -> str:
        """The name of the host that a name or an address means, "" for none. Blocks."""
        if is_address(name):
            return self._named(name)
        return name if self._exists(name) else ""


def _named(address: str) -> str:
    try:
        return socket.gethostbyaddr(address)[0]
    except (OSError, ValueError):
        return ""


def _exists(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except (OSError, ValueError):  # of the second kind: no name at all
        return False
    return True
