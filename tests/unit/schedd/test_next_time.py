"""The time at which the scheduler requests a cycle without events, and what it skips until then."""

from __future__ import annotations

import pytest

from gridengine.state.jobs import NO_TICKETS
from tests.builders import NOW, Cluster, started


@pytest.mark.statement("SO-1")
def test_the_earliest_start_time_of_all_jobs_counts() -> None:
    for delays in ([30, 10, 20], [10, 20, 30], [30, 20, 10]):
        cluster = Cluster(1)
        jobs = {delay: cluster.submit(start_after=NOW + delay) for delay in delays}
        assert cluster.cycle().next_time == NOW + 10
        orders = cluster.cycle(NOW + 10)
        assert ([number for number, _, _ in started(orders)], orders.next_time) == ([jobs[10]], NOW + 20)


@pytest.mark.statement("SO-1", "DP-1")
def test_a_job_whose_time_has_come_waits_for_no_time() -> None:
    cluster = Cluster(1)
    first = cluster.submit()
    second = cluster.submit(predecessors=[first], start_after=NOW)
    assert cluster.cycle().next_time == 0
    assert not cluster.runs(second)


@pytest.mark.statement("SC-4")
@pytest.mark.parametrize(("limit", "runs"), [("0", 4), ("1", 1), ("3", 3)])
def test_maxujobs_of_zero_is_no_limit(limit: str, runs: int) -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", maxujobs=limit)
    for _ in range(4):
        cluster.submit()
    assert len(started(cluster.cycle())) == runs


@pytest.mark.statement("PR-5")
def test_the_tickets_of_a_job_that_is_gone_go_too() -> None:
    cluster = Cluster(1, slots=1)
    gone, waiting = cluster.submit(override_tickets=5), cluster.submit(override_tickets=3)
    cluster.cycle()
    assert cluster.state.tickets.keys() == {gone, waiting}
    cluster.apply_deletion(waiting)
    cluster.cycle()
    assert cluster.state.tickets.get(waiting, NO_TICKETS) == NO_TICKETS
    assert cluster.state.tickets.keys() == {gone}


@pytest.mark.statement("CX-20")
def test_a_job_that_waits_for_a_value_of_the_whole_cluster_is_looked_at_when_that_is_reported() -> None:
    cluster = Cluster(1)
    cluster.complex("feed INT <= YES NO 0 0")
    cluster.heard("global", feed="0")
    job = cluster.submit(hard={"feed": "1"})
    assert started(cluster.cycle()) == []
    cluster.heard("global", feed="5")
    assert [number for number, _, _ in started(cluster.cycle())] == [job]


@pytest.mark.statement("LS-6")
@pytest.mark.parametrize(
    ("hard", "thresholds", "asks"),
    [({}, "NONE", False), ({"np_load_avg": "9"}, "NONE", True), ({}, "np_load_avg=0.5", True)],
    ids=["slots alone", "request", "alarm"],
)
def test_load_corrections_that_decay_ask_for_a_run_only_where_they_keep_a_job_waiting(
    hard: dict[str, str], thresholds: str, asks: bool
) -> None:
    cluster = Cluster(1)
    cluster.queue(slots="1", load_thresholds=thresholds)
    cluster.heard("h1", np_load_avg="0.1", num_proc="1")
    cluster.change("scheduler", "", job_load_adjustments="np_load_avg=1.0", load_adjustment_decay_time="0:10:0")
    first, second = cluster.submit(), cluster.submit(hard=hard)
    assert cluster.runs(first) or cluster.cycle()
    orders = cluster.cycle(NOW + 20)
    assert not cluster.runs(second)
    assert (orders.next_time != 0) == asks
