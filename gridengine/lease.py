"""The lease of the master: at most one host at a time is the master, and none that lacks what was acknowledged.

Owns the words of candidates (`VoteRequest`) and voters (`VoteResponse`), what a voter must remember (`VoteRecord`), and both sides' rules: `Voter`
answers, `Lease` is what a candidate may conclude. Knows no clock, file or socket: times are seconds of the caller's own steady
clock. Called by `daemons/runtime/lease_voter.py`, the seat and the replication. Source: adr/0146; statements SH-2, SH-3.

Why two never hold at once. A holder has the votes of a majority of each set of voters, and two majorities share a voter. When
that one has granted at its time t, it grants nobody else before t + LEASE_S; a voter that was started again cannot know t, and
waits a whole LEASE_S. The holder counts from when it SENT the ask, which is before t, and stops MARGIN_S earlier. Epochs only
grow, and are on the voter's disk before it answers, so an earlier candidate is refused for ever. While the voters change, both
sets count, and one is left only when every host that may be elected knows the next (`Lease.change_voters`).

Why nothing acknowledged is lost. The holder acknowledges what all of `Lease.agreed_hosts` have: whoever is on a list that voters may
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

VoterSets = tuple[frozenset[str], ...]
"""Hosts that vote: a majority of each set is needed. One set, or two while voters change."""


class VoteRecord(Struct, frozen=True, omit_defaults=True):
    """What a voter must not forget.

    `in_sync`: hosts that have all that was acknowledged, () if none were told. `closed`: the master was stopped on purpose.
    `candidacy_id`, `version`: of the ask, as there.
    """

    epoch: int = 0
    holder: str = ""
    in_sync: tuple[str, ...] = ()
    closed: bool = False
    candidacy_id: str = ""
    version: int = 0


class VoteRequest(Struct, frozen=True, omit_defaults=True):
    """Be bound to `host`. `position`: (incarnation, commit) of its spool. `force`: an administrator says so.

    `version`: 0 of one who is not elected yet; then `in_sync` and `close` are to be remembered, and this counts their changes.
    `candidacy_id`: random, of this candidacy alone. `release`: be bound no longer, or by no one but `successor`, if one is named.
    """

    epoch: Annotated[int, Meta(ge=1, lt=2**53)]
    host: Annotated[str, Meta(min_length=1)]
    in_sync: tuple[str, ...] = ()
    position: tuple[int, int] = (0, 0)
    close: bool = False
    release: bool = False
    force: bool = False
    candidacy_id: str = ""
    version: int = 0
    successor: str = ""


class VoteResponse(Struct, frozen=True, omit_defaults=True):
    """The answer to an ask. `epoch`, `holder`: what is promised now; `granted_s`: for how many seconds it still binds;
    `reason`: why the ask was refused, for people."""

    granted: bool
    epoch: int
    holder: str
    granted_s: float = 0.0
    reason: str = ""


class Voter:
    """One voter. The caller writes `record` to disk, if it changed, before the vote goes out. `granted_until`: when it may promise
    somebody else; until then, `successor` alone, if the holder has named one: else whoever asks first would follow, itself as well."""

    def __init__(self, record: VoteRecord, now: float) -> None:
        self.record = record
        self.successor = ""
        self.granted_until = now + LEASE_S if record.epoch else now

    def answer(self, request: VoteRequest, now: float, position: tuple[int, int] = (0, 0)) -> VoteResponse:
        """What the voter says, and remembers. `position`: of its own copy of the spool, (0, 0) without one."""
        record = self.record
        known = (request.epoch, request.host, request.candidacy_id) == (record.epoch, record.holder, record.candidacy_id)
        if request.release and known:
            self.successor = request.successor
            self.granted_until = min(self.granted_until, now + LEASE_S if self.successor else now)
            return self._vote(now)
        if not known:
            if refusal := self._refusal_reason(request, now, position):
                return self._vote(now, refusal)
            # the list stays: whether this candidate is elected, and so may change it, a voter does not know
            record, self.successor = VoteRecord(request.epoch, request.host, record.in_sync, candidacy_id=request.candidacy_id), ""
        if request.version > record.version:
            record = replace(record, in_sync=request.in_sync, closed=request.close, version=request.version)
        self.record = record
        self.granted_until = now + LEASE_S
        return self._vote(now)

    def _refusal_reason(self, request: VoteRequest, now: float, position: tuple[int, int]) -> str:
        """Why another candidacy than the promised one is refused, "" if it is not."""
        record = self.record
        if request.release:
            return "there is nothing to release"
        if request.epoch <= record.epoch:
            return f"epoch {record.epoch} is promised to {record.holder or 'nobody'}"
        is_granted = now < self.granted_until
        expected = self.successor or record.holder
        if is_granted and request.host != expected:
            return f"bound to {expected} for another {self.granted_until - now:.1f} s"
        if is_granted and not self.successor and record.version and request.position[0] >= position[0]:
            return ""  # the master as ever; a copy of its own incarnation may well be ahead of what it says here
        if request.version or request.force:
            return ""  # a majority has elected it, or an administrator
        if record.closed and request.host != record.holder:
            return f"the master on {record.holder} was stopped on purpose"
        if record.in_sync and request.host not in record.in_sync:
            return f"{request.host} lacks what was acknowledged: only {', '.join(record.in_sync)} may lead"
        if request.position < position:
            return f"the copy of {request.host} is at {request.position}, and the one here at {position}"
        return ""

    def _vote(self, now: float, refusal: str = "") -> VoteResponse:
        record = self.record
        return VoteResponse(not refusal, record.epoch, record.holder, max(0.0, self.granted_until - now), refusal)


class Lease:
    """What one candidate may conclude from the votes it got under one epoch, and what it asks next.

    `sets`: who counts, as its own copy of the spool says; a candidate that takes a commit after that gives up, since the voters
    may be others by now. `voters`: who is to be asked. `candidacy_id`: a random text, new for each object. `superseded_by`: the latest epoch, at
    or after its own, that a voter has promised to somebody else; 0 for none. A candidate that is outbid gives up, waits a random
    while, and tries again with a new object and a later epoch. A holder that is outbid, by one not elected, has its latest
    object `begin_epoch`, asks with that alone, and goes over to it as soon as that has `agreed_hosts`.
    """

    def __init__(self, host: str, epoch: int, sets: VoterSets, candidacy_id: str) -> None:
        self.host, self.epoch, self.sets, self.candidacy_id = host, epoch, sets, candidacy_id
        self.superseded_by = 0
        self._next: VoterSets = ()
        self._given_up = False
        self._later_lease: Lease | None = None
        self._sent: dict[str, float] = {}  # when the latest ask that was granted went out, by voter
        self._versions: dict[str, int] = {}  # the latest list that a voter is known to have
        self._lists: dict[int, tuple[str, ...]] = {}  # those that a voter may go by, by version
        self._last_content: tuple[tuple[str, ...], bool] | None = None
        self._version = 0

    @property
    def voters(self) -> frozenset[str]:
        """All that are to be asked."""
        return frozenset().union(*self.sets, *self._next)

    def request(self, in_sync: Iterable[str], position: tuple[int, int], close: bool = False, force: bool = False) -> VoteRequest:
        """What to send now. Until a majority has granted one it says nothing of `in_sync` and `close`."""
        if not is_majority(self.sets, self._sent):
            return VoteRequest(self.epoch, self.host, position=position, force=force, candidacy_id=self.candidacy_id)
        content = (tuple(sorted({self.host, *in_sync})), close)
        if content != self._last_content:
            self._last_content = content
            self._version += 1
            self._lists[self._version] = content[0]
        return VoteRequest(self.epoch, self.host, content[0], position, close, force=force, candidacy_id=self.candidacy_id, version=self._version)

    def give_up(self, successor: str = "") -> VoteRequest:
        """Hold no longer; what to send to all voters, after everything of this host has ceased to act as the master. Never of a
        successor alone: the voters that it frees are those by which the lease before it holds. `successor`: the host that is to
        follow, "" for any."""
        self._given_up = True
        return VoteRequest(self.epoch, self.host, release=True, candidacy_id=self.candidacy_id, successor=successor)

    def handle_response(self, voter: str, vote: VoteResponse, request: VoteRequest, sent: float) -> None:
        """A voter's answer to `request`, which went out at `sent`."""
        if request.release:
            return
        if not vote.granted:
            if vote.epoch >= self.epoch:
                self.superseded_by = max(self.superseded_by, vote.epoch)
            return
        self._sent[voter] = max(sent, self._sent.get(voter, -inf))
        self._versions[voter] = max(request.version, self._versions.get(voter, 0))
        if self._next and not self._later_lease and self._is_ready(self._next):
            self.sets, self._next = self._next, ()
        agreed_hosts = self._agreed_version(self.sets)
        self._lists = {version: hosts for version, hosts in self._lists.items() if version >= agreed_hosts}

    def valid_until(self) -> float:
        """Until when this host is the master, on the clock of `sent`; -inf if it is not."""
        return -inf if self._given_up else self._valid_until(self.sets)

    def agreed_hosts(self) -> tuple[str, ...]:
        """Who must have a thing before it is acknowledged: the list that a majority of each set has on disk, and whoever was on
        one asked for since. () until there is one: then nothing may be acknowledged."""
        return tuple(sorted(self._listed_hosts())) if self._agreed_version(self.sets) else ()

    def _listed_hosts(self) -> set[str]:
        """All on lists that voters may go by, also where a successor has told them."""
        return set().union(*self._lists.values(), self._later_lease._listed_hosts() if self._later_lease else ())

    def begin_epoch(self, epoch: int, candidacy_id: str) -> Lease:
        """The same lease under a later epoch, which its voters grant at once. This one counts until that has `agreed_hosts`,
        and changes its sets no more."""
        self._later_lease = type(self)(self.host, epoch, self.sets, candidacy_id)
        return self._later_lease

    def change_voters(self, sets: VoterSets) -> None:
        """Have `sets` count instead, as soon as they hold and have agreed no less than those before.

        From A to B goes by way of (A, B); each step only after all of `agreed_hosts` have it on disk that it is taken.
        """
        self._next = sets if sets != self.sets else ()

    def _is_ready(self, sets: VoterSets) -> bool:
        # a step must not cost the lease: what the next sets hold may end little sooner
        holds = self._valid_until(sets) >= self._valid_until(self.sets) - RENEW_S > -inf
        return holds and self._agreed_version(sets) >= self._agreed_version(self.sets) > 0

    def _valid_until(self, sets: VoterSets) -> float:
        sent = min((_reached_by_majority([self._sent.get(each, -inf) for each in hosts]) for hosts in sets), default=-inf)
        return sent + LEASE_S - MARGIN_S

    def _agreed_version(self, sets: VoterSets) -> int:
        return int(min((_reached_by_majority([self._versions.get(each, 0) for each in hosts]) for hosts in sets), default=0))


def is_majority(sets: VoterSets, hosts: Collection[str]) -> bool:
    """Whether `hosts` are more than half of each set."""
    return bool(sets) and all(2 * len(each.intersection(hosts)) > len(each) for each in sets)


def choose_voters(candidate_hosts: Sequence[str], witnesses_up: Collection[str], current: Collection[str]) -> tuple[str, ...]:
    """Who shall vote: an odd number of hosts, sorted.

    `candidate_hosts`: by preference, the master first. `witnesses_up`: hosts of which one votes too if candidates are even: one that
    does already, else the first by name. Without any there is one candidate less; so of two one alone votes, and there is no
    takeover by itself.
    """
    if len(candidate_hosts) % 2:
        return tuple(sorted(candidate_hosts))
    witnesses = sorted(set(witnesses_up) - set(candidate_hosts), key=lambda host: (host not in current, host))
    return tuple(sorted([*candidate_hosts, witnesses[0]] if witnesses else candidate_hosts[:-1]))


def _reached_by_majority(values: Sequence[float]) -> float:
    """The highest value that more than half of them reach; -inf of none."""
    return sorted(values, reverse=True)[len(values) // 2] if values else -inf
