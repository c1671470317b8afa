"""Messages of the qmaster to its mirrors: the contract of the stream `mirror` (docs/gdi.md), a line of JSON each.

Owns the shapes of the lines, and the histograms of the qmaster's own work in each heartbeat. Written by
`daemons/qmaster/serve/mirrors`, read by the web server. Source: adr/0133.
"""

from __future__ import annotations

from bisect import bisect_left

import msgspec
from msgspec import Raw, Struct, field

HEARTBEAT_S = 1.0
"""Seconds between two heartbeats: a mirror that misses several of them is cut off from the qmaster."""

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of a histogram's buckets, in seconds; the last bucket, for all that took longer, has none."""


class Histogram(Struct):
    """Number of operations by duration. `counts`: of each single bucket; `seconds`: the sum of all durations."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    seconds: float = 0.0

    def note(self, seconds: float) -> None:
        """Count an operation of this duration; a negative duration, after a step of the clock, counts as 0."""
        seconds = max(0.0, seconds)
        self.counts[bisect_left(BUCKETS_S, seconds)] += 1
        self.seconds += seconds


class Measures(Struct):
    """Durations of the qmaster's own work since its start.

    `commit`: a write of transactions to disk. `cycle`: a run of the scheduler. `dispatch`: from the event that woke the scheduler
    until its orders are on disk.
    """

    commit: Histogram = field(default_factory=Histogram)
    cycle: Histogram = field(default_factory=Histogram)
    dispatch: Histogram = field(default_factory=Histogram)


class WholeState(Struct, tag=True, tag_field="line"):
    """The present `state` (`State.snapshot`): the first line. Later lines apply to it."""

    state: Raw


class Committed(Struct, tag=True, tag_field="line"):
    """A transaction that is on disk, of `user` on `host` ("" for the qmaster itself); `events` in the form of `encode_events`."""

    revision: int
    time: float
    user: str
    host: str
    events: Raw


class Heartbeat(Struct, tag="Beat", tag_field="line"):
    """All transactions until `time`, epoch s of the qmaster's clock, have been sent. `Beat` on the wire. `measures`: durations
    until now."""

    time: float
    measures: Measures


class NoMirror(Struct, tag=True, tag_field="line"):
    """There is no stream for this caller."""

    reason: str


Line = WholeState | Committed | Heartbeat | NoMirror
_decoder = msgspec.json.Decoder(Line)


def decode_line(data: bytes) -> Line:
    """One line of the stream. Raises msgspec.DecodeError."""
    line: Line = _decoder.decode(data)
    return line
