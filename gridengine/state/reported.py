"""Usage of a running task that the reporting file contains already: long jobs have a record in it for each day.

Owns the shape, and the rule when another record is due. Pure. Source: sge_reporting(5) acct; RP-3; O for the minute.
"""

from __future__ import annotations

from msgspec import Struct

SHORTEST_S = 60.0
"""A task that began less than this before midnight gets no record for that day."""


class Reported(Struct, omit_defaults=True):
    """Usage that is in the file, all until `time` (epoch s): cpu s, mem GB s, io GB, iow s; maxvmem bytes."""

    time: float
    cpu: float = 0.0
    mem: float = 0.0
    io: float = 0.0
    iow: float = 0.0
    maxvmem: float = 0.0


def is_due(start_time: float, reported: Reported | None, midnight: float) -> bool:
    """Whether a task that runs since `start_time` needs a record for the day that ended at midnight (epoch s)."""
    last = reported.time if reported is not None else start_time
    return last < midnight and 0 < start_time <= midnight - SHORTEST_S
