"""The lease of the leader: at most one host is the master at a time, and never one that lacks an acknowledged change.

Owns the messages of candidates (`VoteRequest`) and voters (`VoteResponse`), the durable record of a voter (`VoteRecord`), and the
rules of both sides: `Voter` answers requests, `Lease` evaluates the responses for a candidate. Uses no clock, file or socket:
times are seconds of the caller's own monotonic clock. Called by `daemons/runtime/lease_voter.py`, the participant and the
replication. Source: adr/0146; statements SH-2, SH-3.

Why two never hold at once. A holder has the votes of a majority of each set of voters, and two majorities share a voter. When
that voter has granted at its time t, it grants no other host before t + LEASE_S; a voter that was restarted does not know t, and
waits a whole LEASE_S. The holder counts from the time it SENT the request, which is before t, and stops MARGIN_S earlier. Epochs
only grow, and are on the voter's disk before it responds, so an earlier candidate is refused forever. While the voters change,
both sets count, and one is left only when every host that may be elected knows the next (`Lease.change_voters`).

Why nothing acknowledged is lost. The holder acknowledges a change once all of `Lease.agreed_hosts` have it: the hosts on any list
that voters may now apply. A host is off the list once a majority of each set has the shorter list on disk. A later election needs
a majority too, so one of its voters has that list or a later one, and refuses a host that is not on it. Only elected candidates
issue lists, and by the same reason these have everything; lists are numbered, so that a delayed request never restores an earlier
one.

Assumed: in LEASE_S two clocks drift apart by less than MARGIN_S; they are monotonic and count sleep (CLOCK_BOOTTIME); a voter's
disk keeps what was written. Messages may be lost, delayed, duplicated and reordered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import inf
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

LEASE_S = 6.0
"""Seconds for which a voter that has granted a request grants no other host."""
MARGIN_S = 0.5
"""Seconds by which a holder stops earlier: the maximum drift of two clocks in LEASE_S."""
RENEW_S = 1.0
"""Seconds between two requests of a holder."""

VoterSets = tuple[frozenset[str], ...]
"""Hosts that vote: a majority of each set is needed. One set, or two while voters change."""


class VoteRecord(Struct, frozen=True, omit_defaults=True):
    """The durable state of a voter. `epoch`: number of the last grant; `holder`: the host that has it.

    `in_sync`: hosts that have every acknowledged change, () if no list was received. `closed`: the master was stopped on purpose.
    `candidacy_id`, `version`: as in the granted request.
    """

    epoch: int = 0
    holder: str = ""
    in_sync: tuple[str, ...] = ()
    closed: bool = False
    candidacy_id: str = field(name="life", default="")
    version: int = 0


class VoteRequest(Struct, frozen=True, omit_defaults=True):
    """Grant the lease to `host` in the term `epoch`. `position`: (incarnation, commit) of its spool. `force`: an administrator
    has ordered it.

    `version`: 0 before the election; afterwards the voter stores `in_sync` and `close`, and this counts their changes.
    `candidacy_id`: random, unique to this candidacy. `release`: end the grant; the next one goes to `successor`, or to any host
    if that is "". Field names on the wire and on disk are those of earlier releases.
    """

    epoch: Annotated[int, Meta(ge=1, lt=2**53)]
    host: Annotated[str, Meta(min_length=1)]
    in_sync: tuple[str, ...] = ()
    position: tuple[int, int] = (0, 0)
    close: bool = False
    release: bool = False
    force: bool = False
    candidacy_id: str = field(name="life", default="")
    version: int = 0
    successor: str = field(name="heir", default="")


class VoteResponse(Struct, frozen=True, omit_defaults=True):
    """The response to a request: `granted` or refused. `epoch`, `holder`: the current grant; `granted_s`: its remaining seconds;
    `reason`: why the request was refused, for people."""

    granted: bool
    epoch: int
    holder: str
    granted_s: float = field(name="bound_s", default=0.0)
    reason: str = ""


class Voter:
    """One voter. The caller writes `record` to disk, if it changed, before it sends the response.

    `granted_until`: no other host gets a grant before, except `successor`, if the holder has named one. Without that rule the
    first candidate to ask would follow, and that may be the former holder.
    """

    def __init__(self, record: VoteRecord, now: float) -> None:
        self.record = record
        self.successor = ""
        self.granted_until = now + LEASE_S if record.epoch else now

    def answer(self, request: VoteRequest, now: float, position: tuple[int, int] = (0, 0)) -> VoteResponse:
        """Respond to a request, and update `record`. `position`: of the voter's own copy of the spool, (0, 0) without one."""
        record = self.record
        known = (request.epoch, request.host, request.candidacy_id) == (record.epoch, record.holder, record.candidacy_id)
        if request.release and known:
            self.successor = request.successor
            self.granted_until = min(self.granted_until, now + LEASE_S if self.successor else now)
            return self._vote(now)
        if not known:
            if refusal := self._refusal_reason(request, now, position):
                return self._vote(now, refusal)
            # the list stays: a voter does not know whether this candidate is elected, and so may change it
            record = VoteRecord(request.epoch, request.host, record.in_sync, candidacy_id=request.candidacy_id)
            self.successor = ""
        if request.version > record.version:
            record = replace(record, in_sync=request.in_sync, closed=request.close, version=request.version)
        self.record = record
        self.granted_until = now + LEASE_S
        return self._vote(now)

    def _refusal_reason(self, request: VoteRequest, now: float, position: tuple[int, int]) -> str:
        """Why a candidacy other than the granted one is refused, "" if it is not."""
        record = self.record
        if request.release:
            return "there is nothing to release"
        if request.epoch <= record.epoch:
            return f"epoch {record.epoch} is granted to {record.holder or 'no host'}"
        is_granted = now < self.granted_until
        expected = self.successor or record.holder
        if is_granted and request.host != expected:
            return f"granted to {expected} for another {self.granted_until - now:.1f} s"
        if is_granted and not self.successor and record.version and request.position[0] >= position[0]:
            return ""  # the master renews; a copy of its own incarnation may be ahead of the position in its request
        if request.version or request.force:
            return ""  # elected by a majority, or forced by an administrator
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
    """The lease of one candidate under one epoch: evaluates the responses of voters and makes the next request.

    `sets`: the voters that count, according to the candidate's own copy of the spool; a candidate that takes a later commit
    gives up, since the voters may have changed. `voters`: all hosts that get requests. `candidacy_id`: a random text, new for
    each object. `superseded_by`: the latest epoch, not below its own, that a voter has granted to another host; 0 for none. A
    superseded candidate gives up, waits a random time, and tries again with a new object and a later epoch. A holder superseded
    by a candidate that was not elected calls `begin_epoch` on its latest object, sends the requests of that object only, and
    replaces this one as soon as that has `agreed_hosts`.
    """

    def __init__(self, host: str, epoch: int, sets: VoterSets, candidacy_id: str) -> None:
        self.host, self.epoch, self.sets, self.candidacy_id = host, epoch, sets, candidacy_id
        self.superseded_by = 0
        self._next: VoterSets = ()
        self._given_up = False
        self._later_lease: Lease | None = None
        self._sent: dict[str, float] = {}  # when the latest granted request was sent, by voter
        self._versions: dict[str, int] = {}  # the latest list that a voter is known to have stored
        self._lists: dict[int, tuple[str, ...]] = {}  # lists that a voter may apply, by version
        self._last_content: tuple[tuple[str, ...], bool] | None = None
        self._version = 0

    @property
    def voters(self) -> frozenset[str]:
        """All hosts that get requests."""
        return frozenset().union(*self.sets, *self._next)

    def request(self, in_sync: Iterable[str], position: tuple[int, int], close: bool = False, force: bool = False) -> VoteRequest:
        """The next request. It omits `in_sync` and `close` until a majority has granted one."""
        if not is_majority(self.sets, self._sent):
            return VoteRequest(self.epoch, self.host, position=position, force=force, candidacy_id=self.candidacy_id)
        content = (tuple(sorted({self.host, *in_sync})), close)
        if content != self._last_content:
            self._last_content = content
            self._version += 1
            self._lists[self._version] = content[0]
        hosts, version = content[0], self._version
        return VoteRequest(
            self.epoch, self.host, hosts, position, close, force=force, candidacy_id=self.candidacy_id, version=version
        )

    def give_up(self, successor: str = "") -> VoteRequest:
        """Give up the lease, and return the request for all voters, to be sent when nothing of this host acts as the master any
        longer. Never call it on a later lease alone: the voters that it frees are those of the lease before it. `successor`: the
        host that is to follow, "" for any."""
        self._given_up = True
        return VoteRequest(self.epoch, self.host, release=True, candidacy_id=self.candidacy_id, successor=successor)

    def handle_response(self, voter: str, vote: VoteResponse, request: VoteRequest, sent: float) -> None:
        """Take in a voter's response to `request`, which was sent at `sent`."""
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
        agreed = self._agreed_version(self.sets)
        self._lists = {version: hosts for version, hosts in self._lists.items() if version >= agreed}

    def valid_until(self) -> float:
        """When the lease ends, on the clock of `sent`; -inf if this host does not hold it."""
        return -inf if self._given_up else self._valid_until(self.sets)

    def agreed_hosts(self) -> tuple[str, ...]:
        """The hosts that must have a change before it is acknowledged: those on the list that a majority of each set has on disk,
        and on every list requested since. () until there is one: then nothing may be acknowledged."""
        return tuple(sorted(self._listed_hosts())) if self._agreed_version(self.sets) else ()

    def _listed_hosts(self) -> set[str]:
        """All hosts on lists that voters may apply, those of a later lease included."""
        return set().union(*self._lists.values(), self._later_lease._listed_hosts() if self._later_lease else ())

    def begin_epoch(self, epoch: int, candidacy_id: str) -> Lease:
        """Return the same lease under a later epoch, which its voters grant at once. This one counts until that has
        `agreed_hosts`, and no longer changes its sets."""
        self._later_lease = type(self)(self.host, epoch, self.sets, candidacy_id)
        return self._later_lease

    def change_voters(self, sets: VoterSets) -> None:
        """Make `sets` the voters that count, as soon as they hold and have agreed no less than the present ones.

        The way from A to B is (A, B); a step begins only when all of `agreed_hosts` have it on disk.
        """
        self._next = sets if sets != self.sets else ()

    def _is_ready(self, sets: VoterSets) -> bool:
        # a step must not cost the lease: the grants of the next sets may end only a little sooner
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
    """The hosts that vote: an odd number, sorted.

    `candidate_hosts`: by preference, the master first. `witnesses_up`: one of these hosts votes too if the number of candidates
    is even: a present voter, else the first by name. Without a witness the last candidate does not vote; of two candidates only
    one votes then, and no takeover is automatic.
    """
    if len(candidate_hosts) % 2:
        return tuple(sorted(candidate_hosts))
    witnesses = sorted(set(witnesses_up) - set(candidate_hosts), key=lambda host: (host not in current, host))
    return tuple(sorted([*candidate_hosts, witnesses[0]] if witnesses else candidate_hosts[:-1]))


def _reached_by_majority(values: Sequence[float]) -> float:
    """The highest value that more than half of them reach; -inf of none."""
    return sorted(values, reverse=True)[len(values) // 2] if values else -inf
