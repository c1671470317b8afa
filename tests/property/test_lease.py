"""The laws of the lease: never two leaders, never a leader without an acknowledged change; and each breach of a rule is detected.

Random histories from a seed (tests/property/lease_world.py), so that a failure can be replayed. With an even seed the holder
acknowledges entries of a majority, with an odd seed entries of all hosts in sync.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gridengine.protocols import lease as module
from gridengine.protocols.lease import Lease, Voter, VoteRecord, VoteRequest, VoteResponse, VoterSets
from tests.property.lease_world import DRIFT, Broken, Rules, World

SECONDS = 200.0
SEEDS = 80


def play(seed: int, rules: Rules) -> World:
    world = World(seed, rules, majority=seed % 2 == 0)
    world.run(SECONDS)
    return world


@pytest.mark.statement("SH-2", "SH-3")
def test_never_two_masters_serve_and_no_acknowledged_change_is_lost() -> None:
    worlds = [play(seed, Rules()) for seed in range(SEEDS)]
    assert all(world.kept for world in worlds)
    assert sum(world.elections for world in worlds) > 3 * SEEDS, "the lease went from host to host"
    assert sum(world.steps for world in worlds) > 3 * SEEDS, "and the voters changed"


class ForgetsTheLease(Voter):
    """Does not wait for its grant after a restart."""

    def __init__(self, record: VoteRecord, now: float) -> None:
        super().__init__(record, now)
        self.granted_until = now


class NoList(Voter):
    """Does not check whether a candidate is in sync."""

    def _refusal_reason(self, request: VoteRequest, now: float, position: tuple[int, int]) -> str:
        record = self.record
        self.record = replace(record, in_sync=())
        try:
            return super()._refusal_reason(request, now, position)
        finally:
            self.record = record


class NoPosition(Voter):
    """Does not compare positions."""

    def _refusal_reason(self, request: VoteRequest, now: float, position: tuple[int, int]) -> str:
        return super()._refusal_reason(request, now, (0, 0))


class AnyEpoch(Voter):
    """Grants epochs earlier than the recorded epoch."""

    def _refusal_reason(self, request: VoteRequest, now: float, position: tuple[int, int]) -> str:
        return super()._refusal_reason(replace(request, epoch=self.record.epoch + 1), now, position)


class OneCandidacy(Voter):
    """Does not distinguish two candidacies of a host under one epoch."""

    def answer(self, request: VoteRequest, now: float, position: tuple[int, int] = (0, 0)) -> VoteResponse:
        return super().answer(replace(request, candidacy_id=request.host), now, position)


class ListsUnelected(Lease):
    """Sends its list before it is elected."""

    def __init__(self, host: str, epoch: int, sets: VoterSets, candidacy_id: str) -> None:
        super().__init__(host, epoch, sets, candidacy_id)
        self._sent = dict.fromkeys(self.voters, float("-inf"))


class LatestListAlone(Lease):
    """Treats its latest list as agreed at once."""

    def agreed_hosts(self) -> tuple[str, ...]:
        return self._lists[max(self._lists)] if super().agreed_hosts() else ()


#: breach -> the rules with it, and a seed whose history shows it; after a change of the world another one may be needed
BREACHES: dict[str, tuple[Rules, int]] = {
    "no grant after a restart": (Rules(voter=ForgetsTheLease), 15),
    "counted from the receipt": (Rules(from_receipt=True), 10),
    "hosts in sync ignored": (Rules(voter=NoList), 0),
    "positions ignored": (Rules(voter=NoPosition), 118),
    "records lost": (Rules(forgetful=True), 1),
    "any epoch": (Rules(voter=AnyEpoch), 2223),
    "one candidacy": (Rules(voter=OneCandidacy), 37),
    "lists of a candidate not elected": (Rules(lease=ListsUnelected), 0),
    "latest list alone": (Rules(lease=LatestListAlone), 11),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_detected(breach: str) -> None:
    rules, seed = BREACHES[breach]
    play(seed, Rules())
    with pytest.raises(Broken):
        play(seed, rules)


@pytest.mark.parametrize("margin", [module.MARGIN_S, 0.0])
def test_the_margin_is_what_the_drift_of_clocks_needs(margin: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder's clock is as slow, and the voters' as fast, as allowed; another host campaigns as soon as the grant expires."""
    monkeypatch.setattr(module, "MARGIN_S", margin)
    sets: VoterSets = (frozenset({"v"}),)
    voter, holder, other = Voter(VoteRecord(), 0.0), Lease("a", 1, sets, "a"), Lease("b", 2, sets, "b")
    request = holder.request((), (1, 1))
    holder.handle_response("v", voter.answer(request, 0.0), request, 0.0)
    free = module.LEASE_S / (1 + DRIFT)
    assert not voter.answer(other.request((), (1, 1)), (free - 0.001) * (1 + DRIFT)).granted
    assert voter.answer(other.request((), (1, 1)), (free + 0.001) * (1 + DRIFT)).granted
    assert (free * (1 - DRIFT) < holder.valid_until()) == (margin == 0.0), "only without it two hold"
