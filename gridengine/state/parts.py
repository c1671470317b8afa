"""A state in parts: everything but the jobs, then the jobs in portions, each compressed separately.

Owns that form, which the spool uses for its snapshot and which mirrors receive. A reader has the state and one part in memory,
not a second copy of everything as text. Pure. Called by `daemons.qmaster.spooling` and `daemons.schedd`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from gridengine.state.apply import load_state
from gridengine.state.jobs import Job
from gridengine.state.state import State, decode_jobs, decode_snapshot, encode_part


def pack_state(state: State) -> bytes:
    """The first part: a state without its jobs."""
    return zlib.compress(state.snapshot(jobs=False), 1)


def pack_jobs(jobs: list[Job]) -> bytes:
    """A later part."""
    return zlib.compress(encode_part(jobs), 1)


class Assembly:
    """A state that is assembled from parts. Raises zlib.error and msgspec.DecodeError for an invalid part."""

    def __init__(self, first: bytes) -> None:
        self.state = State(decode_snapshot(zlib.decompress(first)))

    def add(self, parts: Iterable[bytes]) -> None:
        """Add parts with jobs."""
        for part in parts:
            self.state.add_jobs(decode_jobs(zlib.decompress(part)))

    def whole(self) -> State:
        """The state with all derived indexes; after this no parts are added."""
        return load_state(self.state)


def whole_state(parts: Sequence[bytes]) -> State:
    """A new state from all of its parts. Raises as `Assembly`."""
    assembly = Assembly(parts[0])
    assembly.add(parts[1:])
    return assembly.whole()
