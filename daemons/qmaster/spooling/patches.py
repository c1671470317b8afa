"""Patches: the changes of each commit of the spool, for its replicas on other hosts.

Owns the recording of a commit (a patchset of SQLite's session extension), the recent patches in memory, and their encoding for
the transport. Patchsets contain only rows: they never create or alter tables. Called by `spool` within its commits,
by the sender (`serve.replication`) and by the replica (`shadow.replica`). Source: https://www.sqlite.org/sessionintro.html.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

import apsw

from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.spool_file import SpoolPosition
from gridengine.errors import CorruptDataError

MOST_BYTES = 64 * 2**20
"""Limit of patchsets in memory; a replica that is further behind is copied again as a whole."""
POSITION = "X-GE-Position"
"""Header of a request with patches: the incarnation of their replica; with a whole copy: `INCARNATION COMMIT`."""
_HEAD = struct.Struct(">QI")

Listener = Callable[[SpoolPosition, bytes], None]
"""(position after a commit, its patchset); the commit is on disk."""


class Patch(NamedTuple):
    """The change from one commit to the next, a `patchset` of SQLite. `number`: the number of the later commit."""

    number: int
    patchset: bytes


class MalformedFramesError(CorruptDataError):
    """The bytes are not encoded patches."""


@contextmanager
def record_transaction(db: apsw.Connection, listener: Listener) -> Iterator[None]:
    """Run a transaction; unless it fails or changes nothing, count it and report its patchset. Raises apsw.Error."""
    patchset = b""
    with spool_file.transaction(db):
        with closing(apsw.Session(db, "main")) as session:
            session.attach()
            yield
            if not session.is_empty:
                position = spool_file.count_commit(db)
                patchset = session.patchset()
    if patchset:
        listener(position, patchset)


class RecentPatches:
    """The last patches of a spool, in order, from `base` to `last`. `add`: listener of the spool; `added`: called after `add`."""

    def __init__(self, base: SpoolPosition, most_bytes: int = MOST_BYTES) -> None:
        self.base = self.last = base
        self.added: Callable[[], None] = lambda: None
        self._most_bytes, self._bytes = most_bytes, 0
        self._kept: deque[tuple[SpoolPosition, bytes]] = deque()

    def add(self, position: SpoolPosition, patchset: bytes) -> None:
        """Add the next patch. The newest patch is always kept, regardless of its size."""
        self._kept.append((position, patchset))
        self.last = position
        self._bytes += len(patchset)
        while self._bytes > self._most_bytes and len(self._kept) > 1:
            self.base, oldest = self._kept.popleft()
            self._bytes -= len(oldest)
        self.added()

    def after(self, position: SpoolPosition, most_bytes: int) -> tuple[SpoolPosition, list[Patch]] | None:
        """Patches to apply to a replica at this position, and the position after them: at most `most_bytes`, but at least
        one patch if any exists. None if the replica is not at one of these commits; then patches cannot update it."""
        skipped = position.commit - self.base.commit
        if not position.commit or not 0 <= skipped <= len(self._kept):
            return None
        if position != (self._kept[skipped - 1][0] if skipped else self.base):
            return None
        found: list[Patch] = []
        for index in range(skipped, len(self._kept)):
            following, patchset = self._kept[index]
            most_bytes -= len(patchset)
            if found and most_bytes < 0:
                break
            found.append(Patch(following.commit, patchset))
            position = following
        return position, found


def encode_frames(patches: Iterable[Patch]) -> bytes:
    """Patches as bytes. Each has 8 bytes commit number, 4 bytes length (big endian), patchset."""
    return b"".join(part for number, patchset in patches for part in (_HEAD.pack(number, len(patchset)), patchset))


def decode_frames(data: bytes) -> list[Patch]:
    """Decode patches. Raises MalformedFramesError, also for a truncated last patch."""
    found, offset = [], 0
    while offset < len(data):
        if len(data) - offset < _HEAD.size:
            raise MalformedFramesError("a frame is cut off within its head")
        number, length = _HEAD.unpack_from(data, offset)
        offset += _HEAD.size
        if len(data) - offset < length:
            raise MalformedFramesError(f"the frame of commit {number} is cut off")
        found.append(Patch(number, data[offset : offset + length]))
        offset += length
    return found
