"""The voter of a host: what it promised is on disk before anybody is told.

Owns the promise file, and the answers to what comes in at the door as bytes; the rules are `gridengine.lease`'s. Must not decide
who may ask: the door knows its callers, and says who this one is. Called by the seat of each candidate and by sge_execd on a
host that is a witness. Source: adr/0146.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from daemons.runtime.cell import CellFault
from daemons.runtime.lease_file import boottime
from gridengine.lease import VoteRequest, VoteRecord, VoteResponse, Voter

VOTE_RECORD = "promise"
"""The request of any host of the cell for what this one has promised; the answer is a `VoteRecord` as JSON."""
_MAX_BYTES = 65536
"""Of an ask: names of a few hosts."""


def _no_position() -> tuple[int, int]:
    """The position of a host that has no copy of the spool."""
    return 0, 0


class LeaseVoter:
    """Answers asks, one at a time. `other`: where this host kept its promise in another role, as a witness or as one that may be
    the master; it is one voter in both. Raises CellFault, at the start, for a promise that cannot be read: a voter that had
    forgotten what it promised could help a second master into being."""

    def __init__(self, path: Path, clock: Callable[[], float] = boottime, other: Path | None = None) -> None:
        self._path, self._other = path, other
        self._clock = clock
        self._lock = asyncio.Lock()
        self.load()

    def load(self) -> None:
        """Begin with what is on disk: the later promise of both files. Called when the door is this voter's. Raises CellFault."""
        read = [_read(path) for path in (self._path, self._other) if path]
        self._voter = Voter(max(read, key=lambda record: (record.epoch, record.version)), self._clock())

    @property
    def record(self) -> VoteRecord:
        """What is promised now."""
        return self._voter.record

    @property
    def grant_expired_s(self) -> float:
        """For how many seconds nobody has had this voter's word; below 0 for how many somebody will still have it."""
        return self._clock() - self._voter.granted_until

    async def answer_record_request(self, _caller: str, _headers: Mapping[str, str], _body: object) -> tuple[int, bytes]:
        """What is promised, for `serve_peers`: nobody is bound by having said it."""
        return 200, msgspec.json.encode(self.record)

    async def answer(self, body: bytes, position: Callable[[], tuple[int, int]] = _no_position, caller: str = "") -> bytes:
        """The vote on an ask, both JSON; what is no ask, and what cannot be kept, is refused.

        `position()`: of this host's copy of the spool, (0, 0) without one; it is asked, in a thread, for a later epoch alone, so
        that no disk keeps a master from being confirmed. Raises what that raises. `caller`: the host that sent it, as its
        certificate says, "" if the door has looked at that.
        """
        # a caller that goes away must not leave a promise that is half kept
        return msgspec.json.encode(await asyncio.shield(self._vote_in_order(body, position, caller)))

    async def _vote_in_order(self, body: bytes, position: Callable[[], tuple[int, int]], caller: str) -> VoteResponse:
        async with self._lock:
            return await self._vote(body, position, caller)

    async def _vote(self, body: bytes, position: Callable[[], tuple[int, int]], caller: str) -> VoteResponse:
        known = self._voter.record
        if len(body) > _MAX_BYTES:
            return _refusal(known, f"an ask has at most {_MAX_BYTES} bytes, and this one {len(body)}")
        try:
            request = msgspec.json.decode(body, type=VoteRequest)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return _refusal(known, f"this is no ask: {error}")
        if caller and request.host != caller:
            return _refusal(known, f"{caller} asks for {request.host}: a host asks for itself alone")
        own_position = await asyncio.to_thread(position) if request.epoch > known.epoch else _no_position()
        vote = self._voter.answer(request, self._clock(), own_position)
        if self._voter.record != known:
            try:
                # a slow disk must not keep this host from renewing its own lease
                await asyncio.to_thread(_write, self._path, self._voter.record)
            except OSError as error:
                self._voter = Voter(known, self._clock())  # as after a restart: what the disk says is what holds
                return _refusal(known, f"cannot write {self._path}: {error.strerror}")
        return vote


def _refusal(record: VoteRecord, reason: str) -> VoteResponse:
    return VoteResponse(False, record.epoch, record.holder, reason=reason)


def _read(path: Path) -> VoteRecord:
    """What the file says; nothing is promised where there has been none. Raises CellFault."""
    try:
        record = msgspec.json.decode(path.read_bytes(), type=VoteRecord)
    except FileNotFoundError:
        return VoteRecord()
    except OSError as error:
        raise CellFault(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CellFault(f"{path} is damaged ({error}): what this host promised as a voter is not known") from error
    if not (record.epoch > 0 and record.holder):
        raise CellFault(f"{path} is damaged (it says no epoch and holder): what this host promised as a voter is not known")
    return record


def _write(path: Path, record: VoteRecord) -> None:
    """Write the file for the daemon alone, whole or not at all, and see that it stays. Raises OSError."""
    draft = path.with_name(f".{path.name}")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(msgspec.json.encode(record))
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
