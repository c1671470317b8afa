"""Patches: what each commit of the spool has changed, so that copies on other hosts follow it.

Owns how a commit is recorded (a patchset of SQLite's session extension), the recent ones in memory, and how they look on the
way to another host. Patchsets carry rows alone: tables are never made or altered by them. Called by `spool` within its commits,
by the sender (`serve.replication`) and by the copy (`shadow.replica`). Source: https://www.sqlite.org/sessionintro.html.
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

MOST_BYTES = 64 * 2**20
"""Patchsets that are kept in memory: a copy that is further behind is made anew."""
POSITION = "X-GE-Position"
"""Header of a request with patches: the incarnation of the copy on which they follow; with a whole copy: `INCARNATION COMMIT`."""
_HEAD = struct.Struct(">QI")

Listener = Callable[[SpoolPosition, bytes], None]
"""(position after a commit, its patchset); the commit is on disk."""


class Patch(NamedTuple):
    """What leads from one commit to the next. `number`: that of the commit after it."""

    number: int
    patchset: bytes


class MalformedFrames(Exception):
    """Bytes that are no patches."""


@contextmanager
def recorded(db: apsw.Connection, listener: Listener) -> Iterator[None]:
    """A transaction that is counted and told of, unless it changes nothing or fails. Raises apsw.Error."""
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
    """The last patches of a spool, in order, that lead from `base` to `last`; `add` is the spool's listener, `added` another."""

    def __init__(self, base: SpoolPosition, most_bytes: int = MOST_BYTES) -> None:
        self.base = self.last = base
        self.added: Callable[[], None] = lambda: None
        self._most_bytes, self._bytes = most_bytes, 0
        self._kept: deque[tuple[SpoolPosition, bytes]] = deque()

    def add(self, position: SpoolPosition, patchset: bytes) -> None:
        """The next one. The newest is kept however large it is."""
        self._kept.append((position, patchset))
        self.last = position
        self._bytes += len(patchset)
        while self._bytes > self._most_bytes and len(self._kept) > 1:
            self.base, oldest = self._kept.popleft()
            self._bytes -= len(oldest)
        self.added()

    def after(self, position: SpoolPosition, most_bytes: int) -> tuple[SpoolPosition, list[Patch]] | None:
        """Patches that follow on a copy at this position, and where they lead; at least one, if there is any, and no more
        bytes otherwise. None if the copy is not one of these commits: then no patches make it one."""
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
    """Patches as bytes: of each 8 bytes commit number, 4 bytes length (big endian), patchset."""
    return b"".join(part for number, patchset in patches for part in (_HEAD.pack(number, len(patchset)), patchset))


def decode_frames(data: bytes) -> list[Patch]:
    """Raises MalformedFrames, also for a last one that is cut off."""
    found, place = [], 0
    while place < len(data):
        if len(data) - place < _HEAD.size:
            raise MalformedFrames("a frame is cut off within its head")
        number, length = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        if len(data) - place < length:
            raise MalformedFrames(f"the frame of commit {number} is cut off")
        found.append(Patch(number, data[place : place + length]))
        place += length
    return found
