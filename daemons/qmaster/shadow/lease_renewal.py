"""One leader term: this host is the leader as long as a majority of the voters renews its lease.

Owns the sending of vote requests, once a second to each voter independently, so that a slow or lost voter delays no other; and
the time in `run_dir/lease`, which the qmaster checks before it answers. The rules of the lease are in `protocols.lease`.
Called by the participant. Source: docs/adr/0146.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec

from daemons.qmaster.serve.replication.leader_link import AgreementError
from daemons.runtime.lease_file import LeaseFile, boottime
from daemons.runtime.peers import PeerUnreachableError
from gridengine.protocols.lease import RENEW_S, Lease, VoteRequest, VoteResponse, VoterSets

_log = logging.getLogger(__name__)

#: sends a request to a voter: (voter, encoded VoteRequest) -> encoded VoteResponse. Raises PeerUnreachableError.
SendVoteRequest = Callable[[str, bytes], Awaitable[bytes]]
_AGREE_S, _POLL_S = 5.0, 0.05
_CANDIDACY_ID_BYTES = 8
#: rounds of requests under a later epoch: a round for the grant, a round for the list of hosts in sync, a round to spare
_ROUNDS = 3


class LeaderTerm:
    """The right of `host` to be the leader. `position()`: the position of this host's spool."""

    def __init__(
        self,
        host: str,
        epoch: int,
        sets: VoterSets,
        send_vote_request: SendVoteRequest,
        file: LeaseFile,
        position: Callable[[], tuple[int, int]],
    ) -> None:
        self.lease = Lease(host, epoch, sets, secrets.token_hex(_CANDIDACY_ID_BYTES))
        self.failures: dict[str, str] = {}  # voters that do not respond or refuse, and why
        self._host, self._position = host, position
        self._campaign_position = (0, 0)  # the position when an epoch was last requested
        self._send_vote_request, self._file = send_vote_request, file
        self._in_sync: tuple[str, ...] = (host,)
        self._sets = sets
        self._observers: frozenset[str] = frozenset()
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._news = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        """Whether this host is the leader at this moment."""
        return boottime() < self.lease.valid_until()

    async def campaign(self, force: bool = False, patience_s: float = 2.0) -> bool:
        """Send one request to each voter; whether a majority grants it. If none does, the single grants are released."""
        self._campaign_position = await asyncio.to_thread(self._position)
        request = self._make_request(self.lease, force=force)
        sent = [asyncio.ensure_future(self._request_once(self.lease, voter, request)) for voter in self.lease.voters]
        try:
            async with asyncio.timeout(patience_s):
                for response in asyncio.as_completed(sent):
                    await response
                    if self.is_leader:
                        return True
        except TimeoutError:
            pass
        finally:
            for task in sent:
                task.cancel()
            await asyncio.gather(*sent, return_exceptions=True)
        await self.release_lease()
        return False

    def describe_failures(self) -> str:
        """The failures as a text for people, by voter; "" if there are none."""
        return "; ".join(f"{voter}: {why}" for voter, why in sorted(self.failures.items()))

    async def keep_renewing(self, observers: Callable[[], Collection[str]] = tuple) -> None:
        """Renew until the lease is lost. `observers()`: hosts that get the requests too, but do not count."""
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
        """Return when a majority of the voters has stored the hosts in sync, and `sets` count. Raises AgreementError."""
        self._in_sync, self._sets = tuple(sorted({self._host, *in_sync})), sets
        self.lease.change_voters(sets)
        await self._end_loops()  # so that each voter gets a request at once, including new voters
        end = boottime() + _AGREE_S
        while self.lease.agreed_hosts() != self._in_sync or self.lease.sets != sets:
            if boottime() > end:
                raise AgreementError(self.describe_failures() or "no majority")
            await self._wait(_POLL_S)

    def successors(self) -> list[str]:
        """Return the other hosts that have everything: each may become the next leader."""
        return [host for host in self.lease.agreed_hosts() if host != self._host]

    async def close(self) -> None:
        """Notify the reachable voters that the cell is shut down: no host is to take over from this host."""
        await self._send_to_all(self._make_request(self.lease, close=True))

    async def release_lease(self, successor: str = "") -> None:
        """Release the lease: to `successor`, or to any host if that is ""."""
        await self._send_to_all(self.lease.give_up(successor))

    async def _send_to_all(self, request: VoteRequest) -> None:
        self._file.extend(-math.inf, 0)
        receivers = self.lease.voters | self._observers
        await asyncio.gather(*(self._request_once(self.lease, voter, request) for voter in receivers))

    async def _move_to_later_epoch(self) -> None:
        """Continue under an epoch later than the epoch of a candidate which got a grant and was not elected."""
        await self._end_loops()
        later, self._campaign_position = self.lease, await asyncio.to_thread(self._position)
        while self.is_leader:
            epoch = max(later.superseded_by, self.lease.superseded_by) + 1
            later = later.begin_epoch(epoch, secrets.token_hex(_CANDIDACY_ID_BYTES))
            for _ in range(_ROUNDS):
                request = self._make_request(later)
                await asyncio.gather(*(self._request_once(later, voter, request) for voter in later.voters))
                if later.agreed_hosts():
                    _log.warning("host %s remains the master, in epoch %d", self._host, later.epoch)
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
        except (PeerUnreachableError, msgspec.DecodeError) as error:
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
