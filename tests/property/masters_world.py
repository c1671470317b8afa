"""A cell whose hosts have their own copies of common/, on virtual time: shadows are added, removed and take over, hosts lose
their power, files are replaced by older versions. For tests/property/test_masters.py and `make masters`.

The decisions are made by the product: the exchange of files, the lease, the choice of voters, and the check before a qmaster
serves; simulated are the hosts, the clock and the network between them, which loses nothing. Each second checks that no two hosts
serve, and that no job number is used twice. At most one host is off or cut off at a time: with more, a qmaster that needs no
other vote may find no host to ask, and it serves then, as a cold start must (adr/0174).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from daemons.qmaster.shadow import other_masters
from daemons.runtime.cell import Cell, CellError, read_cell
from daemons.runtime.cell_copy import CellCopy, OfferedFiles, follow, mark
from daemons.runtime.lease_voter import LeaseVoter
from gridengine.protocols.lease import Lease, Voter, VoteRecord, VoteRequest, VoteResponse, VoterSets, choose_voters

NAMES = ("a", "b", "c", "d", "e")
BOOTSTRAP = "admin_user root\nqmaster_spool_dir /q\nexecd_spool_dir /e\nrun_dir /r\nqmaster_port 6444\nray_port 6446\n"


class Broken(AssertionError):
    """The cell is in a state that must not occur."""


@dataclass(frozen=True)
class Spool:
    """`incarnation` 0: there is none. `last`: the latest job number."""

    incarnation: int = 0
    last: int = 0
    voters: VoterSets = ()

    @property
    def position(self) -> tuple[int, int]:
        return self.incarnation, self.last


@dataclass(eq=False)
class Participant:
    """A running qmaster or shadow. `alone`: the master needs no other vote."""

    alone: bool
    wants: bool
    voter: Voter
    lease: Lease | None = None
    in_sync: tuple[str, ...] = ()
    candidate_hosts: tuple[str, ...] = ()


@dataclass(eq=False)
class Host:
    """`participant_record`, `record` (as a witness), `spool` and the files are on its disk."""

    name: str
    cell: Cell
    spool: Spool = Spool()
    participant_record: VoteRecord = VoteRecord()
    record: VoteRecord = VoteRecord()
    up: bool = True
    cut: bool = False
    participant: Participant | None = None
    witness: Voter | None = None
    answered: str = ""  # the master that answered its sge_execd last
    old: list[dict[str, str]] = field(default_factory=list)  # its files at earlier times


def list_files(host: Host) -> dict[str, str]:
    """The files that differ between hosts, "" for a missing one."""
    paths = (host.cell.act_qmaster, host.cell.shadow_masters)
    return {path.name: path.read_text() if path.exists() else "" for path in paths}


def latest(host: Host) -> VoteRecord:
    """The latest vote record of a host, which is one voter in both roles."""
    return max(host.participant_record, host.record, key=lambda record: (record.epoch, record.version))


class ParticipantVoter(LeaseVoter):
    """The voter of a host that starts, with its record in memory."""

    def __init__(self, record: VoteRecord) -> None:
        self._voter = Voter(record, 0.0)


class World:
    """`rule`: whether a qmaster asks before it serves; a test takes it away."""

    def __init__(self, seed: int, place: Path, rule: bool = True) -> None:
        self.random, self.rule = random.Random(seed), rule
        self.now, self.lives, self.given = 0.0, count(1), set[int]()
        self.did: list[str] = []
        self.refused = self.elections = self.followed = 0
        self.hosts = {name: self.made(place / name, name) for name in NAMES}
        first = self.hosts["a"]
        first.spool, first.participant = Spool(1), Participant(True, True, Voter(VoteRecord(), self.now))

    def made(self, root: Path, name: str) -> Host:
        common = root / "c" / "common"
        common.mkdir(parents=True)
        (common / "bootstrap").write_text(BOOTSTRAP)
        (common / "act_qmaster").write_text("a\n")
        mark(common)
        return Host(name, read_cell({"SGE_ROOT": str(root), "SGE_CELL": "c"}))

    def reaches(self, one: Host, other: Host) -> bool:
        return other.up and one.up and (one is other or not (one.cut or other.cut))

    def serves(self, host: Host) -> bool:
        role = host.participant
        return host.up and role is not None and (role.alone or (role.lease is not None and self.now < role.lease.valid_until()))

    def serving(self) -> list[Host]:
        return [host for host in self.hosts.values() if self.serves(host)]

    def check(self) -> None:
        if len(serving := self.serving()) > 1:
            raise Broken(f"{' and '.join(host.name for host in serving)} serve at {self.now:.0f} s: {'; '.join(self.did)}")

    # --- administrators and faults ---------------------------------------------------------------------------------

    def act(self) -> None:
        draw, hosts = self.random, list(self.hosts.values())
        host, masters = draw.choice(hosts), self.serving()
        kinds = ["start", "start", "take-over", "take-over", "stop", "off", "cut", "stale", "stale", "alone"]
        kind = draw.choice([*kinds, *(["add", "add", "remove"] if masters else [])])
        self.did.append(f"{self.now:.0f} {kind} {host.name}")
        ill = [each for each in hosts if not each.up or each.cut]
        if kind in ("add", "remove"):
            self.change_list(masters[0], host.name, kind)
        elif kind in ("off", "cut"):
            for each in ill:  # it returns before the next host fails
                each.cut, each.up = False, True
            if not ill:
                host.cut, host.up = kind == "cut", kind == "cut"
                if kind == "off":
                    host.participant = host.witness = None
        elif kind == "stop" and host.participant:
            self.resign(host)
            host.participant = None
        elif kind == "start":
            self.start(host)
        elif kind == "take-over" and host.participant and not host.participant.alone and not self.serves(host):
            for master in masters:
                if self.reaches(host, master) and host.name in master.participant.in_sync:  # type: ignore[union-attr]
                    self.resign(master, host.name)
                    host.participant.wants = True
        elif kind in ("stale", "alone"):
            others = [each for each in hosts if each.spool.incarnation and not self.serves(each)]
            self.put_back(draw.choice(others or [host]), kind == "alone")

    def change_list(self, master: Host, name: str, kind: str) -> None:
        listed = list(master.cell.candidate_hosts()) or [master.name]
        if kind == "add" and name not in listed and len(listed) < 4:
            listed.append(name)
        elif kind == "remove" and name in listed and name != master.name:
            listed.remove(name)
        master.cell.shadow_masters.write_text("".join(f"{each}\n" for each in listed))

    def put_back(self, host: Host, alone: bool) -> None:
        """Restart the host with earlier files, or with files that name it as the only master."""
        if not host.up or self.serves(host):
            return
        host.participant = host.witness = None
        files = {"act_qmaster": f"{host.name}\n", "shadow_masters": ""} if alone else self.random.choice(host.old or [{}])
        for name, text in files.items():
            (host.cell.common / name).unlink(missing_ok=True)
            if text:
                (host.cell.common / name).write_text(text)
        if self.random.random() < 0.7:
            self.start(host)  # before sge_execd has asked any master

    def start(self, host: Host) -> None:
        """`gridengine start`: the program that the files name."""
        named, candidate_hosts = host.cell.master_host(), host.cell.candidate_hosts()
        if host.participant or not host.up or not (named == host.name or host.name in candidate_hosts):
            return
        if named == host.name and not self.may_serve(host):
            return
        alone = named == host.name and host.name not in candidate_hosts
        host.participant_record, host.witness = latest(host), None
        host.participant = Participant(alone, named == host.name, Voter(latest(host), self.now), candidate_hosts=candidate_hosts)

    def may_serve(self, host: Host) -> bool:
        """The check of the product before it serves without other votes."""
        if not host.spool.incarnation:
            return False  # `claim_spool` refuses without the spool of a cell that has run
        if not self.rule:
            return True

        async def asked(_cell: Cell, name: str) -> tuple[list[str], list[VoteRecord]]:
            others = [each for each in self.hosts.values() if each.name != name and self.reaches(host, each)]
            records = (self.reported_record(each) for each in others)
            return [each.name for each in others if self.serves(each)], [each for each in records if each]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(other_masters, "_ask_hosts", asked)
            patch.setattr(other_masters, "voters", lambda _: host.spool.voters)
            try:
                asyncio.run(other_masters.refuse_second_master(host.cell, host.name, ParticipantVoter(latest(host))))
            except CellError:
                self.refused += 1
                return False
        return True

    def reported_record(self, host: Host) -> VoteRecord | None:
        """The answer of a host to the request `promise`: of its participant, or of its sge_execd as a witness."""
        if host.participant and not host.participant.alone:
            return host.participant_record
        return latest(host) if self.is_witness(host) else None

    def is_witness(self, host: Host) -> bool:
        candidate_hosts = host.cell.candidate_hosts()
        return host.name not in candidate_hosts and bool(candidate_hosts or latest(host).epoch)

    def tick(self) -> None:
        self.now += 1.0
        hosts = list(self.hosts.values())
        self.random.shuffle(hosts)
        for host in hosts:
            if host.up:
                self.follow_files(host)
                if host.participant:
                    self.tick_participant(host, host.participant)
            self.check()

    def follow_files(self, host: Host) -> None:
        """The hello of sge_execd, or the request of the participant; a serving qmaster follows no other host."""
        if host.participant and (host.participant.alone or self.serves(host)):
            return
        if host.participant:
            is_granted = self.now < host.participant.voter.granted_until
            holder = host.participant_record.holder
            asked = [holder] if is_granted and holder != host.name else []
        else:
            asked = list(dict.fromkeys((host.cell.master_host(), host.answered, *host.cell.candidate_hosts())))
        for name in filter(None, asked):
            master = self.hosts[name]
            if not (self.reaches(host, master) and self.serves(master)):
                continue
            host.answered = name
            if (files := list_files(host)) != list_files(master):
                host.old.append(files)
                state = CellCopy(host.cell.common).state()
                offered = asyncio.run(OfferedFiles(master.cell.common, name).select_files(state["files"], state["files_mark"]))  # type: ignore[arg-type]
                self.followed += bool(follow(host.cell.common, offered))
            return

    def tick_participant(self, host: Host, participant: Participant) -> None:
        if participant.alone:
            self.give_number(host)
            if host.name in (candidate_hosts := host.cell.candidate_hosts()):  # it restarts as one of several
                host.participant = Participant(False, True, Voter(latest(host), self.now), candidate_hosts=candidate_hosts)
            return
        if participant.lease is None:
            listed = host.participant_record.in_sync
            by_itself = host.participant_record.epoch and self.now > participant.voter.granted_until + 2 and host.name in listed
            if participant.wants or (by_itself and not host.participant_record.closed and host.spool.incarnation):
                self.campaign(host, participant)
            return
        if self.now >= participant.lease.valid_until():
            self.resign(host)
            return
        self.lead(host, participant, participant.lease)

    def campaign(self, host: Host, participant: Participant) -> None:
        sets = host.spool.voters
        if not sets:
            if not self.may_serve(host):
                return
            sets = (frozenset((host.name,)),)
        lease = Lease(host.name, host.participant_record.epoch + 1, sets, f"life{next(self.lives)}")
        participant.lease = lease
        self.request_votes(host, lease, lease.request((), host.spool.position))
        if self.now < lease.valid_until():
            self.elections += 1
            participant.wants, participant.in_sync, participant.candidate_hosts = False, (), host.cell.candidate_hosts()
            host.spool = Spool(max(host.spool.incarnation, lease.epoch) + 1, host.spool.last, host.spool.voters)
            (host.cell.common / "act_qmaster").write_text(f"{host.name}\n")
        else:
            is_granted = self.now < participant.voter.granted_until and host.participant_record.holder != host.name
            participant.wants = participant.wants and not is_granted
            self.resign(host)

    def lead(self, host: Host, participant: Participant, lease: Lease) -> None:
        """Renew, give out a job number, and let shadows have everything."""
        shadows = [
            each
            for each in self.hosts.values()
            if each is not host and each.name in host.cell.candidate_hosts() and self.reaches(host, each)
            if (role := each.participant) and not role.alone and not role.lease and each.participant_record.holder == host.name
        ]
        participant.in_sync = tuple(sorted(each.name for each in shadows))
        for each in shadows:
            each.spool = host.spool
        self.request_votes(host, lease, lease.request(participant.in_sync, host.spool.position))
        for name in sorted(set(host.cell.candidate_hosts()) - lease.voters):  # these get requests without being voters
            self.request(host, self.hosts[name], lease, lease.request(participant.in_sync, host.spool.position))
        if self.now >= lease.valid_until():
            return
        agreed_hosts = lease.agreed_hosts()
        if agreed_hosts and {*agreed_hosts} <= {host.name, *participant.in_sync}:
            self.give_number(host)
            for each in shadows:
                each.spool = host.spool
            self.change_voters(host, lease)

    def change_voters(self, host: Host, lease: Lease) -> None:
        written = host.spool.voters or lease.sets
        if written != lease.sets:
            lease.change_voters(written)
            return
        up = [each.name for each in self.hosts.values() if self.reaches(host, each)]
        candidate_hosts = list(dict.fromkeys((host.name, *host.cell.candidate_hosts())))
        chosen = frozenset(choose_voters(candidate_hosts, up, frozenset().union(*written)))
        after = written[1:] if len(written) > 1 else (*written, chosen) if chosen not in written else written
        host.spool = Spool(host.spool.incarnation, host.spool.last, after)

    def give_number(self, host: Host) -> None:
        number = host.spool.last + 1
        if number in self.given:
            raise Broken(f"{host.name} gives {number} a second time at {self.now:.0f} s: {'; '.join(self.did)}")
        self.given.add(number)
        host.spool = Spool(host.spool.incarnation, number, host.spool.voters)

    def resign(self, host: Host, successor: str = "") -> None:
        """Release the lease, if the host holds it, or stop serving."""
        if host.participant and host.participant.lease:
            lease, host.participant.lease = host.participant.lease, None
            self.request_votes(host, lease, lease.give_up(successor))

    def request_votes(self, host: Host, lease: Lease, request: VoteRequest) -> None:
        for name in sorted(lease.voters):
            self.request(host, self.hosts[name], lease, request)

    def request(self, host: Host, voter: Host, lease: Lease, request: VoteRequest) -> None:
        if (vote := self.vote(host, voter, request)) is not None:
            lease.handle_response(voter.name, vote, request, self.now)

    def vote(self, host: Host, voter: Host, request: VoteRequest) -> VoteResponse | None:
        """None: the host is unreachable, or does not know the caller as a candidate."""
        if not self.reaches(host, voter) or (host is not voter and host.name not in voter.cell.listed_masters()):
            return None
        if voter.participant and not voter.participant.alone:
            vote = voter.participant.voter.answer(request, self.now, voter.spool.position)
            voter.participant_record = voter.participant.voter.record
            return vote
        if voter.up and self.is_witness(voter):
            if voter.witness is None:
                voter.witness = Voter(latest(voter), self.now)
            vote = voter.witness.answer(request, self.now)
            voter.record = voter.witness.record
            return vote
        return None


def play(seed: int, steps: int = 60, rule: bool = True) -> World:
    """One random history. Raises Broken."""
    with TemporaryDirectory() as directory:
        world = World(seed, Path(directory), rule)
        for _ in range(steps):
            world.act()
            for _ in range(world.random.choice([1, 3, 10])):
                world.tick()
    return world


def main() -> None:
    """Play many histories and print a summary."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--from", type=int, default=0, dest="first")
    chosen = parser.parse_args()
    began, worlds = time.monotonic(), []
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        try:
            worlds.append(play(seed))
        except Broken as broken:
            raise SystemExit(f"seed {seed}: {broken}") from None
    print(
        f"{len(worlds)} histories, {sum(world.now for world in worlds) / 3600:.1f} h of their time, in "
        f"{time.monotonic() - began:.0f} s: {sum(world.elections for world in worlds)} elections, "
        f"{sum(world.refused for world in worlds)} qmasters refused, {sum(world.followed for world in worlds)} copies of "
        f"common/ followed, {sum(len(world.given) for world in worlds)} job numbers, none twice; never two masters"
    )


if __name__ == "__main__":
    main()
