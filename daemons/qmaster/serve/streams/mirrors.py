"""Mirrors: daemons that keep a copy of the state by its transactions, such as the web server.

Owns the request `mirror`, a stream of lines: the snapshot, then every transaction, and a heartbeat each second. One
encoding of a transaction serves all mirrors; a mirror that does not keep up is disconnected, and requests a new snapshot.
Source: adr/0133.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

import msgspec
from aiohttp import web
from msgspec import Raw

from daemons.qmaster.master import Master
from daemons.qmaster.serve.requests.gdi_server import send_lines
from daemons.qmaster.transaction import Transaction
from daemons.runtime.subscription import Subscription
from gridengine.protocols.gdi.requests import Caller
from gridengine.protocols.mirroring import Committed, Heartbeat, Line, Measures, NoMirror, WholeState
from gridengine.state.events import encode_events
from gridengine.state.volatile import volatile_events

_log = logging.getLogger(__name__)
MAX_BEHIND = 20_000
"""Lines that may wait for a mirror before it counts as lost."""

_encoder = msgspec.json.Encoder()


class Mirrors:
    """The connected mirrors. `durable()` returns when all decisions are announced."""

    def __init__(self, master: Master, measures: Measures, durable: Callable[[], Awaitable[None]]) -> None:
        self._master, self._measures, self._durable = master, measures, durable
        self._subscriptions: dict[Subscription[Raw], int] = {}  # -> revision of the state that each started with
        master.subscribers.append(self.committed)

    def committed(self, transaction: Transaction) -> None:
        """Send a transaction. Without mirrors it is not even encoded."""
        if self._subscriptions:
            events = Raw(encode_events(transaction.events))
            line = Committed(transaction.revision, transaction.time, transaction.user, transaction.host, events)
            self._send(line, transaction.revision)

    def send_heartbeat(self) -> None:
        """Confirm that all committed transactions have been sent; the service calls this every `HEARTBEAT_S`."""
        if self._subscriptions:
            self._send(Heartbeat(self._master.world().now, self._measures), self._master.state.revision + 1)

    async def stream(self, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        """Send the state and its changes, until either side ends it. Only daemons of the cell may request it."""
        return await send_lines(request, self._lines(caller))

    async def _lines(self, caller: Caller) -> AsyncGenerator[object, None]:
        if not (caller.daemon or caller.uid in (0, os.geteuid())):
            yield NoMirror("denied: only daemons may mirror the state")
            return
        subscription = self.subscribe()
        try:
            await self._durable()
            async for line in subscription:
                yield line
        finally:
            self._subscriptions.pop(subscription, None)

    def subscribe(self) -> Subscription[Raw]:
        """The lines for a new mirror, the state first. To be sent once that state is announced."""
        subscription: Subscription[Raw] = Subscription(MAX_BEHIND)
        self._subscriptions[subscription] = self._master.state.revision
        subscription.publish(*map(_encoded, self._state()))
        return subscription

    def _state(self) -> Iterator[Line]:
        """The snapshot, and the volatile state that it lacks, all of one moment."""
        state, now = self._master.state, self._master.world().now
        yield WholeState(Raw(state.snapshot()))
        yield Committed(state.revision, now, "", "", Raw(encode_events(volatile_events(state))))
        yield Heartbeat(now, self._measures)

    def _send(self, line: Line, revision: int) -> None:
        """Send a line to the mirrors that started before this revision."""
        encoded = _encoded(line)
        for subscription in [each for each, since in self._subscriptions.items() if since < revision]:
            if not subscription.publish(encoded):
                _log.warning("a mirror of the state does not keep up and is cut off")
                del self._subscriptions[subscription]
                subscription.close(discard=True)


def _encoded(line: Line) -> Raw:
    return Raw(_encoder.encode(line))
