"""Sends commits to one shadow: patches in the order of the spool, a whole copy where patches do not suffice, and keys.

Owns one request at a time; commits made meanwhile go into the next request. The shadow reports its own position. The
meaning of that position for other hosts belongs to `replication`, which creates and runs the senders. Source: adr/0146.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.patches import POSITION, RecentPatches, encode_frames
from daemons.qmaster.spooling.spool_file import SpoolPosition
from daemons.runtime.backoff import Backoff
from gridengine.errors import RefusalError
from gridengine.files.file_tree import read_tree

MOST_BYTES = 4 * 2**20
"""Maximum size of the patches in one request, unless it has only one patch."""
UNKNOWN_COMMIT = -1
"""Commit of a shadow whose position is unknown."""
_BLOCK = 2**18
_MIN_BACKOFF_S, _MAX_BACKOFF_S = 0.1, 2.0
CHECK_S = 5.0
_OK, _OUT_OF_STEP = 200, 409

Post = Callable[[str, str, bytes | AsyncIterable[bytes], Mapping[str, str]], Awaitable[tuple[int, bytes]]]
"""(host, request, body, headers) -> HTTP status and answer. Has its own timeout; raises if there is no answer."""


class ReplicaRefusedError(RefusalError):
    """A shadow has refused a request; the text is the reason."""


class ReplicaSender:
    """`acked`: the last commit that the shadow has on its disk; `last_error`: why sending fails at present, "" if it does not.

    `is_leader()`: whether this host is the leader; `on_progress()` is called when `acked` grows. `authority`: the directory that
    a master needs beside its spool.
    """

    def __init__(
        self,
        host: str,
        patches: RecentPatches,
        spool: Path,
        post: Post,
        is_leader: Callable[[], bool],
        on_progress: Callable[[], None],
        authority: Path | None = None,
    ) -> None:
        self.host = host
        self.acked = UNKNOWN_COMMIT
        self.last_error = ""
        self._patches, self._spool, self._authority = patches, spool, authority
        self._post, self._is_leader, self._on_progress = post, is_leader, on_progress
        self._news = asyncio.Event()
        self._backoff = Backoff(_MIN_BACKOFF_S, _MAX_BACKOFF_S)
        self._sent_digest = b""  # digest of the files that the shadow has
        self._checked_at = self._whole_at = -CHECK_S

    def wake(self) -> None:
        """Announce a new commit to the sender."""
        self._news.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            try:
                if self._is_leader():
                    await self._catch_up()
                else:
                    await asyncio.sleep(_MIN_BACKOFF_S)
            except Exception as error:  # noqa: BLE001 - after any error the position is requested again
                self.last_error = str(error).partition("\n")[0] or type(error).__name__
                self._sent_digest, self._checked_at = b"", -CHECK_S
                await asyncio.sleep(self._backoff.next_s())

    async def _catch_up(self) -> None:
        """Bring the shadow up to date, and keep it so while this host is the leader.

        Raises ReplicaRefusedError, SpoolError, OSError, and the exceptions of `post`.
        """
        _, answer = await self._request("position", b"", {})
        position = _position(answer)
        while self._is_leader():
            await self._send_files()
            following = self._patches.after(position, MOST_BYTES)
            if following is None:
                self.acked = UNKNOWN_COMMIT
                position = await self._send_whole()
                continue
            self._record_position(position)
            reached, patches = following
            if not patches:
                await self._wait()
                continue
            header = {POSITION: str(position.incarnation)}
            status, answer = await self._request("commits", encode_frames(patches), header)
            position = reached if status == _OK else self._corrected_position(position, answer)

    def _corrected_position(self, expected: SpoolPosition, answer: bytes) -> SpoolPosition:
        """The position of a shadow that differs from the expected position."""
        position = _position(answer)
        # patches that should fit and do not prove that the copy differs
        return position if position != expected else SpoolPosition()

    def _record_position(self, position: SpoolPosition) -> None:
        self.last_error = ""
        self._backoff.reset()
        if position.commit != self.acked:
            self.acked = position.commit
            self._on_progress()

    async def _wait(self) -> None:
        """Wait for the next commit, or until the files are due for a check."""
        self._news.clear()
        try:
            async with asyncio.timeout(CHECK_S):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _request(self, name: str, body: bytes | AsyncIterable[bytes], headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Raises ReplicaRefusedError for an answer with neither success nor a position, and the exceptions of `post`."""
        status, answer = await self._post(self.host, name, body, headers)
        if status not in (_OK, _OUT_OF_STEP):
            raise ReplicaRefusedError(f"{name}: {answer.decode(errors='replace') or f'HTTP {status}'}")
        return status, answer

    async def _send_whole(self) -> SpoolPosition:
        """Send a consistent copy of the whole spool. Raises ReplicaRefusedError, SpoolError, OSError, and the exceptions of
        `post`."""
        clock = asyncio.get_running_loop().time
        if clock() < self._whole_at + CHECK_S:
            raise ReplicaRefusedError("it requests the whole spool repeatedly")
        path = self._spool.with_name(f"copy-for-{self.host}.db")
        try:
            spool_file.remove(path)
            await asyncio.to_thread(spool_file.copy, self._spool, path)
            position = await asyncio.to_thread(spool_file.position, path)
            header = {POSITION: f"{position.incarnation} {position.commit}"}
            status, answer = await self._request("copy", _blocks(path), header)
        finally:
            with suppress(OSError):
                spool_file.remove(path)
        if status != _OK:
            raise ReplicaRefusedError(f"its copy is at {tuple(_position(answer))}, which is ahead of {tuple(position)}")
        self._whole_at = clock()
        return _position(answer)

    async def _send_files(self) -> None:
        """Send the authority if it has changed; checked every `CHECK_S`."""
        now = asyncio.get_running_loop().time()
        if self._authority is None or now < self._checked_at + CHECK_S:
            return
        tree = await asyncio.to_thread(read_tree, self._authority)
        files = {f"{self._authority.name}/{name}": base64.b64encode(data).decode() for name, data in tree.items()}
        body = msgspec.json.encode(files, order="sorted")
        digest = hashlib.sha256(body).digest()
        if files and digest != self._sent_digest:
            await self._request("files", body, {})
            self._sent_digest = digest
        self._checked_at = now


def _position(answer: bytes) -> SpoolPosition:
    """Raises ReplicaRefusedError."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any])
        return SpoolPosition(int(fields["incarnation"]), int(fields["commit"]))
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise ReplicaRefusedError("its answer has no position") from error


async def _blocks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while block := await asyncio.to_thread(file.read, _BLOCK):
            yield block
