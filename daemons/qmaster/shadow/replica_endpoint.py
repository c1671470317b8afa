"""Answers the requests of the master that updates this shadow's replica: its position, patches, a whole spool, other files.

Owns the formats on the wire. Acknowledges nothing to a host after this host has voted for another host: the other candidate
relies on the position that it was given with the vote. The transport belongs to the participant, the disk to `replica`.
Source: adr/0146.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from daemons.qmaster.shadow.replica import OutOfStepError, Replica
from daemons.qmaster.spooling.patches import POSITION, MalformedFramesError, decode_frames
from daemons.qmaster.spooling.spool_file import SpoolError, SpoolPosition
from gridengine.files.file_tree import replace_tree

_OK, _MALFORMED, _NOT_THE_MASTER, _OUT_OF_STEP, _FAILED = 200, 400, 403, 409, 500
_BLOCK = 2**20
_STALL_S = 10.0
TREES = frozenset({"authority"})
"""Directories beside the spool that a master needs."""

Response = tuple[int, bytes]
"""HTTP status, and JSON or a text for people."""


class Body(Protocol):
    """The body of a request, as in aiohttp."""

    def iter_any(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive. Raises if the body is cut off."""


class ReplicaEndpoint:
    """`granted_to()`: the host and the epoch of this host's vote, ("", 0) for none yet. `home`: the directory for the files
    beside the spool."""

    def __init__(self, replica: Replica, home: Path, granted_to: Callable[[], tuple[str, int]]) -> None:
        self._replica, self._home, self._granted_to = replica, home, granted_to
        self._lock = asyncio.Lock()

    @property
    def handlers(self) -> Mapping[str, Callable[[str, Mapping[str, str], Body], Awaitable[Response]]]:
        """Handlers by names of requests: (calling host, headers, body) -> status and answer."""
        by_name = {
            "position": self._report_position,
            "commits": self._apply_commits,
            "copy": self._receive_whole,
            "files": self._receive_files,
        }
        return {name: partial(self._answer, handler) for name, handler in by_name.items()}

    async def _answer(
        self,
        handler: Callable[[Mapping[str, str], Body], Awaitable[Response]],
        caller: str,
        headers: Mapping[str, str],
        body: Body,
    ) -> Response:
        if not self._follows(caller):
            return self._refusal()
        try:
            answer = await handler(headers, body)
        except OutOfStepError:
            answer = _OUT_OF_STEP, await self._encoded_position()
        except SpoolError as error:
            answer = _FAILED, str(error).encode()
        except TimeoutError:
            answer = _FAILED, b"the request has stalled"
        except OSError as error:
            answer = _FAILED, f"cannot write: {error.strerror}".encode()
        except (MalformedFramesError, msgspec.MsgspecError, ValueError) as error:
            answer = _MALFORMED, str(error).encode()
        # this host may have voted for another one during the write
        return answer if self._follows(caller) else self._refusal()

    def _follows(self, caller: str) -> bool:
        return self._granted_to()[0] in ("", caller)

    def _refusal(self) -> Response:
        return _NOT_THE_MASTER, f"this host follows {self._granted_to()[0]}".encode()

    async def _report_position(self, _headers: Mapping[str, str], _body: Body) -> Response:
        return _OK, await self._encoded_position()

    async def _encoded_position(self) -> bytes:
        """Raises SpoolError."""
        position = await asyncio.to_thread(self._replica.position)
        return msgspec.json.encode({**position._asdict(), "epoch": self._granted_to()[1]})

    async def _apply_commits(self, headers: Mapping[str, str], body: Body) -> Response:
        incarnation = int(headers.get(POSITION, "0").split()[0])
        patches = decode_frames(b"".join([chunk async for chunk in _chunks(body)]))
        reached = await asyncio.to_thread(self._replica.apply, incarnation, patches)
        return _OK, msgspec.json.encode({"commit": reached.commit})

    async def _receive_whole(self, headers: Mapping[str, str], body: Body) -> Response:
        """Write the body in blocks, in a thread: the event loop must answer vote requests meanwhile."""
        offered = SpoolPosition(*map(int, headers.get(POSITION, "0 0").split()))
        if offered < await asyncio.to_thread(self._replica.position):
            raise OutOfStepError("the replica is ahead")
        async with self._lock:
            draft = await asyncio.to_thread(self._replica.draft)
            await _write_body(draft, body)
            await asyncio.to_thread(self._replica.install, draft)
        return _OK, await self._encoded_position()

    async def _receive_files(self, _headers: Mapping[str, str], body: Body) -> Response:
        data = b"".join([chunk async for chunk in _chunks(body)])
        trees: dict[str, dict[str, bytes]] = {}
        for name, text in msgspec.json.decode(data, type=dict[str, str]).items():
            tree, _, path = name.partition("/")
            if tree not in TREES:
                raise ValueError(f'"{name}" is not for shadows')
            trees.setdefault(tree, {})[path] = base64.b64decode(text, validate=True)
        async with self._lock:
            for tree, files in trees.items():
                await asyncio.to_thread(replace_tree, self._home / tree, files)
        return _OK, b"{}"


async def _chunks(body: Body) -> AsyncIterator[bytes]:
    """Yield the chunks of a body. Raises TimeoutError after `_STALL_S` without a chunk: a dead master must not keep the lock."""
    chunks = body.iter_any()
    while True:
        try:
            async with asyncio.timeout(_STALL_S):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        yield chunk


async def _write_body(path: Path, body: Body) -> None:
    """Write a body durably to disk. Raises OSError, TimeoutError, and the exceptions of its reader."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb", buffering=0) as file:
        block = bytearray()
        async for chunk in _chunks(body):
            block += chunk
            if len(block) >= _BLOCK:
                await asyncio.to_thread(_write, file.fileno(), bytes(block))
                block.clear()
        await asyncio.to_thread(_write, file.fileno(), bytes(block))
        await asyncio.to_thread(os.fsync, file.fileno())


def _write(descriptor: int, data: bytes) -> None:
    """Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
