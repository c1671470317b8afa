"""The hosts that are connected to the node of a rack: batches pass through, and the qmaster learns who is connected.

Owns the table host -> connection, and the statement about it. Keeps no batch: a batch here is on its way (adr/0270). Knows
neither Ray nor sockets: calls and connections come in. Called by `rack_actor`; the simulation uses it.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from daemons.runtime.backoff import Backoff
from daemons.runtime.call_faults import describe_call_fault
from daemons.runtime.calls import CallFailedError
from daemons.runtime.log_once import LogOnce
from gridengine.protocols.racks import Place, Statement, encode

_log = logging.getLogger(__name__)

RETURN_S = 2.0
"""Time in which an execd that has died may connect again, or its supervisor say hello, before its host counts as lost."""
RESTATE_S = 10.0
"""Between two statements without news: a qmaster that has restarted learns from it which racks have a node."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0


class HostConnection(Protocol):
    """A connection to a host, as `calls.Link`."""

    is_silent: bool

    async def call(self, name: str, *values: Any) -> Any:
        """Raises CallFailedError."""

    def close(self) -> None:
        """End it at once."""


class Rack:
    """The node of a rack, by its `place`. `report(host, data)` passes reports to the qmaster; `state(data)` passes a statement,
    and returns whether this is the rack's node."""

    def __init__(
        self, place: Place, report: Callable[[str, bytes], Awaitable[bytes]], state: Callable[[bytes], Awaitable[bool]]
    ) -> None:
        self.place, self._report, self._state = place, report, state
        self._connections: dict[str, HostConnection] = {}
        self._expected: dict[str, asyncio.TimerHandle] = {}
        self._news, self._stated = asyncio.Event(), asyncio.Condition()
        self._version = self._stated_version = 0
        self._logged = LogOnce()

    # --- hosts ------------------------------------------------------------------------------------------------

    async def admit(self, host: str, token: str, connection: HostConnection) -> None:
        """Take a host's connection, which replaces an earlier connection; return when the qmaster knows.

        Raises CallFailedError.
        """
        if not hmac.compare_digest(token.encode(), self.place.token.encode()):
            raise CallFailedError("denied: the master has named another node of the rack")
        earlier = self._connections.get(host)
        self._connections[host] = connection
        if earlier is not None:
            earlier.close()
        if (timer := self._expected.pop(host, None)) is not None:
            timer.cancel()
        await self._make_known()

    def note_end(self, host: str, connection: HostConnection) -> None:
        """A connection has ended. A machine that was silent is dead; a daemon may be back in a moment."""
        if self._connections.get(host) is not connection:
            return
        del self._connections[host]
        if connection.is_silent:
            self._note_change()
        else:
            self._expected[host] = asyncio.get_running_loop().call_later(RETURN_S, self._give_up, host)

    def _give_up(self, host: str) -> None:
        self._expected.pop(host, None)
        self._note_change()

    async def call(self, host: str, name: str, *values: Any) -> Any:
        """Call a host. Raises LookupError (not connected), CallFailedError."""
        if host not in self._connections:
            raise LookupError("it is not connected to the node of its rack")
        return await self._connections[host].call(name, *values)

    async def report(self, host: str, data: bytes) -> bytes:
        """Pass reports of a host on; returns the verdicts. Raises CallFailedError."""
        try:
            return await self._report(host, data)
        except Exception as error:
            self._note_change()  # the next qmaster does not know this rack yet
            raise CallFailedError(describe_call_fault(error)) from error

    # --- the statement ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """State who is connected, at each change and from time to time, until the qmaster has named another node."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            self._news.clear()
            version, hosts = self._version, sorted(self._connections.keys() | self._expected.keys())
            try:
                if not await self._state(encode(Statement(self.place, hosts))):
                    _log.warning("another host is the node of rack %s now", self.place.rack)
                    return
            except Exception as error:  # noqa: BLE001 - any exception of Ray: the qmaster is down
                if self._logged.is_new(text := describe_call_fault(error)):
                    _log.warning("cannot report to the qmaster which hosts are connected: %s", text)
                await asyncio.sleep(backoff.next_s())
                continue
            backoff.reset()
            self._logged.clear()
            async with self._stated:
                self._stated_version = version
                self._stated.notify_all()
            try:
                async with asyncio.timeout(RESTATE_S):
                    await self._news.wait()
            except TimeoutError:
                continue

    def close(self) -> None:
        """End all connections."""
        for connection in list(self._connections.values()):
            connection.close()

    def _note_change(self) -> None:
        self._version += 1
        self._news.set()

    async def _make_known(self) -> None:
        """Return when a statement with the present hosts has been taken: else a report would come before it."""
        self._note_change()
        version = self._version
        async with self._stated:
            await self._stated.wait_for(lambda: self._stated_version >= version)
