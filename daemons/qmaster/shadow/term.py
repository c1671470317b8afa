"""One term of office: this host is the master for as long as a majority of voters says so again and again.

Owns the asking: every voter is asked once a second, each on its own, so that one that is slow or gone keeps no other waiting; and
the number in `run_dir/lease` that the qmaster looks at before it answers. What may be granted is `gridengine.lease`'s to know.
Called by the seat. Source: docs/adr/0146.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec

from daemons.qmaster.serve.leader_link import AgreementError
from daemons.runtime.lease_file import LeaseFile, boottime
from daemons.runtime.peers import PeerAway
from gridengine.lease import RENEW_S, VoteRequest, Lease, VoterSets, VoteResponse

_log = logging.getLogger(__name__)

#: asks a voter: (voter, encoded Ask) -> encoded Vote. Raises PeerAway.
SendVoteRequest = Callable[[str, bytes], Awaitable[bytes]]
_AGREE_S, _POLL_S = 5.0, 0.05
_CANDIDACY_ID_BYTES = 8
#: of asks under a later epoch: one to be granted it, one to have the list of hosts in sync taken over, one to spare
_ROUNDS = 3


class LeaderTerm:
    """The right of `host` to be the master. `position`: how far this host's spool is."""

    def __init__(
        self, host: str, epoch: int, sets: VoterSets, send_vote_request: SendVoteRequest, file: LeaseFile, position: Callable[[], tuple[int, int]]
    ) -> None:
        self.lease = Lease(host, epoch, sets, secrets.token_hex(_CANDIDACY_ID_BYTES))
        self.failures: dict[str, str] = {}  # voters that do not answer or refuse, and why
        self._host, self._position = host, position
        self._campaign_position = (0, 0)  # where it was when it last asked for an epoch
        self._send_vote_request, self._file = send_vote_request, file
        self._in_sync: tuple[str, ...] = (host,)
        self._sets = sets
        self._observers: frozenset[str] = frozenset()
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._news = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        """Whether this host is the master at this moment."""
        return boottime() < self.lease.valid_until()

    async def campaign(self, force: bool = False, patience_s: float = 2.0) -> bool:
        """Ask all voters once; whether a majority says yes. What was granted in vain is given back."""
        self._campaign_position = await asyncio.to_thread(self._position)
        request = self._make_request(self.lease, force=force)
        asked = [asyncio.ensure_future(self._request_once(self.lease, voter, request)) for voter in self.lease.voters]
        try:
            async with asyncio.timeout(patience_s):
                for answered in asyncio.as_completed(asked):
                    await answered
                    if self.is_leader:
                        return True
        except TimeoutError:
            pass
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        await self.release_lease()
        return False

    async def keep_renewing(self, observers: Callable[[], Collection[str]] = tuple) -> None:
        """Renew until the lease is lost. `observers()`: hosts that are asked, too, though they do not count."""
        try:
            while self.is_leader:
                if self.lease.superseded_by:
                    await self._move_to_later_epoch()
                self._observers = frozenset(observers())
                asked = self.lease.voters | self._observers
                for voter in asked - self._loops.keys():
                    self._loops[voter] = asyncio.create_task(self._renew_at(voter))
                for voter in self._loops.keys() - asked:
                    self._loops.pop(voter).cancel()
                    self.failures.pop(voter, None)
                self._file.extend(self.lease.valid_until(), self.lease.epoch)
                await self._wait(min(RENEW_S, max(0.0, self.lease.valid_until() - boottime())))
        finally:
            self._file.extend(-math.inf, 0)
            await self._end_loops()

    async def agree(self, in_sync: Sequence[str], sets: VoterSets) -> None:
        """Return when a majority of the voters knows who is in sync, and `sets` are the voters that count. Raises NotAgreed."""
        self._in_sync, self._sets = tuple(sorted({self._host, *in_sync})), sets
        self.lease.change_voters(sets)
        await self._end_loops()  # each voter is asked at once, a new one, too
        end = boottime() + _AGREE_S
        while self.lease.agreed_hosts() != self._in_sync or self.lease.sets != sets:
            if boottime() > end:
                raise AgreementError("; ".join(f"{voter}: {why}" for voter, why in sorted(self.failures.items())) or "no majority")
            await self._wait(_POLL_S)

    def successors(self) -> list[str]:
        """The other hosts that have everything: each may be the master after this one."""
        return [host for host in self.lease.agreed_hosts() if host != self._host]

    async def close(self) -> None:
        """The cell is shut down: nobody is to take over from this host. As many as can be reached are told."""
        await self._send_to_all(self._make_request(self.lease, close=True))

    async def release_lease(self, successor: str = "") -> None:
        """Somebody else may be the master from now on: `successor`, if one is named."""
        await self._send_to_all(self.lease.give_up(successor))

    async def _send_to_all(self, request: VoteRequest) -> None:
        self._file.extend(-math.inf, 0)
        await asyncio.gather(*(self._request_once(self.lease, voter, request) for voter in self.lease.voters | self._observers))

    async def _move_to_later_epoch(self) -> None:
        """Some voter has promised a later epoch to a host that was not elected: go on under one that is later still."""
        await self._end_loops()
        later, self._campaign_position = self.lease, await asyncio.to_thread(self._position)
        while self.is_leader:
            later = later.begin_epoch(max(later.superseded_by, self.lease.superseded_by) + 1, secrets.token_hex(_CANDIDACY_ID_BYTES))
            for _ in range(_ROUNDS):
                request = self._make_request(later)
                await asyncio.gather(*(self._request_once(later, voter, request) for voter in later.voters))
                if later.agreed_hosts():
                    _log.warning("host %s goes on as the master in epoch %d", self._host, later.epoch)
                    self.lease = later
                    self.lease.change_voters(self._sets)
                    return

    def _make_request(self, lease: Lease, close: bool = False, force: bool = False) -> VoteRequest:
        return lease.request(self._in_sync, self._campaign_position, close, force)

    async def _renew_at(self, voter: str) -> None:
        while True:
            began = boottime()
            await self._request_once(self.lease, voter, self._make_request(self.lease))
            self._news.set()
            await asyncio.sleep(max(0.0, RENEW_S - (boottime() - began)))

    async def _request_once(self, lease: Lease, voter: str, request: VoteRequest) -> None:
        sent = boottime()
        try:
            vote = msgspec.json.decode(await self._send_vote_request(voter, msgspec.json.encode(request)), type=VoteResponse)
        except (PeerAway, msgspec.DecodeError) as error:
            self._note_failure(voter, str(error))
            return
        if voter in lease.voters:
            lease.handle_response(voter, vote, request, sent)
        if vote.granted:
            self.failures.pop(voter, None)
        elif not request.release:
            self._note_failure(voter, vote.reason)

    def _note_failure(self, voter: str, why: str) -> None:
        if voter not in self.failures and self._loops:
            _log.warning("voter %s does not confirm host %s as the master: %s", voter, self._host, why)
        self.failures[voter] = why

    async def _end_loops(self) -> None:
        loops, self._loops = self._loops, {}
        for task in loops.values():
            task.cancel()
        await asyncio.gather(*loops.values(), return_exceptions=True)
        self._news.set()

    async def _wait(self, seconds: float) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass
