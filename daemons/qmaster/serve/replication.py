"""Replication: which shadows have what this master has on its disk, and so what may be announced.

Owns the list of shadows that may take over (the voters keep it, too), up to which commit everything may be announced, and which
hosts vote. A shadow is taken off the list before anything is announced that it lacks, and put on it after it has everything; so
whoever is elected knows what anybody was told. Called by the service; sending is `shadow_sender`'s, voting the seat's, the
rules of voting `gridengine.lease`'s. Exists only where several hosts may be the master. Source: adr/0146; statements SH-2, SH-3.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from daemons.qmaster.master import Master
from daemons.qmaster.serve.shadow_sender import Post, ShadowSender
from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.patches import RecentPatches
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.runtime.cell import CellFault
from gridengine.lease import Sets, choose_voters

_log = logging.getLogger(__name__)

Mode = Literal["none", "one", "majority"]
"""How many shadows must have what is announced, of those that may take over."""
SILENT_S = 2.0
"""A shadow that has not acknowledged for so long is waited for no longer."""
VOTERS_S = 30.0
"""Seconds between two changes of those who vote."""
TICK_S = 0.25
_STALLED_S = 1.0
_END_S = 5.0

Agree = Callable[[Sequence[str], Sequence[Sequence[str]]], Awaitable[None]]
"""(hosts in sync, sets of voters): returns when a majority of the voters has it on disk. Raises when that is not so."""


class Replication:
    """`listed()`: hosts that may be the master, as the cell's file names them now; raises CellFault. `held()`: whether this host
    is the master. `progressed` is called when more may be announced than before."""

    def __init__(
        self,
        master: Master,
        patches: RecentPatches,
        own_host: str,
        listed: Callable[[], Sequence[str]],
        mode: Mode,
        post: Post,
        agree: Agree,
        held: Callable[[], bool],
        authority: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.held = held
        self.progressed: Callable[[], None] = lambda: None
        self._master, self._patches, self._own, self._mode = master, patches, own_host, mode
        self._listed, self._agree, self._clock = listed, agree, clock
        self._post, self._authority = post, authority
        self._candidates = [own_host]  # by preference
        self._shadows: dict[str, ShadowSender] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by shadow, and "" for the one that tends
        self._told, self._joining = set[str](), dict[str, int]()
        self._sets = self._may_vote = self._stored_sets() or (frozenset((own_host,)),)
        self._sets_commit = patches.last.commit
        self._follow_list()
        # after a start hosts must have said first that they are up
        self._sets_changed, self._chosen_from = clock(), self._candidates if self._stored_sets() else []
        self._allowed = -1
        # what the voters may believe, whom else is waited for, and what a majority of the voters is known to believe
        self._told = set(self._shadows)
        self._agreed: frozenset[str] | None = None
        self._seen: deque[tuple[float, int]] = deque(((clock(), patches.last.commit),))
        self._away_since: dict[str, float] = {}
        self._complaint = ""
        patches.added = self._wake

    # --- what the service asks -----------------------------------------------------------------------------

    def allowed(self) -> int:
        """The commit up to which everything may be announced, -1 for nothing: this host is not the master."""
        if not self.held():
            return -1
        self._allowed = max(self._allowed, self._safe())
        return self._allowed

    @property
    def in_sync(self) -> list[str]:
        """The hosts that may be the master by the voters' word, as far as that is known."""
        return sorted([self._own, *(self._agreed or ())])

    def start(self) -> None:
        """Begin to send, on the running loop."""
        self._tasks[""] = asyncio.get_running_loop().create_task(self._tending())
        self._send()

    async def settle(self, patience_s: float = _END_S) -> None:
        """Return when all shadows that may take over have everything, or they have had their time."""
        end = self._clock() + patience_s
        while self._clock() < end and self.held() and self._tasks and self._least(self._waited_for) < self._patches.last.commit:
            await asyncio.sleep(TICK_S / 10)

    async def stop(self) -> None:
        """End, after what `settle` waits for."""
        await self.settle()
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- what may be announced ------------------------------------------------------------------------------

    @property
    def _waited_for(self) -> set[str]:
        return self._told | self._joining.keys()

    def _least(self, hosts: set[str]) -> int:
        """The commit that all of these have."""
        return min((self._shadows[host].acked for host in hosts), default=self._patches.last.commit)

    def _safe(self) -> int:
        """The commit that no host lacks that may be elected, and that so many have as are wanted."""
        last = self._patches.last.commit
        if self._mode == "none":
            return last
        waited_for = self._waited_for
        acks = sorted((self._shadows[host].acked for host in waited_for), reverse=True)
        wanted = min(1 if self._mode == "one" else len(self._candidates) // 2, len(acks))
        # of voters that have it a majority would elect nobody who lacks it; else everybody who may be elected must have it
        voted = min(self._had_by_majority(voters) for voters in self._may_vote)
        return min(acks[wanted - 1] if wanted else last, max(voted, acks[-1] if acks else last))

    def _had_by_majority(self, voters: frozenset[str]) -> int:
        """The commit that more than half of them have on their disks."""
        last = self._patches.last.commit
        had = [last if host == self._own else self._shadows[host].acked if host in self._shadows else -1 for host in voters]
        return sorted(had, reverse=True)[len(had) // 2]

    def _reckon(self) -> None:
        """A shadow has more, or one is not waited for any longer."""
        before = self._allowed
        if self.allowed() > before:
            self.progressed()

    def _wake(self) -> None:
        for shadow in self._shadows.values():
            shadow.wake()

    # --- who may take over ----------------------------------------------------------------------------------

    def _follow_list(self) -> None:
        """Send to the hosts that are listed now. One that was removed stays until the voters know that it is out of sync.
        Raises CellFault."""
        others = [host for host in self._listed() if host != self._own]
        self._candidates = [self._own, *others]
        for host in others:
            if host not in self._shadows:
                spool = self._master.spool.path
                sender = ShadowSender(host, self._patches, spool, self._post, self.held, self._reckon, self._authority)
                self._shadows[host] = sender
        for host in self._shadows.keys() - {*others, *self._waited_for}:
            del self._shadows[host]
            if task := self._tasks.pop(host, None):
                task.cancel()
        if self._tasks:
            self._send()

    def _send(self) -> None:
        """Start to send to each shadow to which nothing is sent yet."""
        for host in self._shadows.keys() - self._tasks.keys():
            self._tasks[host] = asyncio.get_running_loop().create_task(self._shadows[host].run())

    async def _tending(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            if self.held():
                await self.tend()

    async def tend(self) -> None:
        """Take shadows off the list and put them on it, and change the voters: what is due now."""
        now = self._note_time()
        try:
            self._follow_list()
        except CellFault as error:
            self._complain("the hosts that may be the master stay as they are", error)
        late = {host for host in self._waited_for if host not in self._candidates or self._is_late(host, now)}
        for host in late & self._joining.keys():
            del self._joining[host]
        for host, shadow in self._shadows.items():
            listed = host in self._candidates
            if listed and host not in self._waited_for and shadow.acked >= self._seen[-2 if len(self._seen) > 1 else -1][1]:
                self._joining[host] = self._allowed  # from now on it is waited for; this much it must have at least
        ready = {host for host, commit in self._joining.items() if self._shadows[host].acked >= commit}
        try:
            self._choose_voters(now)
        except SpoolError as error:  # who votes stays as it is; this loop would end, and nobody be taken off the list any more
            self._complain("the voters stay as they are", error)
        wanted = frozenset(self._told - late | ready)
        if self._agreed is None and self._least(set(wanted)) < self._seen[0][1]:
            return  # nothing is known yet of some; soon they are late, or not
        await self._have_agreed(wanted, now)
        self._reckon()

    def _note_time(self) -> float:
        """Remember how far the spool was when, for as long as a shadow may be silent; a pause of this process does not count."""
        now = self._clock()
        if (stalled := now - self._seen[-1][0]) > _STALLED_S:
            self._seen = deque((then + stalled, commit) for then, commit in self._seen)
        self._seen.append((now, self._patches.last.commit))
        while len(self._seen) > 1 and self._seen[1][0] <= now - SILENT_S:
            self._seen.popleft()
        return now

    def _is_late(self, host: str, now: float) -> bool:
        then, commit = self._seen[0]
        return then <= now - SILENT_S and self._shadows[host].acked < commit

    async def _have_agreed(self, wanted: frozenset[str], now: float) -> None:
        """Have the voters know who is in sync, and who votes, if that is news."""
        sets = self._stored_sets() or self._sets
        if self._least(set(wanted) | self._told) < self._sets_commit:
            sets = self._sets  # who is elected later must know who votes
        if (wanted, sets) == (self._agreed, self._sets):
            return
        self._told |= wanted
        try:
            await self._agree(sorted([self._own, *wanted]), [sorted(voters) for voters in sets])
        except Exception as error:  # noqa: BLE001 - whatever it was: the voters may know it or not, it is said again
            self._complain("the voters cannot be told which shadows have everything", error)
            return
        self._complaint = ""
        self._log_changes(wanted, now)
        self._agreed, self._told = wanted, set(wanted)
        self._joining = {host: commit for host, commit in self._joining.items() if host not in wanted}
        if sets != self._sets:
            self._sets = self._may_vote = sets
            self._sets_changed = now

    def _complain(self, what: str, why: Exception) -> None:
        """Say it once, until something else is the matter."""
        if str(why) != self._complaint:
            self._complaint = str(why)
            _log.warning("%s: %s", what, why)

    def _log_changes(self, wanted: frozenset[str], now: float) -> None:
        before = self._agreed if self._agreed is not None else frozenset(self._told)
        for host in sorted(wanted if self._agreed is None else wanted - before):
            since = self._away_since.pop(host, None)
            after = f" again, after {now - since:.0f} s" if since is not None else ""
            _log.warning("shadow %s has everything%s: it may take over", host, after)
        for host in sorted(before - wanted):
            if host not in self._candidates:
                _log.warning("shadow %s was removed: it cannot take over any more", host)
                continue
            self._away_since[host] = now
            why = self._shadows[host].complaint
            what = f"does not answer ({why})" if why else "does not keep up"
            _log.error("shadow %s %s: it cannot take over until it has caught up", host, what)

    # --- who votes ------------------------------------------------------------------------------------------

    def _stored_sets(self) -> Sets:
        """The sets of voters that the spool says, () if none."""
        text = self._master.spool.recall(spool_file.VOTERS)
        return tuple(frozenset(names) for names in msgspec.json.decode(text, type=list[list[str]])) if text else ()

    def _choose_voters(self, now: float) -> None:
        """Begin a change of the voters, or end one: who is elected finds in his spool whom to ask."""
        if len(self._sets) > 1 and self._stored_sets() == self._sets:
            self._store_sets(self._sets[-1:])  # both count by now, so the former may go
            return
        due = now >= self._sets_changed + VOTERS_S or self._chosen_from != self._candidates
        if due and len(self._sets) == 1 and (self._stored_sets() or self._sets) == self._sets:
            self._sets_changed, self._chosen_from = now, self._candidates
            current = self._sets[0]
            up = [name for name, host in self._master.state.hosts.items() if host.up]
            chosen = frozenset(choose_voters(self._candidates, up, current))
            if chosen != current:
                self._store_sets((current, chosen))

    def _store_sets(self, sets: Sets) -> None:
        self._may_vote = tuple({*self._may_vote, *sets})
        self._master.spool.remember(spool_file.VOTERS, msgspec.json.encode([sorted(voters) for voters in sets]).decode())
        self._sets_commit = self._patches.last.commit
