"""The forward run: starts of small cells, computed by hand."""

from __future__ import annotations

from datetime import UTC, date
from typing import Any

import pytest

from daemons.forecast.forward_run import ForwardRun
from daemons.qmaster.rules.subordination import subordination_changes
from gridengine.placement.expected_start import run_time_limit
from gridengine.state.jobs import Grant
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.parts import whole_state
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster


def run_at_limits(cluster: Cluster, *jobs: int, **bounds: Any) -> ForwardRun:
    state = whole_state(cluster.parts())
    run = ForwardRun(state, cluster.now, UTC, lambda job, task: run_time_limit(state, job, task))
    run.run(jobs or None, **bounds)
    return run


def in_seconds(run: ForwardRun) -> dict[int, float]:
    return {job: start - NOW for job, start in run.starts.items()}


@pytest.mark.statement("PR-1")
def test_waiting_jobs_start_in_order_as_running_jobs_reach_their_limits() -> None:
    cluster = Cluster(hosts=1, slots=2)
    cluster.submit(hard={"h_rt": "100"})
    cluster.submit(hard={"h_rt": "300"})
    cluster.cycle()
    late = cluster.submit(hard={"h_rt": "50"}, priority=-100)
    early = cluster.submit(hard={"h_rt": "400"})
    run = run_at_limits(cluster)
    assert in_seconds(run) == {early: 100, late: 300}
    assert run.is_complete
    assert not cluster.runs(early), "the cell itself is not changed"


@pytest.mark.statement("SC-7", "SC-8", "SC-12")
@pytest.mark.parametrize("reserve", [True, False])
def test_a_short_job_goes_ahead_of_a_reservation_and_a_long_one_does_not(reserve: bool) -> None:
    cluster = Cluster(hosts=1, slots=2)
    cluster.change("scheduler", "", max_reservation="5")
    cluster.pe("mpi", "$pe_slots")
    cluster.queue(pe_list="mpi")
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    wide = cluster.submit(hard={"h_rt": "100"}, pe="mpi", pe_range="2", reserve=reserve, priority=100)
    long = cluster.submit(hard={"h_rt": "200"})
    short = cluster.submit(hard={"h_rt": "60"})
    starts = in_seconds(run_at_limits(cluster))
    if reserve:
        assert starts == {short: 0, wide: 100, long: 200}
    else:
        assert starts == {long: 0, short: 100, wide: 200}


@pytest.mark.statement("CA-1", "CA-7")
def test_a_job_starts_when_the_calendar_of_its_queue_opens() -> None:
    cluster = Cluster(hosts=1, slots=1)  # NOW is 08:00 UTC, a Friday
    cluster.add("calendar", "afternoon", week="mon-sun=0-14=off")
    cluster.queue(calendar="afternoon")
    job = cluster.submit(hard={"h_rt": "60"})
    assert in_seconds(run_at_limits(cluster, job)) == {job: 6 * 3600}


@pytest.mark.parametrize(("year", "days"), [("NONE", 8), ("1.2.2030=off", 8 + (date(2030, 2, 1) - date.fromtimestamp(NOW)).days)])
def test_a_run_in_which_calendars_alone_go_on_ends_when_their_week_has_passed(year: str, days: int) -> None:
    cluster = Cluster(hosts=1, slots=1)
    cluster.add("calendar", "afternoon", year=year, week="mon-sun=0-14=off")
    cluster.queue(calendar="afternoon")
    cluster.submit(hard={"arch": "none"})
    run = run_at_limits(cluster)
    assert run.is_complete == (days < 366)
    assert (run.reached - NOW) / 86_400 == pytest.approx(min(days, 366), abs=1)


@pytest.mark.statement("RQ-1", "RQ-9")
def test_a_quota_keeps_a_job_until_another_of_its_user_ends() -> None:
    cluster = Cluster(hosts=1, slots=4)
    cluster.add("resource_quota", "one", enabled="TRUE", limit="users {*} to slots=1")
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    second = cluster.submit(hard={"h_rt": "100"})
    other = cluster.submit(hard={"h_rt": "100"}, owner="bob")
    assert in_seconds(run_at_limits(cluster)) == {other: 0, second: 100}


@pytest.mark.statement("SU-1", "SU-3", "SU-5")
def test_a_subordinate_queue_opens_when_the_jobs_of_the_superior_queue_end() -> None:
    cluster = Cluster(hosts=1, slots=1)
    cluster.queue("high", subordinate_list="all.q=1")
    cluster.submit(hard={"h_rt": "100"}, hard_queues=("high",))
    cluster.cycle()
    for event in subordination_changes(cluster.state, cluster.hosts):
        cluster.apply(event)
    low = cluster.submit(hard_queues=("all.q",), hard={"h_rt": "10"})
    assert in_seconds(run_at_limits(cluster, low)) == {low: 100}


def test_the_limit_of_a_running_task_counts_from_its_start_and_a_late_end_comes_at_once() -> None:
    cluster = Cluster(hosts=1, slots=1)
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    job = cluster.submit()
    cluster.now += 40
    assert in_seconds(run_at_limits(cluster, job)) == {job: 100}
    cluster.now += 200
    assert in_seconds(run_at_limits(cluster, job)) == {job: 241}


@pytest.mark.statement("AR-54", "AR-55")
def test_a_job_waits_for_its_reservation_and_other_jobs_for_the_end_of_the_reservation() -> None:
    cluster = Cluster(hosts=1, slots=1)
    granted = [Grant("all.q@h1", 1)]
    cluster.apply(ReservationGranted(AdvanceReservation(1, "alice", "users", NOW, NOW + 100, NOW + 300, granted=granted)))
    inside = cluster.submit(ar=1, hard={"h_rt": "50"})
    outside = cluster.submit(hard={"h_rt": "150"})
    starts = in_seconds(run_at_limits(cluster))
    assert starts[inside] == 100
    assert 300 <= starts[outside] <= 302


def test_a_job_starts_after_its_predecessor() -> None:
    cluster = Cluster(hosts=1, slots=1)
    first = cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    second = cluster.submit(hard={"h_rt": "10"}, predecessors=(first,))
    third = cluster.submit(hard={"h_rt": "10"}, start_after=NOW + 500)
    assert in_seconds(run_at_limits(cluster)) == {second: 100, third: 500}


def test_a_full_host_with_a_load_alarm_is_free_after_the_end_of_its_job() -> None:
    cluster = Cluster(hosts=1, slots=1)
    cluster.queue(load_thresholds="np_load_avg=1.75")
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    cluster.heard("h1", np_load_avg="9.0", load_avg="36.0")
    job = cluster.submit()
    assert in_seconds(run_at_limits(cluster, job)) == {job: 100}


def test_a_task_without_a_limit_does_not_end() -> None:
    cluster = Cluster(hosts=1, slots=1)
    cluster.submit()
    cluster.cycle()
    cluster.submit()
    run = run_at_limits(cluster)
    assert (run.starts, run.is_complete, run.endless) == ({}, True, 1)


def test_a_run_ends_at_its_bound_and_has_the_time_that_it_reached() -> None:
    cluster = Cluster(hosts=1, slots=1)
    jobs = [cluster.submit(hard={"h_rt": "100"}) for _ in range(5)]
    steps = iter((True, True, False))
    run = run_at_limits(cluster, jobs[-1], may_go_on=lambda: next(steps))
    assert (run.is_complete, run.reached - NOW, len(run.starts)) == (False, 100, 2)
