"""Use: one key and one index for all holders of consumables, and the combined ways to count."""

import pytest

from gridengine.placement.ledger import Ledger
from gridengine.placement.timeline import Timeline
from gridengine.placement.use import BookedUse, UseWithGrants, UseWithReservations, WindowUse
from gridengine.state.bookings import CLUSTER, Bookings, Holder, bookings_of, holders_at, host_holder
from gridengine.state.jobs import Grant
from gridengine.state.quotas import Bucket
from tests.builders import Cluster

INSTANCE, HOST, _ = holders_at("all.q@h1")
PE = Holder("pe", "mpi")
BUCKET = Bucket("quota", "set", 0, ("alice", "", "", "", ""))
POOL = Holder("cluster", "pool of licences")
EACH = [CLUSTER, INSTANCE, HOST, PE, BUCKET, POOL]


def book(*entries: tuple[Holder, str, float]) -> Bookings:
    made = Bookings()
    made.book((holder, {name: amount}) for holder, name, amount in entries)
    return made


def test_a_holder_is_identified_by_kind_and_name() -> None:
    assert len({Holder("host", "x"), Holder("pe", "x"), Holder("instance", "x"), Holder("host", "x")}) == 3
    assert host_holder("global") is CLUSTER and host_holder("h1") == HOST
    assert [holder.host for holder in (INSTANCE, HOST, CLUSTER)] == ["h1", "h1", "global"]
    assert holders_at("all.q@h1")[0] is INSTANCE, "hot loops find the same object again"


@pytest.mark.statement("CX-37", "CX-38", "PE-2")
def test_bookings_of_grants_and_their_release() -> None:
    granted = [Grant("all.q@h1", 2), Grant("b.q@h1", 1), Grant("all.q@h2", 4)]
    taken = list(bookings_of(granted, {"mem": (1.5, ""), "once": (3.0, "JOB")}, "mpi"))
    sums = Bookings()
    sums.book(taken)
    assert sums.at(INSTANCE) == {"slots": 2, "mem": 3.0, "once": 3.0}
    assert sums.at(HOST) == {"slots": 3, "mem": 4.5, "once": 3.0}
    assert sums.at(Holder("instance", "b.q@h1")) == {"slots": 1, "mem": 1.5}, "what is booked once is the master's"
    assert sums.at(CLUSTER) == {"slots": 7, "mem": 10.5, "once": 3.0}
    assert sums.at(PE) == {"slots": 7}, "of a PE slots alone"
    sums.book(taken, -1)
    assert sums == {}


@pytest.mark.parametrize("holder", EACH)
def test_every_kind_of_holder_is_counted_alike(holder: Holder) -> None:
    state = Cluster(1).state
    timeline = Timeline(state, 100.0)
    booked, given = book((holder, "x", 3)), book((holder, "x", 4))
    now = BookedUse(booked, Bookings())
    assert (now.of(holder, "x"), now.of(holder, "y"), now.reserved_ahead(holder, "x", 10)) == (3, 0, 0)
    assert BookedUse(Bookings(), booked).of(holder, "x") == 3, "also what is booked under quotas"
    assert UseWithGrants(now, given).of(holder, "x") == 7
    timeline.add(1000.0, 1050.0, [(holder, {"x": 5})])
    reserving = UseWithReservations(now, timeline)
    assert reserving.reserved_ahead(holder, "x", 1000) == 0, "running jobs only release, nothing is reserved for them"
    timeline.reserve("job 7", 1000.0, 1100.0, [(holder, {"x": 6})])
    assert reserving.reserved_ahead(holder, "x", 10) == 0, "over before it begins"
    assert reserving.reserved_ahead(holder, "x", 1000) == 5 + 6 - 3
    assert WindowUse(timeline, 0.0, 1010.0).of(holder, "x") == 11 and WindowUse(timeline, 1050.0, 1060.0).of(holder, "x") == 6
    assert list(timeline.reservations_of(holder)) == [(1000.0, 1100.0, "job 7")]


@pytest.mark.statement("SC-7", "AR-41")
@pytest.mark.parametrize(("includes_own_grants", "reserved_ahead"), [(False, 4), (True, 1)])
def test_own_grants_count_once(includes_own_grants: bool, reserved_ahead: float) -> None:
    """A time line with the grants has them among its spans; without them the reserved amount is added to the grants."""
    timeline = Timeline(Cluster(1).state, 100.0)
    ledger = Ledger(timeline.state).looking_ahead(timeline, includes_own_grants)
    timeline.reserve("job 7", 100.0, 200.0, [(HOST, {"x": 4})])
    ledger.charge([(HOST, {"x": 3})])
    if includes_own_grants:
        timeline.add(100.0, 150.0, [(HOST, {"x": 3})])
    assert ledger.of(HOST, "x") == 3
    assert ledger.reserved_ahead(HOST, "x", 1000) == 4
    if includes_own_grants:
        timeline.add(100.0, 150.0, [(HOST, {"x": 3})], -1)
        assert ledger.reserved_ahead(HOST, "x", 1000) == reserved_ahead, "released on the time line, not yet in the ledger"
    assert ledger.looking_ahead(None).reserved_ahead(HOST, "x", 1000) == 0
