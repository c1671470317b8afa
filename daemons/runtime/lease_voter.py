"""The voter of a host: its vote record is on disk before a response is sent.

Owns the file `promise` and the responses to requests that arrive as bytes; the rules are in `protocols.lease`. Does not
decide which hosts may send requests: the listener authenticates its callers and passes their names. Called by the
participant of each candidate, and by sge_execd on a witness. Source: adr/0146.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from daemons.runtime.cell import CellError
from daemons.runtime.lease_file import boottime
from gridengine.files.durable import durable_write
from gridengine.protocols.lease import Voter, VoteRecord, VoteRequest, VoteResponse

VOTE_RECORD = "promise"
"""The request for the vote record of this host, open to any host of the cell; the answer is a `VoteRecord` as JSON."""
_MAX_BYTES = 65536
"""Maximum size of a vote request, which names a few hosts."""


def _no_position() -> tuple[int, int]:
    """The position of a host without a copy of the spool."""
    return 0, 0


class LeaseVoter:
    """The voter of this host, which responds to vote requests one at a time. `other`: the record file of this host's other
    role (witness or candidate); the host is one voter in both roles. Raises CellError, at the start, for a record that
    cannot be read: a voter without its record could help to elect a second master."""

    def __init__(self, path: Path, clock: Callable[[], float] = boottime, other: Path | None = None) -> None:
        self._path, self._other = path, other
        self._clock = clock
        self._lock = asyncio.Lock()
        self.load()

    def load(self) -> None:
        """Read the record from disk: the later one of both files. Called when this voter has its listener. Raises CellError."""
        read = [_read(path) for path in (self._path, self._other) if path]
        self._voter = Voter(max(read, key=lambda record: (record.epoch, record.version)), self._clock())

    @property
    def record(self) -> VoteRecord:
        """The current vote record."""
        return self._voter.record

    @property
    def grant_expired_s(self) -> float:
        """Seconds since the last grant expired; below 0 while a grant is in force."""
        return self._clock() - self._voter.granted_until

    async def answer_record_request(self, _caller: str, _headers: Mapping[str, str], _body: object) -> tuple[int, bytes]:
        """Answer with the vote record, for `serve_peers`; this grants nothing."""
        return 200, msgspec.json.encode(self.record)

    async def answer(self, body: bytes, position: Callable[[], tuple[int, int]] = _no_position, caller: str = "") -> bytes:
        """Return the response to a vote request; request and response are JSON. Malformed requests are refused, and so are
        requests whose grant cannot be written.

        `position()`: of this host's copy of the spool, (0, 0) without a copy; called in a thread, and only for a later
        epoch, so that no disk delays the renewal of a master. Raises the exceptions of `position`. `caller`: the host that
        sent the request, according to its certificate; "" if the listener has checked it.
        """
        # a caller that disconnects must not leave a record half written
        return msgspec.json.encode(await asyncio.shield(self._vote_in_order(body, position, caller)))

    async def _vote_in_order(self, body: bytes, position: Callable[[], tuple[int, int]], caller: str) -> VoteResponse:
        async with self._lock:
            return await self._vote(body, position, caller)

    async def _vote(self, body: bytes, position: Callable[[], tuple[int, int]], caller: str) -> VoteResponse:
        known = self._voter.record
        if len(body) > _MAX_BYTES:
            return _refusal(known, f"a vote request has at most {_MAX_BYTES} bytes, and this one {len(body)}")
        try:
            request = msgspec.json.decode(body, type=VoteRequest)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return _refusal(known, f"not a vote request: {error}")
        if caller and request.host != caller:
            return _refusal(known, f"{caller} requests votes for {request.host}: a host may do so for itself only")
        own_position = await asyncio.to_thread(position) if request.epoch > known.epoch else _no_position()
        vote = self._voter.answer(request, self._clock(), own_position)
        if self._voter.record != known:
            try:
                # a slow disk must not keep this host from renewing its own lease
                await asyncio.to_thread(durable_write, self._path, msgspec.json.encode(self._voter.record))
            except OSError as error:
                self._voter = Voter(known, self._clock())  # as after a restart: the record on disk is valid
                return _refusal(known, f"cannot write {self._path}: {error.strerror}")
        return vote


def _refusal(record: VoteRecord, reason: str) -> VoteResponse:
    return VoteResponse(False, record.epoch, record.holder, reason=reason)


def _read(path: Path) -> VoteRecord:
    """Return the record in a file, an empty record if there is no file. Raises CellError."""
    try:
        record = msgspec.json.decode(path.read_bytes(), type=VoteRecord)
    except FileNotFoundError:
        return VoteRecord()
    except OSError as error:
        raise CellError(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CellError(f"{path} is damaged ({error}): the votes of this host are not known") from error
    if not (record.epoch > 0 and record.holder):
        raise CellError(f"{path} is damaged (it has no epoch or holder): the votes of this host are not known")
    return record
