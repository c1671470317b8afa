"""Replication: which shadows have the commits of this master, and so which commits may be announced.

Owns the list of shadows that may take over (the voters store it too), the commit up to which everything may be announced, and the
choice of voters. A shadow leaves the list before anything that it lacks is announced, and joins the list after it has everything;
so an elected host has every announced change. Called by the service; sending belongs to `replica_sender`, voting to the
participant, the rules of voting to `protocols.lease`. Exists only in a cell with several candidate hosts. Source: adr/0146;
statements SH-2, SH-3.
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
from daemons.qmaster.serve.replication.replica_sender import Post, ReplicaSender
from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.patches import RecentPatches
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.runtime.cell import CellError
from daemons.runtime.log_once import LogOnce
from gridengine.protocols.lease import VoterSets, choose_voters

_log = logging.getLogger(__name__)

Mode = Literal["none", "one", "majority"]
"""Number of shadows eligible for takeover that must have a commit before it is announced."""
SILENT_S = 2.0
"""Seconds without an acknowledgement after which a shadow is no longer awaited."""
VOTERS_S = 30.0
"""Minimum time between two choices of the voters, unless a witness is missing."""
TICK_S = 0.25
_STALLED_S = 1.0
_END_S = 5.0

Agree = Callable[[Sequence[str], Sequence[Sequence[str]]], Awaitable[None]]
"""(hosts in sync, sets of voters): returns when a majority of the voters has both lists on disk. Raises if none confirms."""


class Replication:
    """`listed()`: the candidate hosts, as the cell's file names them now; raises CellError. `is_leader()`: whether this host is
    the leader. `on_progress` is called when more may be announced than before. `senders`: by shadow."""

    def __init__(
        self,
        master: Master,
        patches: RecentPatches,
        own_host: str,
        listed: Callable[[], Sequence[str]],
        mode: Mode,
        post: Post,
        agree: Agree,
        is_leader: Callable[[], bool],
        authority: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_leader = is_leader
        self.on_progress: Callable[[], None] = lambda: None
        self._master, self._patches, self._own, self._mode = master, patches, own_host, mode
        self._listed, self._agree, self._clock = listed, agree, clock
        self._post, self._authority = post, authority
        self._candidate_hosts = [own_host]  # by preference
        self.senders: dict[str, ReplicaSender] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by shadow, and "" for the periodic update
        self._possibly_in_sync, self._joining = set[str](), dict[str, int]()
        self._voter_sets = self._possible_voter_sets = self._stored_voter_sets() or (frozenset((own_host,)),)
        self._voter_sets_commit = patches.last.commit
        self._update_senders()
        # after a start the first choice waits until hosts have reported
        self._voter_sets_changed, self._chosen_from = clock(), self._candidate_hosts if self._stored_voter_sets() else []
        self._announceable_commit = -1
        # the list that voters may have, and the list that a majority of the voters has confirmed
        self._possibly_in_sync = set(self.senders)
        self._confirmed_in_sync: frozenset[str] | None = None
        self._history: deque[tuple[float, int]] = deque(((clock(), patches.last.commit),))
        self._away_since: dict[str, float] = {}
        self._logged = LogOnce()
        patches.added = self._wake

    # --- the interface of the service ----------------------------------------------------------------------

    def announceable_commit(self) -> int:
        """The commit up to which everything may be announced, -1 for nothing: this host is not the leader."""
        if not self.is_leader():
            return -1
        self._announceable_commit = max(self._announceable_commit, self._safe_commit())
        return self._announceable_commit

    @property
    def in_sync(self) -> list[str]:
        """The hosts that the voters would elect, as far as this host knows."""
        return sorted([self._own, *(self._confirmed_in_sync or ())])

    def start(self) -> None:
        """Start sending, on the running loop."""
        self._tasks[""] = asyncio.get_running_loop().create_task(self._update_repeatedly())
        self._start_senders()

    async def wait_for_shadows(self, patience_s: float = _END_S) -> None:
        """Return when all shadows that may take over have everything, or after `patience_s`."""
        end = self._clock() + patience_s
        while self._clock() < end and self.is_leader() and self._tasks:
            if self._lowest_commit(self._awaited) >= self._patches.last.commit:
                break
            await asyncio.sleep(TICK_S / 10)

    async def stop(self) -> None:
        """Stop sending, after `wait_for_shadows`."""
        await self.wait_for_shadows()
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- the announceable commit ----------------------------------------------------------------------------

    @property
    def _awaited(self) -> set[str]:
        return self._possibly_in_sync | self._joining.keys()

    def _lowest_commit(self, hosts: set[str]) -> int:
        """The latest commit that all of these shadows have."""
        return min((self.senders[host].acked for host in hosts), default=self._patches.last.commit)

    def _safe_commit(self) -> int:
        """The latest commit that every electable host has, and as many shadows as the mode requires."""
        last = self._patches.last.commit
        if self._mode == "none":
            return last
        awaited = self._awaited
        acks = sorted((self.senders[host].acked for host in awaited), reverse=True)
        required = min(1 if self._mode == "one" else len(self._candidate_hosts) // 2, len(acks))
        # a majority of voters that have a commit elects no host without it; otherwise every electable host must have it
        majority_commit = min(self._majority_commit(voters) for voters in self._possible_voter_sets)
        return min(acks[required - 1] if required else last, max(majority_commit, acks[-1] if acks else last))

    def _majority_commit(self, voters: frozenset[str]) -> int:
        """The latest commit that more than half of the voters have on disk."""
        last = self._patches.last.commit
        had = [last if host == self._own else self.senders[host].acked if host in self.senders else -1 for host in voters]
        return sorted(had, reverse=True)[len(had) // 2]

    def _announce_progress(self) -> None:
        """Call `on_progress` if more may be announced than before."""
        before = self._announceable_commit
        if self.announceable_commit() > before:
            self.on_progress()

    def _wake(self) -> None:
        for shadow in self.senders.values():
            shadow.wake()

    # --- shadows that may take over --------------------------------------------------------------------------

    def _update_senders(self) -> None:
        """Keep a sender for each host that is listed now. A removed host keeps its sender until the voters have it off their
        list. Raises CellError."""
        others = [host for host in self._listed() if host != self._own]
        self._candidate_hosts = [self._own, *others]
        for host in others:
            if host not in self.senders:
                spool, on_progress = self._master.spool.path, self._announce_progress
                self.senders[host] = ReplicaSender(
                    host, self._patches, spool, self._post, self.is_leader, on_progress, self._authority
                )
        for host in self.senders.keys() - {*others, *self._awaited}:
            del self.senders[host]
            if task := self._tasks.pop(host, None):
                task.cancel()
        if self._tasks:
            self._start_senders()

    def _start_senders(self) -> None:
        """Start the senders that do not run yet."""
        for host in self.senders.keys() - self._tasks.keys():
            self._tasks[host] = asyncio.get_running_loop().create_task(self.senders[host].run())

    async def _update_repeatedly(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            if self.is_leader():
                await self.update_membership()

    async def update_membership(self) -> None:
        """Update the list of shadows that may take over, and the voters, as far as that is due."""
        now = self._record_position()
        try:
            self._update_senders()
        except CellError as error:
            self._log_once("the candidate hosts are unchanged", error)
        late = {host for host in self._awaited if host not in self._candidate_hosts or self._is_late(host, now)}
        for host in late & self._joining.keys():
            del self._joining[host]
        for host, shadow in self.senders.items():
            listed = host in self._candidate_hosts
            if listed and host not in self._awaited and shadow.acked >= self._history[-2 if len(self._history) > 1 else -1][1]:
                self._joining[host] = self._announceable_commit  # awaited from now on; joins the list at this commit
        ready = {host for host, commit in self._joining.items() if self.senders[host].acked >= commit}
        try:
            self._choose_voters(now)
        except SpoolError as error:  # the loop must go on: it takes late shadows off the list
            self._log_once("the voters are unchanged", error)
        desired = frozenset(self._possibly_in_sync - late | ready)
        if self._confirmed_in_sync is None and self._lowest_commit(set(desired)) < self._history[0][1]:
            return  # some positions are not known yet; these shadows report soon, or are late
        await self._update_voters(desired, now)
        self._announce_progress()

    def _record_position(self) -> float:
        """Record the commits of the last `SILENT_S` with their times, and return now; pauses of this process do not count."""
        now = self._clock()
        if (stalled := now - self._history[-1][0]) > _STALLED_S:
            self._history = deque((then + stalled, commit) for then, commit in self._history)
        self._history.append((now, self._patches.last.commit))
        while len(self._history) > 1 and self._history[1][0] <= now - SILENT_S:
            self._history.popleft()
        return now

    def _is_late(self, host: str, now: float) -> bool:
        then, commit = self._history[0]
        return then <= now - SILENT_S and self.senders[host].acked < commit

    async def _update_voters(self, desired: frozenset[str], now: float) -> None:
        """Send the hosts in sync and the voter sets to the voters, if either has changed."""
        sets = self._stored_voter_sets() or self._voter_sets
        if self._lowest_commit(set(desired) | self._possibly_in_sync) < self._voter_sets_commit:
            sets = self._voter_sets  # an elected host must find the voters in its own spool
        if (desired, sets) == (self._confirmed_in_sync, self._voter_sets):
            return
        self._possibly_in_sync |= desired
        try:
            await self._agree(sorted([self._own, *desired]), [sorted(voters) for voters in sets])
        except Exception as error:  # noqa: BLE001 - after any error the voters may have it or not, and it is sent again
            self._log_once("no majority of voters confirms which shadows are in sync", error)
            return
        self._logged.clear()
        self._log_changes(desired, now)
        self._confirmed_in_sync, self._possibly_in_sync = desired, set(desired)
        self._joining = {host: commit for host, commit in self._joining.items() if host not in desired}
        if sets != self._voter_sets:
            self._voter_sets = self._possible_voter_sets = sets
            self._voter_sets_changed = now

    def _log_once(self, what: str, why: Exception) -> None:
        """Log a problem once, until another one occurs."""
        if self._logged.is_new(str(why)):
            _log.warning("%s: %s", what, why)

    def _log_changes(self, desired: frozenset[str], now: float) -> None:
        before = self._confirmed_in_sync if self._confirmed_in_sync is not None else frozenset(self._possibly_in_sync)
        for host in sorted(desired if self._confirmed_in_sync is None else desired - before):
            since = self._away_since.pop(host, None)
            after = f" again, after {now - since:.0f} s" if since is not None else ""
            _log.warning("shadow %s has everything%s: it may take over", host, after)
        for host in sorted(before - desired):
            if host not in self._candidate_hosts:
                _log.warning("shadow %s was removed: it can no longer take over", host)
                continue
            self._away_since[host] = now
            why = self.senders[host].last_error
            what = f"does not answer ({why})" if why else "does not keep up"
            _log.error("shadow %s %s: it cannot take over until it has caught up", host, what)

    # --- the voters -----------------------------------------------------------------------------------------

    def _stored_voter_sets(self) -> VoterSets:
        """The voter sets in the spool, () if there are none."""
        text = self._master.spool.recall(spool_file.VOTERS)
        return tuple(frozenset(names) for names in msgspec.json.decode(text, type=list[list[str]])) if text else ()

    def _choose_voters(self, now: float) -> None:
        """Start or complete a change of the voters: the change is stored in the spool first, where an elected host finds it."""
        if len(self._voter_sets) > 1 and self._stored_voter_sets() == self._voter_sets:
            self._store_voter_sets(self._voter_sets[-1:])  # both sets count now, so the former may be dropped
            return
        lacks_witness = len(self._voter_sets[-1]) < len(self._candidate_hosts)  # of two candidates none takes over then
        due = lacks_witness or now >= self._voter_sets_changed + VOTERS_S or self._chosen_from != self._candidate_hosts
        if due and len(self._voter_sets) == 1 and (self._stored_voter_sets() or self._voter_sets) == self._voter_sets:
            self._voter_sets_changed, self._chosen_from = now, self._candidate_hosts
            current = self._voter_sets[0]
            up = [name for name, host in self._master.state.hosts.items() if host.up]
            chosen = frozenset(choose_voters(self._candidate_hosts, up, current))
            if chosen != current:
                self._store_voter_sets((current, chosen))

    def _store_voter_sets(self, sets: VoterSets) -> None:
        self._possible_voter_sets = tuple({*self._possible_voter_sets, *sets})
        self._master.spool.remember(spool_file.VOTERS, msgspec.json.encode([sorted(voters) for voters in sets]).decode())
        self._voter_sets_commit = self._patches.last.commit
