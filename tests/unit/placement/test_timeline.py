"""Use over time: sums at any moment, occupants and their ends, and overdue tasks (AR-38 … AR-43)."""

from __future__ import annotations

import pytest

from gridengine.placement.timeline import LINGER_S, Timeline, above, is_still_waiting, peak, run_time, run_time_limit
from gridengine.state.bookings import Holder, holders_at
from gridengine.state.jobs import Grant
from gridengine.state.machines.reservation import JobReservationsSet, ReservationEnding, ReservationGranted, ReservationStarted
from gridengine.state.machines.task import TaskRequeued
from gridengine.state.reservations import AdvanceReservation, JobReservation
from gridengine.values.units import INFINITY
from tests.builders import NOW, Cluster

SPANS = [(0.0, 10.0, 2.0), (5.0, 15.0, 3.0), (15.0, 20.0, 4.0)]


@pytest.mark.statement("AR-38", "AR-40")
@pytest.mark.parametrize(
    ("start", "end", "most"),
    [(0, 5, 2), (0, 6, 5), (4, 9, 5), (9, 10, 5), (10, 15, 3), (10, 16, 4), (15, 16, 4), (0, 100, 5), (20, 30, 0), (-5, 0, 0)],
)
def test_the_most_that_is_in_use_at_any_moment_of_a_window(start: float, end: float, most: float) -> None:
    assert peak(SPANS, start, end) == most


@pytest.mark.statement("AR-40")
def test_when_more_than_a_capacity_is_in_use() -> None:
    assert above(SPANS, 2.0) == [(5.0, 10.0, 5.0), (10.0, 15.0, 3.0), (15.0, 20.0, 4.0)]
    assert above(SPANS, 4.0) == [(5.0, 10.0, 5.0)]
    assert above(SPANS, 5.0) == above([], 0.0) == []


@pytest.mark.statement("AR-42")
def test_a_run_lasts_as_long_as_its_nearest_limit_or_the_default() -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", default_duration="0:10:0")
    scheduler = cluster.state.scheduler
    requests = ({"h_rt": "20", "s_rt": "10"}, {"s_rt": "10"}, {"h_rt": "1:0:0"}, {"h_rt": ""}, {"h_rt": "INFINITY"}, {})
    assert [run_time_limit(hard) for hard in requests] == [10, 10, 3600, INFINITY, INFINITY, INFINITY]
    assert [run_time(hard, scheduler) for hard in requests] == [10, 10, 3600, 600, 600, 600]


def ends(cluster: Cluster, now: float = NOW) -> set[float]:
    return {end - NOW for end in Timeline(cluster.state, now).ends()}


@pytest.mark.statement("AR-42", "SC-11")
def test_runs_and_reservations_that_have_an_end_end() -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", params="DURATION_OFFSET=5", default_duration="INFINITY")
    limited, _, again = cluster.submit(hard={"h_rt": "100"}), cluster.submit(), cluster.submit(hard={"h_rt": "200"})
    cluster.cycle()
    cluster.apply(TaskRequeued(again, 1, 1, NOW))
    assert ends(cluster) == {105.0}
    assert ends(cluster, NOW + 500) == {501.0}, "a run that is overdue ends next"
    held = AdvanceReservation(
        1, "alice", "users", NOW, start_time=NOW + 800, end_time=NOW + 900, granted=[Grant("all.q@h1", 1)]
    )
    cluster.apply(ReservationGranted(held))
    assert ends(cluster) == {105.0, 900.0}
    assert cluster.runs(limited)


@pytest.mark.statement("AR-40")
def test_occupants_of_an_instance_within_a_window_and_their_ends() -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", params="DURATION_OFFSET=0", default_duration="INFINITY")
    job = cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    later = cluster.submit()
    place = [Grant("all.q@h1", 1)]
    held = AdvanceReservation(1, "alice", "users", NOW, start_time=NOW + 200, end_time=NOW + 300, granted=place)
    cluster.apply(ReservationGranted(held))
    cluster.apply(JobReservationsSet([JobReservation(later, 1, NOW + 400, NOW + 500, place, "", {})]))

    def occupants_at(start: float, end: float, planned: bool = True) -> list[tuple[str, float]]:
        found = Timeline(cluster.state, NOW, planned=planned).occupants("all.q@h1", NOW + start, NOW + end)
        return [(name, until - NOW) for name, until in found]

    of_job, of_ar = (f"job {job}", 100.0), ("advance reservation 1", 300.0)
    of_waiting = (f"waiting job {later} (-R y)", 500.0)
    assert occupants_at(0, 1000) == [of_ar, of_job, of_waiting]
    assert occupants_at(0, 1000, planned=False) == [of_ar, of_job]
    assert occupants_at(0, 200) == [of_job]
    assert occupants_at(100, 201) == [of_ar]
    assert occupants_at(299, 400) == [of_ar]
    assert occupants_at(300, 401) == [of_waiting]
    assert occupants_at(500, 600) == []


@pytest.mark.statement("AR-52")
def test_a_job_reservation_counts_while_its_task_is_pending() -> None:
    cluster = Cluster(1, slots=2)
    array = cluster.submit(array="1-3")
    cluster.cycle()

    def waits(job: int, task: int) -> bool:
        return is_still_waiting(cluster.state, JobReservation(job, task, NOW, NOW + 9, [], "", {}))

    assert [waits(array, task) for task in (1, 2, 3, 4)] == [False, False, True, False]
    cluster.apply(TaskRequeued(array, 2, 1, NOW))
    assert [waits(array, task) for task in (1, 2, 3)] == [False, True, True]
    assert not waits(99, 1)


def grant(cluster: Cluster, number: int, start: float, end: float, place: str = "all.q@h1", slots: int = 1) -> None:
    """A reservation from `start` to `end`, in seconds from now."""
    window = {"start_time": NOW + start, "end_time": NOW + end}
    reservation = AdvanceReservation(number, "alice", "users", NOW, **window, granted=[Grant(place, slots)])
    cluster.apply(ReservationGranted(reservation))


def occupants_at(cluster: Cluster, place: str = "all.q@h1", **how: int) -> list[str]:
    found = Timeline(cluster.state, NOW, **how).occupants(place, NOW, NOW + 1000)  # type: ignore[arg-type]
    return [name for name, _ in found]


@pytest.mark.statement("AR-52")
def test_a_job_reservation_blocks_neither_its_own_job_nor_other_queues_of_the_host() -> None:
    cluster = Cluster(1)
    cluster.queue("other.q")
    job = cluster.submit()
    plan = JobReservation(job, 1, NOW + 10, NOW + 20, [Grant("all.q@h1", 1)], "", {})
    cluster.apply(JobReservationsSet([plan]))
    of_job = [f"waiting job {job} (-R y)"]
    assert occupants_at(cluster, planned=True) == of_job == occupants_at(cluster, planned=True, but=job + 1)
    assert occupants_at(cluster, planned=True, but=job) == occupants_at(cluster, "other.q@h1", planned=True) == []


@pytest.mark.statement("AR-40")
def test_occupants_are_listed_by_number_and_jobs_in_reservations_by_these() -> None:
    cluster = Cluster(1, slots=16)
    for number in (8, 1):
        grant(cluster, number, 0, 900)
        cluster.apply(ReservationStarted(number, NOW))
    inside = cluster.submit(ar=8)
    jobs = [cluster.submit() for _ in range(7)]
    cluster.cycle()
    assert all(map(cluster.runs, [inside, *jobs]))
    assert occupants_at(cluster) == ["advance reservation 1", "advance reservation 8", *(f"job {job}" for job in jobs)]


@pytest.mark.statement("AR-55", "AR-104")
def test_a_reservation_that_is_ending_holds_its_slots_until_its_jobs_are_gone() -> None:
    cluster = Cluster(1)
    grant(cluster, 1, 0, 900)
    cluster.apply(ReservationStarted(1, NOW))
    cluster.apply(ReservationEnding(1, "d", "alice", NOW))
    timeline = Timeline(cluster.state, NOW)
    assert timeline.occupants("all.q@h1", NOW, NOW + 9) == [("advance reservation 1", NOW + LINGER_S)]
    host = holders_at("all.q@h1")[1]
    moments = (0, LINGER_S - 1, LINGER_S, 800)
    assert [timeline.peak(host, "slots", NOW + at, NOW + at + 1) for at in moments] == [1, 1, 0, 0]


@pytest.mark.statement("AR-42")
def test_infinite_bookings_have_no_end_time() -> None:
    timeline = Timeline(Cluster(1).state, NOW)
    timeline.add(NOW, INFINITY, [])
    assert timeline.ends() == set()
    timeline.add(NOW, NOW + 9, [])
    assert timeline.ends() == {NOW + 9}


@pytest.mark.statement("AR-38", "AR-40", "AR-92")
def test_running_tasks_count_everywhere_except_inside_of_a_reservation() -> None:
    cluster = Cluster(2, slots=8)
    parallel, serial = cluster.submit(pe="mpi", pe_range="3", hard_queues=("*@h1",)), cluster.submit(hard_queues=("*@h1",))
    cluster.cycle()
    grant(cluster, 1, 0, 900, "all.q@h2", slots=2)
    cluster.apply(ReservationStarted(1, NOW))
    inside = cluster.submit(ar=1)
    cluster.cycle()
    assert all(map(cluster.runs, (parallel, serial, inside)))
    holders = [*holders_at("all.q@h1"), *holders_at("all.q@h2")[:2], Holder("pe", "mpi")]

    def peaks(**how: int) -> list[float]:
        timeline = Timeline(cluster.state, NOW, **how)  # type: ignore[arg-type]
        return [timeline.peak(holder, "slots", NOW, NOW + 9) for holder in holders]

    assert peaks() == [4, 4, 6, 2, 2, 3]
    assert peaks(without=1) == [4, 4, 4, 0, 0, 3]
    assert peaks(tasks=False) == [0, 0, 2, 2, 2, 0]


@pytest.mark.statement("AR-40")
def test_simultaneous_begins_and_ends_are_one_change() -> None:
    assert above([(0.0, 10.0, 3.0), (0.0, 10.0, 2.0)], 1.0) == [(0.0, 10.0, 5.0)]
    assert above([(0.0, 5.0, 3.0), (5.0, 9.0, 3.0)], 3.0) == []
    assert above([(0.0, 5.0, 3.0), (0.0, 9.0, 1.0), (5.0, 9.0, 1.0)], 1.0) == [(0.0, 5.0, 4.0), (5.0, 9.0, 2.0)]
