"""Mirrors: daemons that keep a copy of the state by what is committed, such as the web server.

Owns the request `mirror`, a stream of lines: the snapshot, then every transaction, and a beat each second. One encoding of a
transaction serves all mirrors; one that does not keep up is cut off and comes again for a snapshot. Source: adr/0133.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator

import msgspec
from aiohttp import web
from msgspec import Raw

from daemons.qmaster.master import Master
from daemons.qmaster.serve.gdi_server import stream_line
from daemons.qmaster.spooling.spool import Transaction
from gridengine.gdi.requests import Caller
from gridengine.mirroring import Beat, Committed, Line, Measures, NoMirror, WholeState
from gridengine.state.events import encode_events
from gridengine.state.volatile import volatile_events

_log = logging.getLogger(__name__)
MAX_BEHIND = 20_000
"""Lines that may wait for a mirror before it counts as lost."""
LAST = Raw(b"")

_encoder = msgspec.json.Encoder()


class Mirrors:
    """Those who follow the state now. `durable()` returns when all that was decided is announced."""

    def __init__(self, master: Master, measures: Measures, durable: Callable[[], Awaitable[None]]) -> None:
        self._master, self._measures, self._durable = master, measures, durable
        self._behind: dict[asyncio.Queue[Raw], int] = {}  # with the revision of the state that each began with
        master.subscribers.append(self.committed)

    def committed(self, transaction: Transaction) -> None:
        """Pass a transaction on. Without mirrors it is not even encoded."""
        if self._behind:
            events = Raw(encode_events(transaction.events))
            told = Committed(transaction.revision, transaction.time, transaction.user, transaction.host, events)
            self._tell(told, transaction.revision)

    def beat(self) -> None:
        """Say that all which was committed has been told; the service calls this every `BEAT_S`."""
        if self._behind:
            self._tell(Beat(self._master.world().now, self._measures), self._master.state.revision + 1)

    async def stream(self, request: web.BaseRequest, caller: Caller) -> web.StreamResponse:
        """Send the state and what becomes of it, until either side ends it. Daemons of the cell alone may ask."""
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        try:
            await response.prepare(request)
            if caller.daemon or caller.uid in (0, os.geteuid()):
                await self._follow(response)
            else:
                await stream_line(response, NoMirror("denied: only daemons may mirror the state"))
        except ConnectionError:
            pass
        return response

    async def _follow(self, response: web.StreamResponse) -> None:
        """Raises ConnectionError."""
        behind = self.enter()
        try:
            await self._durable()
            while (line := await behind.get()) is not LAST:
                await stream_line(response, line)
        finally:
            self._behind.pop(behind, None)

    def enter(self) -> asyncio.Queue[Raw]:
        """The lines for a new mirror, the state first; `LAST` when it is cut off. To be sent once that state is announced."""
        behind: asyncio.Queue[Raw] = asyncio.Queue()
        self._behind[behind] = self._master.state.revision
        for first in self._state():
            behind.put_nowait(_encoded(first))
        return behind

    def _state(self) -> Iterator[Line]:
        """The snapshot, and what no snapshot has, all of one moment."""
        state, now = self._master.state, self._master.world().now
        yield WholeState(Raw(state.snapshot()))
        yield Committed(state.revision, now, "", "", Raw(encode_events(volatile_events(state))))
        yield Beat(now, self._measures)

    def _tell(self, line: Line, revision: int) -> None:
        """Pass a line on to those who began before this revision."""
        encoded = _encoded(line)
        for behind in [behind for behind, since in self._behind.items() if since < revision]:
            if behind.qsize() < MAX_BEHIND:
                behind.put_nowait(encoded)
                continue
            _log.warning("a mirror of the state does not keep up and is cut off")
            del self._behind[behind]
            while not behind.empty():
                behind.get_nowait()
            behind.put_nowait(LAST)


def _encoded(line: Line) -> Raw:
    return Raw(_encoder.encode(line))
