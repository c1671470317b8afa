"""A simulation of candidates and voters on virtual time with every permitted fault: for tests/property/test_lease.py.

Clocks drift up to the limit; messages are lost, delayed up to 10 s, duplicated and reordered; hosts are cut off; voters and
candidates die and return with their data on disk; lists and sets of voters change. Each step checks that no two hosts hold the
lease, and that the holder has every acknowledged entry. The log is a tuple of entries, each with the sets of voters that count
from that entry on.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import inf

from gridengine.protocols.lease import (
    LEASE_S,
    RENEW_S,
    Lease,
    Voter,
    VoteRecord,
    VoteRequest,
    VoteResponse,
    VoterSets,
    choose_voters,
    is_majority,
)

DRIFT = 0.043  # (LEASE_S - MARGIN_S) / (1 - DRIFT) < LEASE_S / (1 + DRIFT)
FOLLOW_S = 2.0  # a shadow without an answer for so many seconds leaves the list
Entry = tuple[int, VoterSets]


class Broken(AssertionError):
    """The world is in a state that must not occur."""


@dataclass
class Rules:
    """The rules of a world; tests plant breaches here."""

    voter: type[Voter] = Voter
    lease: type[Lease] = Lease
    from_receipt: bool = False
    forgetful: bool = False
    deaf: bool = False


@dataclass(eq=False)
class Host:
    """`record`, `log`, `incarnation` are on its disk; the rest is lost when its process dies."""

    name: str
    rate: float
    candidate: bool
    log: tuple[Entry, ...]
    offset: float = 0.0
    record: VoteRecord = VoteRecord()
    incarnation: int = 0
    voter: Voter | None = None
    up: bool = True
    lease: Lease | None = None
    later_lease: Lease | None = None
    began: float = 0.0
    leads: bool = False
    heard: float = -inf
    acknowledged: int = 0  # of its own log
    in_sync: set[str] = field(default_factory=set)
    copies: dict[str, tuple[int, float]] = field(default_factory=dict)  # the length of a shadow's log, and when it was reported

    @property
    def position(self) -> tuple[int, int]:
        return (self.incarnation, len(self.log)) if self.candidate else (0, 0)

    def leases(self) -> list[Lease]:
        return [each for each in (self.lease, self.later_lease) if each]


class World:
    def __init__(self, seed: int, rules: Rules, majority: bool) -> None:
        self.random, self.rules, self.majority = random.Random(seed), rules, majority
        self.time, self.events, self.numbers = 0.0, [], count(1)
        self.kept: set[int] = set()  # entries that were acknowledged
        self.cut: set[str] = set()
        self.elections = self.steps = 0
        draw = self.random
        candidate_hosts = [f"c{number}" for number in range(draw.choice([2, 3, 3, 4]))]
        names = [*candidate_hosts, "w0", "w1"]
        self.sets: VoterSets = (frozenset(choose_voters(candidate_hosts, names, ())),)
        # the character of this world: its clocks, its network, its most frequent fault, how often voters change
        rates = draw.choice([(1 - DRIFT, 1 + DRIFT), (1 - DRIFT, 1 + DRIFT), (1.0,)])
        self.delays = draw.choice([(0.01, 0.1, 0.3), (0.01, 0.1, 0.3, 0.3, 0.3, 1.0, 3.0, 10.0)])
        self.usual = draw.choice(["voter", "candidate", "boot", "cut", "cut", "stop"])
        self.restless = draw.choice([0.02, 0.1, 0.6])
        start = ((0, self.sets),)
        self.hosts = {each: Host(each, draw.choice(rates), each in candidate_hosts, start, draw.uniform(0, 99)) for each in names}
        for host in self.hosts.values():
            self.start_voter(host)
            self.later(draw.uniform(0, 2), lambda host=host: self.tick(host))
        self.later(5.0, self.harm)

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        heapq.heappush(self.events, (self.time + seconds, next(self.numbers), what))

    def run(self, seconds: float) -> None:
        while self.events and self.time < seconds:
            self.time, _, what = heapq.heappop(self.events)
            what()
            self.check()

    def now(self, host: Host) -> float:
        return host.offset + host.rate * self.time

    def holds(self, host: Host) -> bool:
        return any(self.now(host) < lease.valid_until() for lease in host.leases())

    def check(self) -> None:
        holders = [host for host in self.hosts.values() if host.lease and self.holds(host)]
        if len(holders) > 1:
            raise Broken(f"{' and '.join(host.name for host in holders)} hold at {self.time:.3f}")
        for host in holders:
            if not host.leads:
                if lost := self.kept - {number for number, _ in host.log}:
                    raise Broken(f"{host.name} was elected at {self.time:.3f} and lacks {sorted(lost)}")
                self.elections += 1
                assert host.lease
                host.leads, host.incarnation = True, host.lease.epoch
                host.acknowledged, host.in_sync, host.copies = len(host.log), set(), {}

    # the network

    def send(self, source: Host, target: Host, what: Callable[[], object]) -> None:
        draw = self.random
        for _ in range(draw.choice([0, 1, 1, 1, 1, 1, 1, 1, 1, 2])):
            if {source.name, target.name} & self.cut and source is not target:
                continue
            delay = draw.choice(self.delays) * draw.random()
            self.later(delay, what)

    def send_request(self, host: Host, voter: Host, lease: Lease, request: VoteRequest) -> None:
        sent = self.now(host)

        def asked() -> None:
            if voter.voter is None:
                return
            vote = voter.voter.answer(request, self.now(voter), voter.position)
            voter.record = voter.voter.record
            if vote.granted and voter is not host:
                voter.heard = self.now(voter)
            self.send(voter, host, lambda: answered(vote))

        def answered(vote: VoteResponse) -> None:
            if host.up and lease in host.leases():
                lease.handle_response(voter.name, vote, request, self.now(host) if self.rules.from_receipt else sent)

        self.send(host, voter, asked)

    def send_log(self, host: Host, shadow: Host) -> None:
        log, incarnation = host.log, host.incarnation

        def received() -> None:
            if not shadow.up or shadow.leads or shadow.record.holder != host.name:
                return
            if (incarnation, len(log)) > shadow.position:
                shadow.incarnation, shadow.log = incarnation, log
                if shadow.lease and not self.rules.deaf:
                    self.give_up(shadow)  # there is a leader, and the voters may have changed
            if shadow.incarnation == incarnation:
                has = len(shadow.log)
                self.send(shadow, host, lambda: heard(has))

        def heard(has: int) -> None:
            if host.leads and host.incarnation == incarnation:
                has = max(has, host.copies.get(shadow.name, (0, 0.0))[0])
                host.copies[shadow.name] = (has, self.now(host))
                self.acknowledge(host)

        self.send(host, shadow, received)

    # candidates

    def tick(self, host: Host) -> None:
        self.later(self.random.uniform(0.3, 1.0) * RENEW_S, lambda: self.tick(host))
        if not host.up or not host.candidate:
            return
        if host.lease is None:
            if self.now(host) - host.heard > LEASE_S or self.random.random() < 0.05:
                self.campaign(host, host.record.epoch + 1)
            return
        if not self.holds(host) and (host.leads or host.lease.superseded_by or self.now(host) - host.began > 3.0):
            superseded_by = host.lease.superseded_by
            self.give_up(host)
            if self.random.random() < 0.3:
                self.campaign(host, max(superseded_by, host.record.epoch) + 1)
            return
        if host.leads:
            self.lead(host)
        for lease in host.leases()[-1:]:
            for name in sorted(lease.voters):
                self.send_request(host, self.hosts[name], lease, lease.request(host.in_sync, host.position))

    def campaign(self, host: Host, epoch: int) -> None:
        host.began = self.now(host)
        host.lease = self.rules.lease(host.name, epoch, host.log[-1][1], f"life{next(self.numbers)}")

    def give_up(self, host: Host, successor: str = "") -> None:
        leases = host.leases()
        host.lease = host.later_lease = None
        host.leads = False
        for lease in leases:
            request = lease.give_up(successor)
            for name in sorted(lease.voters):
                self.send_request(host, self.hosts[name], lease, request)

    def lead(self, host: Host) -> None:
        lease, now = host.lease, self.now(host)
        assert lease
        if host.later_lease and host.later_lease.agreed_hosts():
            lease, host.lease, host.later_lease = host.later_lease, host.later_lease, None
        latest = host.later_lease or lease
        if latest.superseded_by and now < lease.valid_until():
            host.later_lease = latest.begin_epoch(latest.superseded_by + 1, f"life{next(self.numbers)}")
        if lease.agreed_hosts():
            self.change_voters(host, lease)
            if self.random.random() < 0.5:
                host.log = (*host.log, (next(self.numbers), host.log[-1][1]))
        self.acknowledge(host)
        # nothing may be acknowledged between this and `Lease.request`, after which these shadows are awaited; others must
        # have everything now
        fresh = {name for name, (_, when) in host.copies.items() if now - when < FOLLOW_S}
        whole = {name for name, (has, _) in host.copies.items() if has >= host.acknowledged}
        host.in_sync = (host.in_sync.intersection(lease.agreed_hosts()) | whole) & fresh
        for shadow in self.hosts.values():
            if shadow.candidate and shadow is not host:
                self.send_log(host, shadow)

    def change_voters(self, host: Host, lease: Lease) -> None:
        """One step, once all electable hosts have the step before."""
        written = host.log[-1][1]
        before = next((index for index in reversed(range(len(host.log))) if host.log[index][1] != written), -1)
        if not self.with_all(host, lease, before + 2):
            return
        if written != lease.sets:
            lease.change_voters(written)
        elif len(written) > 1:
            host.log = (*host.log, (next(self.numbers), written[1:]))
        elif self.random.random() < self.restless:
            chosen = frozenset(self.random.sample(sorted(self.hosts), 3))
            host.log = (*host.log, (next(self.numbers), (*written, chosen))) if chosen not in written else host.log
            self.steps += 1

    def with_all(self, host: Host, lease: Lease, length: int) -> bool:
        return all(name == host.name or host.copies.get(name, (0, 0.0))[0] >= length for name in lease.agreed_hosts())

    def acknowledge(self, host: Host) -> None:
        """Acknowledge the entries that the mode permits: entries on all hosts in sync, or on so many that each election
        includes one of these."""
        lease = host.lease
        assert lease
        if not lease.agreed_hosts() or self.now(host) >= lease.valid_until():
            return
        for length in range(host.acknowledged + 1, len(host.log) + 1):
            have = {host.name} | {name for name, (has, _) in host.copies.items() if has >= length}
            spread = self.majority and is_majority((*lease.sets, *host.log[-1][1]), have)
            if not spread and not self.with_all(host, lease, length):
                return
            host.acknowledged = length
            self.kept.add(host.log[length - 1][0])

    # faults

    def harm(self) -> None:
        draw = self.random
        self.later(draw.uniform(0.2, 4.0), self.harm)
        leader = [each for each in self.hosts.values() if each.leads]
        host = draw.choice(leader or list(self.hosts.values())) if draw.random() < 0.3 else draw.choice(list(self.hosts.values()))
        back = draw.choice([0.0, 0.2, 1.0, 5.0, 12.0])
        kind = draw.choice([self.usual, self.usual, self.usual, "voter", "candidate", "boot", "cut", "stop"])
        if kind == "cut":
            self.cut = {host.name, *draw.sample(sorted(self.hosts), draw.choice([0, 0, 1, 2]))}
            self.later(back, self.cut.clear)
        if kind == "stop" and host.lease:
            self.give_up(host, draw.choice(["", *self.hosts]) if host.leads else "")
        if kind in ("voter", "boot"):
            host.voter = None
            self.later(back, lambda: self.start_voter(host))
        if kind in ("candidate", "boot"):
            host.up, host.lease, host.later_lease, host.leads = False, None, None, False
            self.later(back, lambda: setattr(host, "up", True))
        if kind == "boot":
            host.offset, host.heard = -host.rate * self.time, -inf

    def start_voter(self, host: Host) -> None:
        if self.rules.forgetful:
            host.record = VoteRecord()
        if host.voter is None:
            host.voter = self.rules.voter(host.record, self.now(host))
