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

from daemons.qmaster.serve.seat_link import NotAgreed
from daemons.runtime.lease_file import LeaseFile, boottime
from daemons.runtime.peers import PeerAway
from gridengine.lease import RENEW_S, Ask, Lease, Sets, Vote

_log = logging.getLogger(__name__)

#: asks a voter: (voter, encoded Ask) -> encoded Vote. Raises PeerAway.
AskVoter = Callable[[str, bytes], Awaitable[bytes]]
_AGREE_S, _LOOK_S = 5.0, 0.05
_LIFE_BYTES = 8
#: of asks under a later epoch: one to be granted it, one to have the list of hosts in sync taken over, one to spare
_ROUNDS = 3


class TermOfOffice:
    """The right of `host` to be the master. `position`: how far this host's spool is."""

    def __init__(
        self, host: str, epoch: int, sets: Sets, ask_voter: AskVoter, file: LeaseFile, position: Callable[[], tuple[int, int]]
    ) -> None:
        self.lease = Lease(host, epoch, sets, secrets.token_hex(_LIFE_BYTES))
        self.away: dict[str, str] = {}  # voters that do not answer or refuse, and why
        self._host, self._position = host, position
        self._place = (0, 0)  # where it was when it last asked for an epoch
        self._ask_voter, self._file = ask_voter, file
        self._in_sync: tuple[str, ...] = (host,)
        self._sets = sets
        self._others: frozenset[str] = frozenset()
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._news = asyncio.Event()

    @property
    def held(self) -> bool:
        """Whether this host is the master at this moment."""
        return boottime() < self.lease.until()

    async def stand(self, force: bool = False, patience_s: float = 2.0) -> bool:
        """Ask all voters once; whether a majority says yes. What was granted in vain is given back."""
        self._place = await asyncio.to_thread(self._position)
        ask = self._ask(self.lease, force=force)
        asked = [asyncio.ensure_future(self._once(self.lease, voter, ask)) for voter in self.lease.voters]
        try:
            async with asyncio.timeout(patience_s):
                for answered in asyncio.as_completed(asked):
                    await answered
                    if self.held:
                        return True
        except TimeoutError:
            pass
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        await self.give_back()
        return False

    async def keep(self, shown_to: Callable[[], Collection[str]] = tuple) -> None:
        """Renew until the lease is lost. `shown_to()`: hosts that are asked, too, though they do not count."""
        try:
            while self.held:
                if self.lease.outbid:
                    await self._go_over()
                self._others = frozenset(shown_to())
                asked = self.lease.voters | self._others
                for voter in asked - self._loops.keys():
                    self._loops[voter] = asyncio.create_task(self._renewing(voter))
                for voter in self._loops.keys() - asked:
                    self._loops.pop(voter).cancel()
                    self.away.pop(voter, None)
                self._file.extend(self.lease.until(), self.lease.epoch)
                await self._wait(min(RENEW_S, max(0.0, self.lease.until() - boottime())))
        finally:
            self._file.extend(-math.inf, 0)
            await self._end_loops()

    async def agree(self, in_sync: Sequence[str], sets: Sets) -> None:
        """Return when a majority of the voters knows who is in sync, and `sets` are the voters that count. Raises NotAgreed."""
        self._in_sync, self._sets = tuple(sorted({self._host, *in_sync})), sets
        self.lease.change(sets)
        await self._end_loops()  # each voter is asked at once, a new one, too
        end = boottime() + _AGREE_S
        while self.lease.agreed() != self._in_sync or self.lease.sets != sets:
            if boottime() > end:
                raise NotAgreed("; ".join(f"{voter}: {why}" for voter, why in sorted(self.away.items())) or "no majority")
            await self._wait(_LOOK_S)

    def heirs(self) -> list[str]:
        """The other hosts that have everything: each may be the master after this one."""
        return [host for host in self.lease.agreed() if host != self._host]

    async def close(self) -> None:
        """The cell is shut down: nobody is to take over from this host. As many as can be reached are told."""
        await self._tell_all(self._ask(self.lease, close=True))

    async def give_back(self, heir: str = "") -> None:
        """Somebody else may be the master from now on: `heir`, if one is named."""
        await self._tell_all(self.lease.give_up(heir))

    async def _tell_all(self, ask: Ask) -> None:
        self._file.extend(-math.inf, 0)
        await asyncio.gather(*(self._once(self.lease, voter, ask) for voter in self.lease.voters | self._others))

    async def _go_over(self) -> None:
        """Some voter has promised a later epoch to a host that was not elected: go on under one that is later still."""
        await self._end_loops()
        later, self._place = self.lease, await asyncio.to_thread(self._position)
        while self.held:
            later = later.succeed(max(later.outbid, self.lease.outbid) + 1, secrets.token_hex(_LIFE_BYTES))
            for _ in range(_ROUNDS):
                ask = self._ask(later)
                await asyncio.gather(*(self._once(later, voter, ask) for voter in later.voters))
                if later.agreed():
                    _log.warning("host %s goes on as the master in epoch %d", self._host, later.epoch)
                    self.lease = later
                    self.lease.change(self._sets)
                    return

    def _ask(self, lease: Lease, close: bool = False, force: bool = False) -> Ask:
        return lease.ask(self._in_sync, self._place, close, force)

    async def _renewing(self, voter: str) -> None:
        while True:
            began = boottime()
            await self._once(self.lease, voter, self._ask(self.lease))
            self._news.set()
            await asyncio.sleep(max(0.0, RENEW_S - (boottime() - began)))

    async def _once(self, lease: Lease, voter: str, ask: Ask) -> None:
        sent = boottime()
        try:
            vote = msgspec.json.decode(await self._ask_voter(voter, msgspec.json.encode(ask)), type=Vote)
        except (PeerAway, msgspec.DecodeError) as error:
            self._note_away(voter, str(error))
            return
        if voter in lease.voters:
            lease.note(voter, vote, ask, sent)
        if vote.granted:
            self.away.pop(voter, None)
        elif not ask.release:
            self._note_away(voter, vote.reason)

    def _note_away(self, voter: str, why: str) -> None:
        if voter not in self.away and self._loops:
            _log.warning("voter %s does not confirm host %s as the master: %s", voter, self._host, why)
        self.away[voter] = why

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
