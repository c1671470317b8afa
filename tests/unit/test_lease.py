"""The grants and the record of a voter, and the conclusions of a candidate: rule by rule."""

from __future__ import annotations

from math import inf

import pytest

from gridengine.protocols.lease import (
    LEASE_S,
    MARGIN_S,
    Lease,
    Voter,
    VoteRecord,
    VoteRequest,
    VoteResponse,
    VoterSets,
    choose_voters,
    is_majority,
)

T = 1000.0
HELD = VoteRecord(4, "m", ("m", "s"), candidacy_id="m4", version=2)
THREE: VoterSets = (frozenset({"m", "s", "w"}),)
FAR = T + LEASE_S


def request(host: str = "s", epoch: int = 5, **fields: object) -> VoteRequest:
    return VoteRequest(epoch, host, candidacy_id=f"{host}{epoch}", **fields)


def renewal(version: int = 2, **fields: object) -> VoteRequest:
    return request("m", 4, version=version, **{"in_sync": ("m", "s"), **fields})


@pytest.mark.statement("SH-3")
def test_the_first_request_is_granted_for_the_lease() -> None:
    voter = Voter(VoteRecord(), T)
    assert voter.answer(request("m", 1), T) == VoteResponse(True, 1, "m", LEASE_S)
    assert voter.record == VoteRecord(1, "m", candidacy_id="m1")
    vote = voter.answer(request("s", 2), T + LEASE_S - 0.01)
    assert not vote.granted and (vote.epoch, vote.holder) == (1, "m") and "granted to m for another" in vote.reason
    assert vote.granted_s == pytest.approx(0.01)
    assert voter.answer(request("s", 2), FAR).granted


def test_a_renewal_extends_the_grant() -> None:
    voter = Voter(HELD, T)
    assert voter.answer(renewal(), T + 5).granted_s == LEASE_S
    assert not voter.answer(request(), T + 10.9).granted
    assert voter.record == HELD


@pytest.mark.statement("SH-3")
def test_a_restarted_voter_grants_nothing_else_for_a_whole_lease() -> None:
    assert not Voter(HELD, T).answer(request(), T + LEASE_S - 0.01).granted
    assert Voter(HELD, T).answer(request(), FAR).granted
    assert Voter(VoteRecord(), T).answer(request(), T).granted


@pytest.mark.parametrize(
    "late",
    [request("s", 3), request("s", 4), request("m", 3), VoteRequest(4, "m", candidacy_id="another"), VoteRequest(4, "m")],
)
def test_an_epoch_that_is_not_later_is_refused_forever(late: VoteRequest) -> None:
    voter = Voter(HELD, T)
    vote = voter.answer(late, FAR + 99)
    assert (vote.granted, vote.epoch, vote.holder) == (False, 4, "m") and "epoch 4 is granted to m" in vote.reason
    assert voter.record == HELD


def test_the_holder_itself_gets_a_later_epoch_at_once() -> None:
    voter = Voter(HELD, T)
    assert voter.answer(request("m", 5), T).granted
    assert voter.record == VoteRecord(5, "m", ("m", "s"), candidacy_id="m5")


@pytest.mark.parametrize(("position", "granted"), [((7, 1), True), ((6, 99), False)])
def test_a_copy_of_its_own_incarnation_may_be_ahead_of_a_holder(position: tuple[int, int], granted: bool) -> None:
    assert Voter(HELD, T).answer(request("m", 5, position=position), T, (7, 3)).granted is granted
    assert not Voter(HELD, T).answer(request("m", 5, position=position), FAR, (7, 3)).granted


def test_a_candidate_that_was_not_elected_is_checked_again() -> None:
    voter = Voter(HELD, T)
    assert voter.answer(request("s", 5, position=(7, 3)), FAR, (7, 3)).granted
    assert not voter.answer(request("s", 6, position=(7, 3)), FAR, (7, 4)).granted


def test_only_a_host_in_sync_is_elected() -> None:
    vote = Voter(HELD, T).answer(request("x"), FAR)
    assert not vote.granted and vote.reason == "x lacks what was acknowledged: only m, s may lead"


def test_no_host_whose_copy_is_behind_is_elected() -> None:
    behind = request(position=(7, 3))
    assert not Voter(HELD, T).answer(behind, FAR, (7, 4)).granted
    assert not Voter(HELD, T).answer(behind, FAR, (8, 1)).granted
    assert Voter(HELD, T).answer(behind, FAR, (7, 3)).granted
    assert Voter(HELD, T).answer(behind, FAR).granted


def test_an_elected_candidate_needs_only_that_no_other_host_holds() -> None:
    elected = request("x", 5, in_sync=("x",), version=3)
    assert not Voter(HELD, T).answer(elected, T).granted
    voter = Voter(HELD, T)
    assert voter.answer(elected, FAR, (9, 9)).granted
    assert voter.record == VoteRecord(5, "x", ("x",), candidacy_id="x5", version=3)


def test_an_election_leaves_the_list_and_versions_change_it() -> None:
    voter = Voter(HELD, T)
    voter.answer(request("s", 5, in_sync=("s",)), FAR)
    assert voter.record.in_sync == ("m", "s")
    voter.answer(request("s", 5, in_sync=("s",), version=1), FAR)
    assert voter.record == VoteRecord(5, "s", ("s",), candidacy_id="s5", version=1)


def test_a_delayed_request_is_granted_but_restores_no_earlier_list() -> None:
    voter = Voter(HELD, T)
    voter.answer(renewal(3, in_sync=("m",)), T)
    assert voter.answer(renewal(2), T + 3).granted_s == LEASE_S
    assert voter.record.in_sync == ("m",)


@pytest.mark.statement("SH-3")
def test_a_master_that_was_stopped_on_purpose_is_not_replaced() -> None:
    voter = Voter(HELD, T)
    voter.answer(renewal(3, close=True), T)
    assert voter.record.closed
    assert voter.answer(request(), FAR).reason == "the master on m was stopped on purpose"
    assert voter.answer(request("m", 6), FAR).granted and not voter.record.closed
    assert voter.answer(request(epoch=7), FAR + LEASE_S).granted


def test_a_renewal_opens_again() -> None:
    voter = Voter(HELD, T)
    voter.answer(renewal(3, close=True), T)
    voter.answer(renewal(4), T)
    assert not voter.record.closed


def test_force_overrides_all_but_the_lease() -> None:
    voter = Voter(VoteRecord(4, "m", ("m",), True, "m4", 2), T)
    assert not voter.answer(request(force=True), T).granted
    assert voter.answer(request(force=True), FAR, (9, 9)).granted


def test_only_the_holder_may_release_and_it_takes_effect_at_once() -> None:
    voter = Voter(HELD, T)
    others = [request(host, epoch, release=True) for host, epoch in (("s", 4), ("m", 3), ("m", 5))]
    for other in (*others, VoteRequest(4, "m", release=True)):
        assert voter.answer(other, T).reason == "there is nothing to release"
        assert not voter.answer(request(), T).granted
    assert voter.answer(renewal(release=True), T) == VoteResponse(True, 4, "m")
    assert voter.record == HELD
    assert voter.answer(request(), T).granted


def elected(sets: VoterSets = THREE, votes: dict[str, float] | None = None) -> Lease:
    lease = Lease("m", 5, sets, "m5")
    for voter, sent in (votes or {"m": T, "s": T}).items():
        lease.handle_response(voter, VoteResponse(True, 5, "m", LEASE_S), request("m", 5), sent)
    return lease


def announce_list(lease: Lease, voters: str, in_sync: tuple[str, ...], sent: float = T) -> VoteRequest:
    sent_request = lease.request(in_sync, (1, 1))
    for voter in voters.split():
        lease.handle_response(voter, VoteResponse(True, 5, "m", LEASE_S), sent_request, sent)
    return sent_request


@pytest.mark.parametrize(
    ("votes", "sent"),
    [
        ({}, -inf),
        ({"m": T}, -inf),
        ({"m": T, "x": T}, -inf),
        ({"m": T, "s": T - 1}, T - 1),
        ({"m": T, "s": T - 1, "w": T - 0.5}, T - 0.5),
    ],
)
def test_a_lease_holds_while_a_majority_has_granted_it_counted_from_the_sending(votes: dict[str, float], sent: float) -> None:
    lease = Lease("m", 5, THREE, "m5")
    for voter, when in votes.items():
        lease.handle_response(voter, VoteResponse(True, 5, "m", LEASE_S), request("m", 5), when)
    assert lease.valid_until() == sent + LEASE_S - MARGIN_S


def test_a_delayed_response_shortens_nothing() -> None:
    lease = elected()
    lease.handle_response("s", VoteResponse(True, 5, "m"), request("m", 5), T - 4)
    assert lease.valid_until() == T + LEASE_S - MARGIN_S


def test_each_set_must_have_its_majority() -> None:
    assert elected((*THREE, frozenset({"x", "y", "z"}))).valid_until() == -inf
    both = elected((*THREE, frozenset({"x", "y", "z"})), {"m": T, "s": T, "x": T - 2, "y": T - 1})
    assert both.valid_until() == T - 2 + LEASE_S - MARGIN_S
    assert both.voters == {"m", "s", "w", "x", "y", "z"}
    assert Lease("m", 5, (), "m5").valid_until() == -inf


def test_a_request_has_no_list_before_the_election() -> None:
    lease = Lease("m", 5, THREE, "m5")
    assert lease.request(("s",), (1, 1)) == VoteRequest(5, "m", position=(1, 1), candidacy_id="m5")
    assert elected().request(("s",), (1, 1)) == VoteRequest(5, "m", ("m", "s"), (1, 1), candidacy_id="m5", version=1)


def test_the_version_counts_the_changes() -> None:
    lease = elected()
    contents = [(("s",), False), (("s", "m"), False), ((), False), ((), True)]
    assert [lease.request(hosts, (1, 1), close).version for hosts, close in contents] == [1, 1, 2, 3]


def test_a_list_is_agreed_by_a_majority_and_lists_that_may_still_apply_count() -> None:
    lease = elected()
    assert lease.agreed_hosts() == ()
    announce_list(lease, "m", ("s",))
    assert lease.agreed_hosts() == ()
    announce_list(lease, "w", ("s",))
    assert lease.agreed_hosts() == ("m", "s")
    announce_list(lease, "m", ())
    assert lease.agreed_hosts() == ("m", "s")
    announce_list(lease, "s", ())
    assert lease.agreed_hosts() == ("m",)
    announce_list(lease, "", ("x",))
    assert lease.agreed_hosts() == ("m", "x")


def test_a_response_to_an_earlier_request_confirms_only_that() -> None:
    lease = elected()
    first = announce_list(lease, "m s", ("s",))
    announce_list(lease, "m", ())
    lease.handle_response("w", VoteResponse(True, 5, "m"), first, T)
    assert lease.agreed_hosts() == ("m", "s")


def test_a_later_epoch_supersedes_and_so_does_the_same_of_another_host() -> None:
    lease = Lease("m", 5, THREE, "m5")
    for voter, epoch in (("m", 4), ("s", 7), ("w", 5)):
        lease.handle_response(voter, VoteResponse(False, epoch, "s"), request("m", 5), T)
    assert lease.superseded_by == 7
    same = Lease("m", 5, THREE, "m5")
    same.handle_response("w", VoteResponse(False, 5, "s"), request("m", 5), T)
    assert same.superseded_by == 5


def test_a_lease_that_was_given_up_stays_so_despite_late_responses() -> None:
    lease = elected()
    gone = lease.give_up()
    assert gone == VoteRequest(5, "m", release=True, candidacy_id="m5")
    for voter in "msw":
        lease.handle_response(voter, VoteResponse(True, 5, "m"), gone, T)
        lease.handle_response(voter, VoteResponse(True, 5, "m"), request("m", 5), T)
    assert lease.valid_until() == -inf


@pytest.mark.statement("SH-4")
def test_a_named_successor_is_the_only_one_that_may_follow() -> None:
    """Not the first candidate: that is often the host which has just given up."""
    voter = Voter(HELD, T)
    voter.answer(renewal(), T)
    assert voter.answer(Lease("m", 4, THREE, "m4").give_up("s"), T + 1).granted
    voter.answer(renewal(), T + 1)  # sent before
    for host in ("m", "w"):
        vote = voter.answer(request(host, 5, position=(9, 9), version=1), T + 2)
        assert not vote.granted and "granted to s for another" in vote.reason
    assert voter.answer(request("s", 5), T + 2).granted
    assert voter.answer(request("s", 5, release=True), T + 3).granted
    assert voter.answer(request("m", 6), T + 3).granted, "the successor counts once"


@pytest.mark.statement("SH-4")
def test_an_absent_successor_delays_others_by_one_lease_at_most() -> None:
    voter = Voter(HELD, T)
    voter.answer(renewal(), T)
    voter.answer(Lease("m", 4, THREE, "m4").give_up("s"), T + 1)
    assert not voter.answer(request("m", 5), FAR - 0.1).granted and voter.answer(request("m", 5), FAR).granted


def test_the_lists_of_a_later_epoch_count_too_and_sets_stay() -> None:
    lease = elected()
    announce_list(lease, "m s", ())
    later = lease.begin_epoch(7, "m7")
    lease.change_voters((frozenset({"m"}),))
    announce_list(lease, "m", ())
    assert (later.epoch, later.sets, lease.sets, later.agreed_hosts()) == (7, THREE, THREE, ())
    for voter in "ms":
        later.handle_response(voter, VoteResponse(True, 7, "m"), later.request((), (1, 1)), T)
    later.request(("x",), (1, 1))
    assert lease.agreed_hosts() == ("m", "x")


def test_sets_change_when_the_next_hold_and_have_agreed() -> None:
    lease = elected()
    announce_list(lease, "m s", ("s",))
    sets = (*THREE, frozenset({"m", "s", "x"}))
    lease.change_voters(sets)
    assert lease.sets == THREE and "x" in lease.voters
    lease.handle_response("x", VoteResponse(True, 5, "m"), request("m", 5), T)
    assert lease.sets == sets, "m and s are a majority of both"
    lease.change_voters((frozenset({"x", "y", "z"}),))
    announce_list(lease, "x", ("s",))
    assert lease.sets == sets
    announce_list(lease, "y", ("s",), T - 2)
    assert lease.sets == sets, "it would hold much shorter"
    announce_list(lease, "y", ("s",))
    assert lease.sets == (frozenset({"x", "y", "z"}),) and lease.valid_until() == T + LEASE_S - MARGIN_S


def test_sets_do_not_change_before_a_list_is_agreed() -> None:
    lease = elected()
    lease.change_voters((frozenset({"m"}),))
    lease.handle_response("m", VoteResponse(True, 5, "m"), request("m", 5), T)
    assert lease.sets == THREE


def test_a_majority_is_more_than_half_of_each() -> None:
    assert is_majority(THREE, {"m", "s"}) and not is_majority(THREE, {"m", "x"})
    assert not is_majority((frozenset("ab"),), {"a"})
    assert not is_majority((), {"a"}) and not is_majority((frozenset(),), {"a"})


@pytest.mark.parametrize(
    ("candidates", "witnesses", "current", "voters"),
    [
        ("m", "x y", "", "m"),
        ("m s", "y x", "", "m s x"),
        ("m s", "y x", "m s y", "m s y"),
        ("m s", "x", "m s y", "m s x"),
        ("s m", "", "m s y", "s"),
        ("s m", "m", "", "s"),
        ("c a b", "x", "x", "a b c"),
        ("d a b c", "x", "", "a b c d x"),
        ("d a b c", "", "", "a b d"),
    ],
)
def test_voters_are_odd_in_number(candidates: str, witnesses: str, current: str, voters: str) -> None:
    assert choose_voters(candidates.split(), witnesses.split(), current.split()) == tuple(voters.split())
