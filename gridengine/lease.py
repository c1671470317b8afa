"""The lease of the master: at most one host at a time is the master, and none that lacks what was acknowledged.

Owns the words of candidates (`Ask`) and voters (`Vote`), what a voter must remember (`Promise`), and both sides' rules: `Voter`
answers, `Lease` is what a candidate may conclude. Knows no clock, file or socket: times are seconds of the caller's own steady
clock. Called by `daemons/runtime/lease_voter.py`, the seat and the replication. Source: adr/0146; statements SH-2, SH-3.

Why two never hold at once. A holder has the votes of a majority of each set of voters, and two majorities share a voter. When
that one has granted at its time t, it grants nobody else before t + LEASE_S; a voter that was started again cannot know t, and
waits a whole LEASE_S. The holder counts from when it SENT the ask, which is before t, and stops MARGIN_S earlier. Epochs only
grow, and are on the voter's disk before it answers, so an earlier candidate is refused for ever. While the voters change, both
sets count, and one is left only when every host that may be elected knows the next (`Lease.change`).

Why nothing acknowledged is lost. The holder acknowledges what all of `Lease.agreed` have: whoever is on a list that voters may
now go by. A host is off it once a majority of each set has the shorter list on disk. A later election needs a majority too, so
one of its voters has that list or a later one, and refuses whoever is not on it. Lists come from elected candidates alone, which
by the same reason have everything; they are numbered, so that a late ask never puts back an earlier list.

Assumed: in LEASE_S two clocks drift apart by less than MARGIN_S; they are steady and count sleep (CLOCK_BOOTTIME); a voter's disk
keeps what was written. Words may be lost, late, doubled and mixed up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import inf
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

LEASE_S = 6.0
"""Seconds for which a voter that has granted grants nobody else."""
MARGIN_S = 0.5
"""Seconds by which a holder stops earlier: what two clocks may drift apart in LEASE_S."""
RENEW_S = 1.0
"""Seconds between two asks of a holder."""

Sets = tuple[frozenset[str], ...]
"""Hosts that vote: a majority of each set is needed. One set, or two while voters change."""


class Promise(Struct, frozen=True, omit_defaults=True):
    """What a voter must not forget.

    `in_sync`: hosts that have all that was acknowledged, () if none were told. `closed`: the master was stopped on purpose.
    `life`, `version`: of the ask, as there.
    """

    epoch: int = 0
    holder: str = ""
    in_sync: tuple[str, ...] = ()
    closed: bool = False
    life: str = ""
    version: int = 0


class Ask(Struct, frozen=True, omit_defaults=True):
    """Be bound to `host`. `position`: (incarnation, commit) of its spool. `force`: an administrator says so.

    `version`: 0 of one who is not elected yet; then `in_sync` and `close` are to be remembered, and this counts their changes.
    `life`: random, of this candidacy alone. `release`: be bound no longer, or by no one but `heir`, if one is named.
    """

    epoch: Annotated[int, Meta(ge=1, lt=2**53)]
    host: Annotated[str, Meta(min_length=1)]
    in_sync: tuple[str, ...] = ()
    position: tuple[int, int] = (0, 0)
    close: bool = False
    release: bool = False
    force: bool = False
    life: str = ""
    version: int = 0
    heir: str = ""


class Vote(Struct, frozen=True, omit_defaults=True):
    """The answer to an ask. `epoch`, `holder`: what is promised now; `bound_s`: for how many seconds it still binds;
    `reason`: why the ask was refused, for people."""

    granted: bool
    epoch: int
    holder: str
    bound_s: float = 0.0
    reason: str = ""


class Voter:
    """One voter. The caller writes `promise` to disk, if it changed, before the vote goes out. `bound_until`: when it may promise
    somebody else; until then, `heir` alone, if the holder has named one: else whoever asks first would follow, itself as well."""

    def __init__(self, promise: Promise, now: float) -> None:
        self.promise = promise
        self.heir = ""
        self.bound_until = now + LEASE_S if promise.epoch else now

    def answer(self, ask: Ask, now: float, position: tuple[int, int] = (0, 0)) -> Vote:
        """What the voter says, and remembers. `position`: of its own copy of the spool, (0, 0) without one."""
        promise = self.promise
        known = (ask.epoch, ask.host, ask.life) == (promise.epoch, promise.holder, promise.life)
        if ask.release and known:
            self.heir = ask.heir
            self.bound_until = min(self.bound_until, now + LEASE_S if self.heir else now)
            return self._vote(now)
        if not known:
            if objection := self._objection(ask, now, position):
                return self._vote(now, objection)
            # the list stays: whether this candidate is elected, and so may change it, a voter does not know
            promise, self.heir = Promise(ask.epoch, ask.host, promise.in_sync, life=ask.life), ""
        if ask.version > promise.version:
            promise = replace(promise, in_sync=ask.in_sync, closed=ask.close, version=ask.version)
        self.promise = promise
        self.bound_until = now + LEASE_S
        return self._vote(now)

    def _objection(self, ask: Ask, now: float, position: tuple[int, int]) -> str:
        """Why another candidacy than the promised one is refused, "" if it is not."""
        promise = self.promise
        if ask.release:
            return "there is nothing to release"
        if ask.epoch <= promise.epoch:
            return f"epoch {promise.epoch} is promised to {promise.holder or 'nobody'}"
        bound = now < self.bound_until
        follower = self.heir or promise.holder
        if bound and ask.host != follower:
            return f"bound to {follower} for another {self.bound_until - now:.1f} s"
        if bound and not self.heir and promise.version and ask.position[0] >= position[0]:
            return ""  # the master as ever; a copy of its own incarnation may well be ahead of what it says here
        if ask.version or ask.force:
            return ""  # a majority has elected it, or an administrator
        if promise.closed and ask.host != promise.holder:
            return f"the master on {promise.holder} was stopped on purpose"
        if promise.in_sync and ask.host not in promise.in_sync:
            return f"{ask.host} lacks what was acknowledged: only {', '.join(promise.in_sync)} may lead"
        if ask.position < position:
            return f"the copy of {ask.host} is at {ask.position}, and the one here at {position}"
        return ""

    def _vote(self, now: float, refusal: str = "") -> Vote:
        promise = self.promise
        return Vote(not refusal, promise.epoch, promise.holder, max(0.0, self.bound_until - now), refusal)


class Lease:
    """What one candidate may conclude from the votes it got under one epoch, and what it asks next.

    `sets`: who counts, as its own copy of the spool says; a candidate that takes a commit after that gives up, since the voters
    may be others by now. `voters`: who is to be asked. `life`: a random text, new for each object. `outbid`: the latest epoch, at
    or after its own, that a voter has promised to somebody else; 0 for none. A candidate that is outbid gives up, waits a random
    while, and tries again with a new object and a later epoch. A holder that is outbid, by one not elected, has its latest
    object `succeed`, asks with that alone, and goes over to it as soon as that has `agreed`.
    """

    def __init__(self, host: str, epoch: int, sets: Sets, life: str) -> None:
        self.host, self.epoch, self.sets, self.life = host, epoch, sets, life
        self.outbid = 0
        self._next: Sets = ()
        self._given_up = False
        self._successor: Lease | None = None
        self._sent: dict[str, float] = {}  # when the latest ask that was granted went out, by voter
        self._versions: dict[str, int] = {}  # the latest list that a voter is known to have
        self._lists: dict[int, tuple[str, ...]] = {}  # those that a voter may go by, by version
        self._word: tuple[tuple[str, ...], bool] | None = None
        self._version = 0

    @property
    def voters(self) -> frozenset[str]:
        """All that are to be asked."""
        return frozenset().union(*self.sets, *self._next)

    def ask(self, in_sync: Iterable[str], position: tuple[int, int], close: bool = False, force: bool = False) -> Ask:
        """What to send now. Until a majority has granted one it says nothing of `in_sync` and `close`."""
        if not is_majority(self.sets, self._sent):
            return Ask(self.epoch, self.host, position=position, force=force, life=self.life)
        word = (tuple(sorted({self.host, *in_sync})), close)
        if word != self._word:
            self._word = word
            self._version += 1
            self._lists[self._version] = word[0]
        return Ask(self.epoch, self.host, word[0], position, close, force=force, life=self.life, version=self._version)

    def give_up(self, heir: str = "") -> Ask:
        """Hold no longer; what to send to all voters, after everything of this host has ceased to act as the master. Never of a
        successor alone: the voters that it frees are those by which the lease before it holds. `heir`: the host that is to
        follow, "" for any."""
        self._given_up = True
        return Ask(self.epoch, self.host, release=True, life=self.life, heir=heir)

    def note(self, voter: str, vote: Vote, ask: Ask, sent: float) -> None:
        """A voter's answer to `ask`, which went out at `sent`."""
        if ask.release:
            return
        if not vote.granted:
            if vote.epoch >= self.epoch:
                self.outbid = max(self.outbid, vote.epoch)
            return
        self._sent[voter] = max(sent, self._sent.get(voter, -inf))
        self._versions[voter] = max(ask.version, self._versions.get(voter, 0))
        if self._next and not self._successor and self._ready(self._next):
            self.sets, self._next = self._next, ()
        agreed = self._agreed_version(self.sets)
        self._lists = {version: hosts for version, hosts in self._lists.items() if version >= agreed}

    def until(self) -> float:
        """Until when this host is the master, on the clock of `sent`; -inf if it is not."""
        return -inf if self._given_up else self._until(self.sets)

    def agreed(self) -> tuple[str, ...]:
        """Who must have a thing before it is acknowledged: the list that a majority of each set has on disk, and whoever was on
        one asked for since. () until there is one: then nothing may be acknowledged."""
        return tuple(sorted(self._named())) if self._agreed_version(self.sets) else ()

    def _named(self) -> set[str]:
        """All on lists that voters may go by, also where a successor has told them."""
        return set().union(*self._lists.values(), self._successor._named() if self._successor else ())

    def succeed(self, epoch: int, life: str) -> Lease:
        """The same lease under a later epoch, which its voters grant at once. This one counts until that has `agreed`,
        and changes its sets no more."""
        self._successor = type(self)(self.host, epoch, self.sets, life)
        return self._successor

    def change(self, sets: Sets) -> None:
        """Have `sets` count instead, as soon as they hold and have agreed no less than those before.

        From A to B goes by way of (A, B); each step only after all of `agreed` have it on disk that it is taken.
        """
        self._next = sets if sets != self.sets else ()

    def _ready(self, sets: Sets) -> bool:
        # a step must not cost the lease: what the next sets hold may end little sooner
        holds = self._until(sets) >= self._until(self.sets) - RENEW_S > -inf
        return holds and self._agreed_version(sets) >= self._agreed_version(self.sets) > 0

    def _until(self, sets: Sets) -> float:
        sent = min((_of_majority([self._sent.get(each, -inf) for each in hosts]) for hosts in sets), default=-inf)
        return sent + LEASE_S - MARGIN_S

    def _agreed_version(self, sets: Sets) -> int:
        return int(min((_of_majority([self._versions.get(each, 0) for each in hosts]) for hosts in sets), default=0))


def is_majority(sets: Sets, hosts: Collection[str]) -> bool:
    """Whether `hosts` are more than half of each set."""
    return bool(sets) and all(2 * len(each.intersection(hosts)) > len(each) for each in sets)


def choose_voters(candidates: Sequence[str], witnesses_up: Collection[str], current: Collection[str]) -> tuple[str, ...]:
    """Who shall vote: an odd number of hosts, sorted.

    `candidates`: by preference, the master first. `witnesses_up`: hosts of which one votes too if candidates are even: one that
    does already, else the first by name. Without any there is one candidate less; so of two one alone votes, and there is no
    takeover by itself.
    """
    if len(candidates) % 2:
        return tuple(sorted(candidates))
    witnesses = sorted(set(witnesses_up) - set(candidates), key=lambda host: (host not in current, host))
    return tuple(sorted([*candidates, witnesses[0]] if witnesses else candidates[:-1]))


def _of_majority(values: Sequence[float]) -> float:
    """The highest value that more than half of them reach; -inf of none."""
    return sorted(values, reverse=True)[len(values) // 2] if values else -inf
