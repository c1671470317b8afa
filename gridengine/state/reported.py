"""What the reporting file has already of a task that runs on: long jobs have a record in it for each day.

Owns the shape, and the rule when another record is due. Pure. Source: sge_reporting(5) acct; RP-3; O for the minute.
"""

from __future__ import annotations

from msgspec import Struct

SHORTEST_S = 60.0
"""What began later than this before midnight is not worth a record of that day."""


class Reported(Struct, omit_defaults=True):
    """Usage that is in the file, all until `time` (epoch s): cpu s, mem GB s, io GB, iow s; maxvmem bytes."""

    time: float
    cpu: float = 0.0
    mem: float = 0.0
    io: float = 0.0
    iow: float = 0.0
    maxvmem: float = 0.0


def is_due(start_time: float, reported: Reported | None, midnight: float) -> bool:
    """Whether what runs since `start_time` is to be recorded for the day that ended at midnight (epoch s)."""
    last = reported.time if reported is not None else start_time
    return last < midnight and 0 < start_time <= midnight - SHORTEST_S
