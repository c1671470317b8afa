"""Mirrors: daemons that keep a copy of the state by its transactions, such as the web server.

Owns the request `mirror`, a stream of lines: the snapshot, then every transaction, and a heartbeat each second. One
encoding of a transaction serves all mirrors; a mirror that does not keep up is disconnected, and requests a new snapshot.
Source: adr/0133.
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
from daemons.qmaster.serve.requests.gdi_server import stream_line
from daemons.qmaster.spooling.spool import Transaction
from gridengine.protocols.gdi.requests import Caller
from gridengine.protocols.mirroring import Committed, Heartbeat, Line, Measures, NoMirror, WholeState
from gridengine.state.events import encode_events
from gridengine.state.volatile import volatile_events

_log = logging.getLogger(__name__)
MAX_BEHIND = 20_000
"""Lines that may wait for a mirror before it counts as lost."""
LAST = Raw(b"")

_encoder = msgspec.json.Encoder()


class Mirrors:
    """The connected mirrors. `durable()` returns when all decisions are announced."""

    def __init__(self, master: Master, measures: Measures, durable: Callable[[], Awaitable[None]]) -> None:
        self._master, self._measures, self._durable = master, measures, durable
        self._backlogs: dict[asyncio.Queue[Raw], int] = {}  # -> revision of the state that each started with
        master.subscribers.append(self.committed)

    def committed(self, transaction: Transaction) -> None:
        """Send a transaction. Without mirrors it is not even encoded."""
        if self._backlogs:
            events = Raw(encode_events(transaction.events))
            line = Committed(transaction.revision, transaction.time, transaction.user, transaction.host, events)
            self._send(line, transaction.revision)

    def send_heartbeat(self) -> None:
        """Confirm that all committed transactions have been sent; the service calls this every `BEAT_S`."""
        if self._backlogs:
            self._send(Heartbeat(self._master.world().now, self._measures), self._master.state.revision + 1)

    async def stream(self, request: web.BaseRequest, caller: Caller) -> web.StreamResponse:
        """Send the state and its changes, until either side ends it. Only daemons of the cell may request it."""
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        try:
            await response.prepare(request)
            if caller.daemon or caller.uid in (0, os.geteuid()):
                await self._send_lines(response)
            else:
                await stream_line(response, NoMirror("denied: only daemons may mirror the state"))
        except ConnectionError:
            pass
        return response

    async def _send_lines(self, response: web.StreamResponse) -> None:
        """Raises ConnectionError."""
        backlog = self.subscribe()
        try:
            await self._durable()
            while (line := await backlog.get()) is not LAST:
                await stream_line(response, line)
        finally:
            self._backlogs.pop(backlog, None)

    def subscribe(self) -> asyncio.Queue[Raw]:
        """The lines for a new mirror, the state first; `LAST` on a disconnect. To be sent once that state is announced."""
        backlog: asyncio.Queue[Raw] = asyncio.Queue()
        self._backlogs[backlog] = self._master.state.revision
        for first in self._state():
            backlog.put_nowait(_encoded(first))
        return backlog

    def _state(self) -> Iterator[Line]:
        """The snapshot, and the volatile state that it lacks, all of one moment."""
        state, now = self._master.state, self._master.world().now
        yield WholeState(Raw(state.snapshot()))
        yield Committed(state.revision, now, "", "", Raw(encode_events(volatile_events(state))))
        yield Heartbeat(now, self._measures)

    def _send(self, line: Line, revision: int) -> None:
        """Send a line to the mirrors that started before this revision."""
        encoded = _encoded(line)
        for backlog in [backlog for backlog, since in self._backlogs.items() if since < revision]:
            if backlog.qsize() < MAX_BEHIND:
                backlog.put_nowait(encoded)
                continue
            _log.warning("a mirror of the state does not keep up and is cut off")
            del self._backlogs[backlog]
            while not backlog.empty():
                backlog.get_nowait()
            backlog.put_nowait(LAST)


def _encoded(line: Line) -> Raw:
    return Raw(_encoder.encode(line))
