"""A state in parts: what is not a job, then the jobs, some to a part, each compressed for itself.

Owns that form, in which the spool keeps its snapshot and in which mirrors are given one. Who reads it has in memory the state
and one part, not a second copy of everything as text. Pure. Called by `daemons.qmaster.spooling` and `daemons.schedd`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from gridengine.state.apply import load_state
from gridengine.state.jobs import Job
from gridengine.state.state import State, decode_jobs, decode_snapshot, encode_jobs


def pack_state(state: State) -> bytes:
    """The first part: all of a state but its jobs."""
    return zlib.compress(state.snapshot(jobs=False), 1)


def pack_jobs(jobs: list[Job]) -> bytes:
    """A later part."""
    return zlib.compress(encode_jobs(jobs), 1)


class Assembly:
    """A state that is being put together. Raises zlib.error and msgspec.DecodeError for what is no part of one."""

    def __init__(self, first: bytes) -> None:
        self.state = State(decode_snapshot(zlib.decompress(first)))

    def add(self, parts: Iterable[bytes]) -> None:
        """Some of the jobs."""
        for part in parts:
            self.state.add_jobs(decode_jobs(zlib.decompress(part)))

    def whole(self) -> State:
        """The state with all that is derived from it; nothing is added any more."""
        return load_state(self.state)
