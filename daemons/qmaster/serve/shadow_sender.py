"""The road of commits to one shadow: patches in the order of the spool, a whole copy where these do not lead on, keys beside it.

Owns one request at a time; what is committed meanwhile goes in the next. How far the shadow is it says itself. What that means
for others is `replication`'s, which makes and runs these. Source: adr/0146.
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
from daemons.qmaster.spooling.file_tree import read_tree
from daemons.qmaster.spooling.patches import POSITION, RecentPatches, encode_frames
from daemons.qmaster.spooling.spool_file import SpoolPosition

MOST_BYTES = 4 * 2**20
"""Patches of one request, if there are several."""
NOTHING = -1
"""How far a shadow is of which nothing is known."""
_BLOCK = 2**18
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_LOOK_S = 5.0
_OK, _OUT_OF_STEP = 200, 409

Post = Callable[[str, str, bytes | AsyncIterable[bytes], Mapping[str, str]], Awaitable[tuple[int, bytes]]]
"""(host, request, body, headers) -> HTTP status and answer. Raises when there is none; comes to an end by itself."""


class ShadowRefuses(Exception):
    """A shadow does not take what it is sent; the text says why."""


class ShadowSender:
    """`acked`: the commit up to which the shadow has everything on its disk; `complaint`: why it gets nothing now, "" if it does.

    `held()`: whether this host is the master; `progressed()` is called when the shadow has more. `authority`: the directory that
    a master needs beside its spool.
    """

    def __init__(
        self,
        host: str,
        patches: RecentPatches,
        spool: Path,
        post: Post,
        held: Callable[[], bool],
        progressed: Callable[[], None],
        authority: Path | None = None,
    ) -> None:
        self.host = host
        self.acked = NOTHING
        self.complaint = ""
        self._patches, self._spool, self._authority = patches, spool, authority
        self._post, self._held, self._progressed = post, held, progressed
        self._news = asyncio.Event()
        self._pause_s = _FIRST_PAUSE_S
        self._given = b""  # digest of the files that it has got
        self._looked_at = self._whole_at = -_LOOK_S

    def wake(self) -> None:
        """There is a commit more."""
        self._news.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            try:
                if self._held():
                    await self._bring_up()
                else:
                    await asyncio.sleep(_FIRST_PAUSE_S)
            except Exception as error:  # noqa: BLE001 - whatever it was: it is asked again where it is
                self.complaint = str(error).partition("\n")[0] or type(error).__name__
                self._given, self._looked_at = b"", -_LOOK_S
                await asyncio.sleep(self._pause_s)
                self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    async def _bring_up(self) -> None:
        """Bring it up and keep it so while this host is the master. Raises ShadowRefuses, SpoolError, OSError, and as `post`."""
        _, answer = await self._ask("position", b"", {})
        position = _position(answer)
        while self._held():
            await self._give_files()
            following = self._patches.after(position, MOST_BYTES)
            if following is None:
                self.acked = NOTHING
                position = await self._give_whole()
                continue
            self._note(position)
            reached, patches = following
            if not patches:
                await self._wait()
                continue
            header = {POSITION: str(position.incarnation)}
            status, answer = await self._ask("commits", encode_frames(patches), header)
            position = reached if status == _OK else self._elsewhere(position, answer)

    def _elsewhere(self, believed: SpoolPosition, answer: bytes) -> SpoolPosition:
        """Where it is, which is not where it was believed to be."""
        position = _position(answer)
        # what does not follow where it should follow is not the copy that it seems to be
        return position if position != believed else SpoolPosition()

    def _note(self, position: SpoolPosition) -> None:
        self.complaint, self._pause_s = "", _FIRST_PAUSE_S
        if position.commit != self.acked:
            self.acked = position.commit
            self._progressed()

    async def _wait(self) -> None:
        """For the next commit, or until it is time to look at the files."""
        self._news.clear()
        try:
            async with asyncio.timeout(_LOOK_S):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _ask(self, name: str, body: bytes | AsyncIterable[bytes], headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Raises ShadowRefuses for an answer that says neither yes nor where it is, and what `post` raises."""
        status, answer = await self._post(self.host, name, body, headers)
        if status not in (_OK, _OUT_OF_STEP):
            raise ShadowRefuses(f"{name}: {answer.decode(errors='replace') or f'HTTP {status}'}")
        return status, answer

    async def _give_whole(self) -> SpoolPosition:
        """Send all of the spool, as it is at one moment. Raises ShadowRefuses, SpoolError, OSError, what `post` raises."""
        clock = asyncio.get_running_loop().time
        if clock() < self._whole_at + _LOOK_S:
            raise ShadowRefuses("it wants the whole spool again and again")
        path = self._spool.with_name(f"copy-for-{self.host}.db")
        try:
            spool_file.remove(path)
            await asyncio.to_thread(spool_file.copy, self._spool, path)
            position = await asyncio.to_thread(spool_file.position, path)
            header = {POSITION: f"{position.incarnation} {position.commit}"}
            status, answer = await self._ask("copy", _blocks(path), header)
        finally:
            with suppress(OSError):
                spool_file.remove(path)
        if status != _OK:
            raise ShadowRefuses(f"its copy is at {tuple(_position(answer))}, which is further than {tuple(position)}")
        self._whole_at = clock()
        return _position(answer)

    async def _give_files(self) -> None:
        """Send the authority, if it is another one than before; looks at it now and then."""
        now = asyncio.get_running_loop().time()
        if self._authority is None or now < self._looked_at + _LOOK_S:
            return
        tree = await asyncio.to_thread(read_tree, self._authority)
        files = {f"{self._authority.name}/{name}": base64.b64encode(data).decode() for name, data in tree.items()}
        body = msgspec.json.encode(files, order="sorted")
        digest = hashlib.sha256(body).digest()
        if files and digest != self._given:
            await self._ask("files", body, {})
            self._given = digest
        self._looked_at = now


def _position(answer: bytes) -> SpoolPosition:
    """Raises ShadowRefuses."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any])
        return SpoolPosition(int(fields["incarnation"]), int(fields["commit"]))
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise ShadowRefuses("it does not say how far its copy is") from error


async def _blocks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while block := await asyncio.to_thread(file.read, _BLOCK):
            yield block
