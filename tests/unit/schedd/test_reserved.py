"""Jobs inside an advance reservation, cycle after cycle: when they are placed, and when they are tried again."""

from __future__ import annotations

import pytest

from gridengine.state.jobs import Grant
from gridengine.state.machines.reservation import (
    ReservationEnding,
    ReservationErrorsSet,
    ReservationGranted,
    ReservationStarted,
)
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster, started


def reserving(slots: int = 1, **fields: object) -> Cluster:
    """A cluster of one host with reservation 1, which has begun."""
    cluster = Cluster(1)
    granted = [Grant("all.q@h1", slots)]
    window = {"start_time": NOW, "end_time": NOW + 3600, "granted": granted, "allowed": ["alice"], **fields}
    cluster.apply(ReservationGranted(AdvanceReservation(1, "alice", "users", NOW, **window)))  # type: ignore[arg-type]
    cluster.apply(ReservationStarted(1, NOW))
    return cluster


@pytest.mark.statement("AR-60", "AR-91")
def test_a_job_that_found_its_reservation_full_runs_when_slots_are_free_again() -> None:
    cluster = reserving()
    first, second, third = (cluster.submit(ar=1) for _ in range(3))
    assert [number for number, _, _ in started(cluster.cycle())] == [first]
    assert started(cluster.cycle()) == []
    cluster.end(first)
    assert [number for number, _, _ in started(cluster.cycle())] == [second]
    cluster.end(second)
    assert [number for number, _, _ in started(cluster.cycle())] == [third]


@pytest.mark.statement("AR-91")
def test_a_reservation_gives_as_many_slots_as_it_has_to_the_tasks_of_one_job() -> None:
    cluster = reserving(slots=2)
    array = cluster.submit(ar=1, array="1-3")
    assert [task for _, task, _ in started(cluster.cycle())] == [1, 2]
    cluster.end(array, 1)
    assert [task for _, task, _ in started(cluster.cycle())] == [3]


@pytest.mark.statement("AR-60", "AR-61")
def test_with_hard_errors_nothing_starts_while_something_is_wrong() -> None:
    cluster = reserving(hard_errors=True)
    job = cluster.submit(ar=1)
    cluster.apply(ReservationErrorsSet(1, ["reserved queue all.q@h1 is disabled"], NOW))
    assert started(cluster.cycle()) == []
    cluster.apply(ReservationErrorsSet(1, [], NOW))
    assert [number for number, _, _ in started(cluster.cycle())] == [job]


@pytest.mark.statement("AR-60")
def test_nothing_starts_in_a_reservation_that_ends_and_others_go_on() -> None:
    cluster = reserving()
    inside, outside = cluster.submit(ar=1), cluster.submit()
    cluster.apply(ReservationEnding(1, "d", "alice", NOW))
    assert [number for number, _, _ in started(cluster.cycle())] == [outside]
    assert not cluster.runs(inside)


@pytest.mark.statement("SO-22", "AJ-5")
def test_slots_of_a_given_up_job_in_a_reservation_are_free_for_the_next() -> None:
    cluster = reserving(slots=2)
    array = cluster.submit(ar=1, array="1-3", now=True, priority=9)
    single = cluster.submit(ar=1)
    orders = cluster.cycle()
    assert orders.give_up == [array]
    assert [number for number, _, _ in started(orders)] == [single]


@pytest.mark.statement("AR-92", "QI-1", "QI-2")
@pytest.mark.parametrize("thresholds", ["load_thresholds", "suspend_thresholds"])
def test_the_alarms_of_the_cluster_close_an_instance_inside_a_reservation(thresholds: str) -> None:
    cluster = reserving()
    cluster.queue(**{thresholds: "np_load_avg=1"})
    cluster.heard("h1", np_load_avg="6")
    job = cluster.submit(ar=1)
    assert started(cluster.cycle()) == []
    cluster.heard("h1", np_load_avg="0.5")
    assert [number for number, _, _ in started(cluster.cycle())] == [job]


@pytest.mark.statement("AR-92")
def test_a_threshold_on_a_consumable_is_that_of_the_cluster_inside_a_reservation() -> None:
    cluster = reserving()
    cluster.queue(load_thresholds="slots=1")
    job = cluster.submit(ar=1)
    assert [number for number, _, _ in started(cluster.cycle())] == [job]
