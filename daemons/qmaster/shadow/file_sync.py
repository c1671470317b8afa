"""Keeps the files of the cell alike on all candidate hosts: a shadow requests from the master the files that its copy lacks.

Owns the request and the loop that sends it; the list of files belongs to `daemons.runtime.cell_copy`. Called by the participant.
Source: docs/adr/0173.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import aiohttp
import msgspec

from daemons.runtime.cell import Cell
from daemons.runtime.cell_copy import CellCopy, OfferedFiles
from daemons.runtime.peers import Peers, PeerUnreachableError

FILES = "cell_files"
"""The request: a `_State` as JSON; the answer has the new files, texts by name."""
_PAUSE_S = 2.0
_MOST_BYTES = 65536


class _State(msgspec.Struct):
    """See `CellCopy.state`."""

    files: dict[str, str]
    files_mark: str


class FileSync:
    """`is_leader()`: whether this host is the leader; `followed_leader()`: the other host that is, "" for none.

    `transition_lock`: held while this host becomes the leader, so that no late answer of an earlier master is written afterwards.
    """

    def __init__(
        self,
        cell: Cell,
        host: str,
        is_leader: Callable[[], bool],
        followed_leader: Callable[[], str],
        transition_lock: asyncio.Lock,
    ) -> None:
        self._is_leader, self._followed_leader, self._transition_lock = is_leader, followed_leader, transition_lock
        self._copy, self._offered_files = CellCopy(cell.common), OfferedFiles(cell.common, host)

    async def handle_request(self, _: str, _headers: Mapping[str, str], body: aiohttp.StreamReader) -> tuple[int, bytes]:
        """Answer a shadow: HTTP status and body. Only the master offers files."""
        if not self._is_leader():
            return 409, b"this host is not the master"
        try:
            data = await body.read(_MOST_BYTES)
            state = msgspec.json.decode(data, type=_State)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return 400, b"no state of a copy"
        return 200, msgspec.json.encode(await self._offered_files.select_files(state.files, state.files_mark))

    async def follow(self, peers: Peers) -> None:
        """Keep the files of this host equal to the files of the master that it follows, until cancelled."""
        while True:
            if master := self._followed_leader():
                try:
                    await self._fetch(peers, master)
                except (PeerUnreachableError, msgspec.DecodeError):
                    pass  # the next round tries again, and the voter notices a lost master
            await asyncio.sleep(_PAUSE_S)

    async def _fetch(self, peers: Peers, master: str) -> None:
        state = await asyncio.to_thread(self._copy.state)
        status, data = await peers.call(master, FILES, msgspec.json.encode(state))
        if status != 200 or not (offered := msgspec.json.decode(data)):
            return
        async with self._transition_lock:
            if self._followed_leader() == master:
                await asyncio.to_thread(self._copy.take, offered)
