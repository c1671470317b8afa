"""Host names in the qmaster: unique names by aliases, the resolver, and a bounded cache.

Owns the only look-up of names that decisions depend on; handlers get it as `World.resolve_host`. Decisions never wait:
a name that is not in the cache counts as unknown and is noted; `call_resolved` looks the noted names up in threads and repeats
the decision. A resolver that does not answer delays only the requests that name the host.
Source: GC-5, HG-4.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from daemons.runtime.cell import Cell
from daemons.runtime.per_user_limit import PerUserLimit
from gridengine.addresses import canonical

#: seconds for which known and unknown names are cached, and the largest number of cached names
REMEMBER_S, UNKNOWN_S, MAX_NAMES = 60.0, 1.0, 4096
#: seconds for which a request waits for its names; names that are not resolved by then count as unknown
PATIENCE_S = 5.0
#: look-ups at a time, of all and of one user; pending look-ups of a user; how often a decision is repeated for further names
_THREADS, MAX_OF_USER, MAX_LOOKUPS, _ROUNDS = 16, 4, 64, 3
#: characters of a name: RFC 1035, 2.3.4
_LONGEST = 255

_Result = TypeVar("_Result")


class HostNames:
    """Resolves names, for one event loop. `exists`, and `name_of_address` for addresses: query the resolver, in a thread.

    An address stands for the host whose name the resolver gives for it, as in 8.1.9; an address without a name is unknown.
    """

    def __init__(
        self, cell: Cell, exists: Callable[[str], bool] | None = None, name_of_address: Callable[[str], str] | None = None
    ) -> None:
        self._cell = cell
        self._aliased = frozenset(cell.aliases.values())
        self._exists = exists or _exists
        self._name_of_address = name_of_address or _name_of_address
        self._known: OrderedDict[str, tuple[float, str | None]] = OrderedDict()  # -> until when, unique name
        self._resolved: dict[str, str | None] = {}  # names that the current request has waited for
        self._missing: set[str] = set()
        self._lookups: dict[str, asyncio.Task[str | None]] = {}
        self._lookups_of: Counter[Hashable] = Counter()
        self._per_user_limit = PerUserLimit(MAX_OF_USER)
        self._threads = ThreadPoolExecutor(_THREADS, "names")

    def resolve(self, name: str) -> str | None:
        """Unique name of a host, None if it is unknown, or not resolved yet. Names in host_aliases need no resolver."""
        unique = self._cell.unique_name(name)
        if unique in self._aliased:
            return unique
        if name in self._resolved:
            return self._resolved[name]
        until, known = self._known.get(name, (0.0, None))
        if until > time.monotonic():
            self._known.move_to_end(name)
            return known
        self._missing.add(name)
        return None

    async def call_resolved(self, decide: Callable[[], _Result], user: Hashable) -> _Result:
        """The result of `decide` once the names that it uses are resolved, or cannot be.

        `decide` is repeated until then, so it must not change anything. There is no interruption between its last call and the
        use of the result by the caller. `user`: of the request.
        """
        resolved: dict[str, str | None] = {}
        for _ in range(_ROUNDS):
            result, missing = self._attempt(decide, resolved)
            if not missing:
                return result
            resolved |= await self._look_up(missing, user)
        return self._attempt(decide, resolved)[0]

    def _attempt(self, decide: Callable[[], _Result], resolved: dict[str, str | None]) -> tuple[_Result, set[str]]:
        self._resolved, self._missing = resolved, set()
        try:
            return decide(), self._missing
        finally:
            self._resolved, self._missing = {}, set()

    async def _look_up(self, names: Iterable[str], user: Hashable) -> dict[str, str | None]:
        lookups = {name: task for name in names if (task := self._lookup_of(name, user)) is not None}
        if lookups:
            await asyncio.wait(lookups.values(), timeout=PATIENCE_S)
        return dict.fromkeys(names) | {name: task.result() for name, task in lookups.items() if task.done()}

    def _lookup_of(self, name: str, user: Hashable) -> asyncio.Task[str | None] | None:
        """The look-up of a name, which other requests may share; None at the limits."""
        if name not in self._lookups:
            if len(name) > _LONGEST or self._lookups_of[user] >= MAX_LOOKUPS:
                return None
            self._lookups_of[user] += 1
            self._lookups[name] = asyncio.get_running_loop().create_task(self._resolve_in_thread(name, user))
        return self._lookups[name]

    async def _resolve_in_thread(self, name: str, user: Hashable) -> str | None:
        """Continues after the request has given up: the thread cannot be stopped, and counts for its user until it ends."""
        try:
            async with self._per_user_limit.of(user):
                host = await asyncio.get_running_loop().run_in_executor(self._threads, self._host, name)
        finally:
            del self._lookups[name]
            self._lookups_of[user] -= 1
            if not self._lookups_of[user]:
                del self._lookups_of[user]
        unique = self._cell.unique_name(host) if host else None
        self._known[name] = time.monotonic() + (REMEMBER_S if host else UNKNOWN_S), unique
        self._known.move_to_end(name)
        if len(self._known) > MAX_NAMES:
            self._known.popitem(last=False)
        return unique


    def _host(self, name: str) -> str:
        """The name of the host for a name or an address, "" for none. Blocks."""
        if address := canonical(name):
            return self._name_of_address(address)
        return name if self._exists(name) else ""


def _name_of_address(address: str) -> str:
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
