"""The mirror: the web server's copy of the state, updated by the transactions of the qmaster.

Owns the copy, its age, and the stream of updates. While the qmaster is unreachable, the copy stays as it was. After a
reconnection the mirror restarts with a snapshot. Source: adr/0133.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import aiohttp
import msgspec

from daemons.runtime.log_once import LogOnce
from daemons.runtime.qmaster_client import LocalCaller, NoQmasterError, QmasterClient
from gridengine.protocols.mirroring import HEARTBEAT_S, Committed, Heartbeat, Line, Measures, WholeState, decode_line
from gridengine.state.affected import Affected
from gridengine.state.apply import apply, load_state
from gridengine.state.events import AnyEvent, decode_events
from gridengine.state.machines.event import InvalidTransitionError
from gridengine.state.state import State, decode_snapshot

_log = logging.getLogger(__name__)
PATIENCE_S = 5 * HEARTBEAT_S
"""Seconds without a line after which the qmaster counts as unreachable."""
_PAUSE_S = 0.5


class MirroredChange(NamedTuple):
    """A transaction that was just applied, and what its events affected (`affected`).

    `whole`: the complete state was replaced; then `events` is empty.
    """

    revision: int
    time: float
    user: str
    host: str
    events: list[AnyEvent]
    affected: Affected
    whole: bool = False


class StateMirror:
    """`state` is empty until the first snapshot (`ready`). `connected`: the stream of the qmaster is up to date.

    `measures`: the last report of the qmaster. `followers` are called with each change, after it was applied.
    """

    def __init__(self) -> None:
        self.state = State()
        self.ready = self.connected = False
        self.measures = Measures()
        self.followers: list[Callable[[MirroredChange], None]] = []
        self._last_line_at = 0.0
        self._offset_s = 0.0

    @property
    def now(self) -> float:
        """The time of the copy, epoch s: by the qmaster's clock; it stands still while the qmaster is unreachable."""
        return (time.monotonic() if self.connected else self._last_line_at) + self._offset_s

    @property
    def age_s(self) -> float:
        """Seconds since the last line of the qmaster; 0 while connected."""
        return 0.0 if self.connected else time.monotonic() - self._last_line_at

    def take(self, data: bytes) -> None:
        """Apply one line of the stream. Raises ConnectionError for a line that does not fit the present state."""
        try:
            self._apply_line(decode_line(data))
        except (msgspec.DecodeError, InvalidTransitionError) as error:
            raise ConnectionError(f"the mirror is out of step: {error}") from error

    def _apply_line(self, line: Line) -> None:
        if isinstance(line, WholeState):
            self.state = load_state(State(decode_snapshot(line.state)))
        elif isinstance(line, Committed):
            self._apply(line)
        elif isinstance(line, Heartbeat):
            self.measures = line.measures
            self._set_clock(line.time)
        else:
            raise ConnectionError(line.reason)

    def _apply(self, line: Committed) -> None:
        state, affected, events = self.state, Affected(), decode_events(line.events)
        for event in events:
            affected.note(state, event)
            apply(state, event)
        state.revision = line.revision
        self._set_clock(line.time)
        first = not self.connected  # the line after a snapshot completes it
        self.ready = self.connected = True
        self._notify(MirroredChange(line.revision, line.time, line.user, line.host, [] if first else events, affected, first))

    def _set_clock(self, qmaster_time: float) -> None:
        self._last_line_at = time.monotonic()
        self._offset_s = qmaster_time - self._last_line_at

    def mark_disconnected(self) -> None:
        """Note that the qmaster is unreachable."""
        self.connected = False

    def _notify(self, change: MirroredChange) -> None:
        for follower in list(self.followers):
            follower(change)


async def follow(mirror: StateMirror, client: QmasterClient, own: LocalCaller) -> None:
    """Keep a mirror up to date until cancelled. `own`: the identity of this daemon."""
    logged, failures = LogOnce(), LogOnce()
    while True:
        try:
            async for line in _lines(client, own):
                mirror.take(line)
                logged.clear()
            reason = "the qmaster ended the stream"
        except (NoQmasterError, ConnectionError, aiohttp.ClientError, TimeoutError) as error:
            reason = str(error) or "the qmaster is silent"
        except Exception as error:  # noqa: BLE001 - after a bug in a follower, pages must not show an old state as live
            reason = f"{type(error).__name__}: {error}"
            if failures.is_new(reason):
                _log.exception("the mirror failed")
        mirror.mark_disconnected()
        if logged.is_new(reason):
            _log.warning("the mirror is disconnected: %s", reason)
        await asyncio.sleep(_PAUSE_S)


async def _lines(client: QmasterClient, own: LocalCaller) -> AsyncIterator[bytes]:
    """The lines of the stream, without a limit of their length. Raises NoQmasterError, ClientError, TimeoutError."""
    async with await client.post("/v1/mirror", b"{}", own) as response:
        parts: list[bytes] = []
        while True:
            async with asyncio.timeout(PATIENCE_S):
                data = await response.content.readany()
            if not data:
                return
            *lines, rest = data.split(b"\n")
            for line in lines:
                yield b"".join((*parts, line))
                parts.clear()
            parts.append(rest)
