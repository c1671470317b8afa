"""The mirror: the web server's copy of the state, kept by what the qmaster commits.

Owns the copy, how old it is, and the stream that keeps it up to date. A qmaster that is away leaves the copy as it was; when it
is back, the mirror begins anew with a snapshot. Source: adr/0133.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import aiohttp
import msgspec

from daemons.runtime.qmaster_client import LocalCaller, NoQmaster, QmasterClient
from gridengine.mirroring import HEARTBEAT_S, Beat, Committed, Line, Measures, WholeState, decode_line
from gridengine.state.affected import Affected
from gridengine.state.apply import apply, load_state
from gridengine.state.events import AnyEvent, decode_events
from gridengine.state.machines.event import InvalidTransition
from gridengine.state.state import State, decode_snapshot

_log = logging.getLogger(__name__)
PATIENCE_S = 5 * HEARTBEAT_S
"""Seconds without a line after which the qmaster counts as away."""
_PAUSE_S = 0.5


class MirroredChange(NamedTuple):
    """A transaction that was just applied.

    `whole`: not one transaction, but everything may be another now; `events` is empty then.
    """

    revision: int
    time: float
    user: str
    host: str
    events: list[AnyEvent]
    affected: Affected
    whole: bool = False


class StateMirror:
    """`state` is empty until the first snapshot (`ready`). `connected`: it follows the qmaster at this moment.

    `measures`: the last that the qmaster told. `followers` are called with each change, after it was applied.
    """

    def __init__(self) -> None:
        self.state = State()
        self.ready = self.connected = False
        self.measures = Measures()
        self.followers: list[Callable[[MirroredChange], None]] = []
        self._told_at = 0.0
        self._offset_s = 0.0

    @property
    def now(self) -> float:
        """Epoch s of the moment that the copy shows: by the qmaster's clock, standing still while that is away."""
        return (time.monotonic() if self.connected else self._told_at) + self._offset_s

    @property
    def age_s(self) -> float:
        """Seconds since the qmaster last told something; 0 while it is there."""
        return 0.0 if self.connected else time.monotonic() - self._told_at

    def take(self, data: bytes) -> None:
        """Take one line of the stream. Raises ConnectionError for one that does not follow on what is here."""
        try:
            self._take(decode_line(data))
        except (msgspec.DecodeError, InvalidTransition) as error:
            raise ConnectionError(f"the mirror is out of step: {error}") from error

    def _take(self, line: Line) -> None:
        if isinstance(line, WholeState):
            self.state = load_state(State(decode_snapshot(line.state)))
        elif isinstance(line, Committed):
            self._apply(line)
        elif isinstance(line, Beat):
            self.measures = line.measures
            self._tick(line.time)
        else:
            raise ConnectionError(line.reason)

    def _apply(self, line: Committed) -> None:
        state, affected, events = self.state, Affected(), decode_events(line.events)
        for event in events:
            affected.note(state, event)
            apply(state, event)
        state.revision = line.revision
        self._tick(line.time)
        first = not self.connected  # what no snapshot has is in the line behind it, and makes it whole
        self.ready = self.connected = True
        self._tell(MirroredChange(line.revision, line.time, line.user, line.host, [] if first else events, affected, first))

    def _tick(self, qmaster_time: float) -> None:
        self._told_at = time.monotonic()
        self._offset_s = qmaster_time - self._told_at

    def lost(self) -> None:
        """Note that the qmaster is away."""
        self.connected = False

    def _tell(self, change: MirroredChange) -> None:
        for follower in list(self.followers):
            follower(change)


async def follow(mirror: StateMirror, client: QmasterClient, own: LocalCaller) -> None:
    """Keep a mirror up to date until cancelled. `own`: as whom this daemon asks."""
    said = ""
    while True:
        try:
            async for line in _lines(client, own):
                mirror.take(line)
                said = ""
            reason = "the qmaster ended the stream"
        except (NoQmaster, ConnectionError, aiohttp.ClientError, TimeoutError) as error:
            reason = str(error) or "the qmaster is silent"
        mirror.lost()
        if reason != said:
            _log.warning("the mirror does not follow: %s", reason)
            said = reason
        await asyncio.sleep(_PAUSE_S)


async def _lines(client: QmasterClient, own: LocalCaller) -> AsyncIterator[bytes]:
    """The lines of the stream, whatever their length. Raises NoQmaster, ClientError, TimeoutError."""
    async with await client.post("/v1/mirror", b"{}", own) as response:
        parts: list[bytes] = []
        while True:
            async with asyncio.timeout(PATIENCE_S):
                some = await response.content.readany()
            if not some:
                return
            *whole, rest = some.split(b"\n")
            for line in whole:
                yield b"".join((*parts, line))
                parts.clear()
            parts.append(rest)
