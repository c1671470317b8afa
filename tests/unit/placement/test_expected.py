"""The expected start of a pending job: the ends that count, the limits that end tasks, calendars."""

from __future__ import annotations

from datetime import UTC

import pytest

from gridengine.placement.expected_start import expected_start, not_before, run_time_limit
from gridengine.placement.explanation import explanation
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.reservation import JobReservationsSet
from gridengine.state.machines.task import TaskRequeued
from gridengine.state.reservations import JobReservation
from tests.builders import NOW, Cluster


def expected(cluster: Cluster, job: int, now: float = NOW) -> float:
    return expected_start(cluster.state, cluster.state.jobs[job], now, UTC)


def limit(cluster: Cluster, job: int) -> float:
    found = cluster.state.jobs[job]
    return run_time_limit(cluster.state, found, found.tasks[1])


def test_a_task_that_lost_its_place_ends_nothing() -> None:
    cluster = Cluster(1, slots=1)
    first = cluster.submit(hard={"h_rt": "60"})
    cluster.cycle()
    waiting = cluster.submit()
    assert expected(cluster, waiting) == NOW + 60
    cluster.apply(TaskRequeued(first, 1, cluster.state.jobs[first].tasks[1].attempt, NOW))
    assert expected(cluster, waiting) == 0, "no running task with an end time is left"


def test_a_job_that_has_overstayed_is_expected_to_end_at_once() -> None:
    cluster = Cluster(1, slots=1)
    cluster.submit(hard={"h_rt": "60"})
    cluster.cycle()
    waiting = cluster.submit()
    assert [expected(cluster, waiting, NOW + later) for later in (59, 60, 500)] == [NOW + 60, NOW + 60, NOW + 500]


@pytest.mark.parametrize(("slots", "seconds"), [("1", 100), ("2", 200), ("3", 300), ("4", 400), ("5", 500), ("6", 600)])
def test_as_many_ends_are_waited_for_as_slots_are_missing(slots: str, seconds: int) -> None:
    cluster = Cluster(1, slots=6)
    cluster.pe("par", "$fill_up")
    cluster.queue(pe_list="par")
    for limit_s in (300, 600, 100, 500, 200, 400):
        cluster.submit(hard={"h_rt": str(limit_s)})
    cluster.cycle()
    assert expected(cluster, cluster.submit(pe="par", pe_range=slots)) == NOW + seconds


def test_a_job_that_would_not_fit_when_all_have_ended_has_no_expected_start() -> None:
    cluster = Cluster(1, slots=1)
    cluster.submit(hard={"h_rt": "60"})
    cluster.cycle()
    assert expected(cluster, cluster.submit(hard={"arch": "nosuch"})) == 0


@pytest.mark.statement("SC-7")
def test_the_next_planned_start_of_the_job_itself_is_its_expected_start() -> None:
    cluster = Cluster(1, slots=1)
    cluster.submit(hard={"h_rt": "60"})
    cluster.cycle()
    job, other = cluster.submit(), cluster.submit()
    plans = [(other, 10), (job, 0), (job, 900), (job, 300)]
    cluster.apply(JobReservationsSet([JobReservation(one, 1, NOW + later, 60.0, [], "") for one, later in plans]))
    assert expected(cluster, job) == NOW + 300
    assert expected(cluster, other, NOW + 10) == NOW + 60, "a reservation in the past has failed: the ends of other jobs count"


@pytest.mark.parametrize(
    ("asked", "allowed", "seconds"),
    [
        ({"h_rt": "60"}, "INFINITY", 60),
        ({"h_rt": "0:1:0"}, "0:0:30", 30),
        ({"h_rt": "60"}, "0:2:0", 60),
        ({}, "0:0:30", 30),
        ({}, "INFINITY", float("inf")),
        ({"h_rt": "infinity"}, "INFINITY", float("inf")),
    ],
)
def test_a_run_ends_by_its_own_limit_or_that_of_its_queue(asked: dict[str, str], allowed: str, seconds: float) -> None:
    cluster = Cluster(1)
    job = cluster.submit(hard=asked)
    cluster.cycle()
    cluster.queue(h_rt=allowed)
    assert limit(cluster, job) == seconds


def closed(cluster: Cluster, queue: str, week: str) -> None:
    """The queue has a calendar, which closes it now. NOW is 08:00 in UTC."""
    name = queue.partition(".")[0]
    cluster.apply(ObjectSet("calendar", name, {"calendar_name": name, "year": "NONE", "week": f"mon-sun={week}"}))
    cluster.queue(queue, calendar=name)
    cluster.apply(InstanceFlagsChanged([f"{queue}@h1"], {"calendar_disabled": True}))


@pytest.mark.statement("CA-8")
def test_the_first_queue_that_opens_gives_the_expected_start() -> None:
    cluster = Cluster(1)
    closed(cluster, "all.q", "6-10=off")
    job = cluster.submit()
    hour = 3600

    def start(now: float = NOW) -> float:
        return explanation(cluster.state, cluster.state.jobs[job], now).expected_start

    assert start() == NOW + 2 * hour
    closed(cluster, "b.q", "6-9=off")
    assert start() == NOW + hour
    closed(cluster, "c.q", "6-9=off 9-12=suspended")
    cluster.apply(InstanceFlagsChanged(["b.q@h1"], {"calendar_disabled": False, "disabled": True}))
    assert start() == 0, "a disabled queue opens only by a command"


@pytest.mark.statement("CA-8")
@pytest.mark.parametrize("week", ["off", "6-9=off mon-sun=9-12=suspended"])
def test_a_queue_that_does_not_open_at_its_next_change_gives_no_start(week: str) -> None:
    cluster = Cluster(1)
    closed(cluster, "all.q", week)
    job = cluster.submit()
    assert explanation(cluster.state, cluster.state.jobs[job], NOW).expected_start == 0
    closed(cluster, "b.q", "6-9=off")
    assert explanation(cluster.state, cluster.state.jobs[job], NOW).expected_start == NOW + 3600


@pytest.mark.statement("SO-49", "ST-18")
def test_a_job_starts_when_its_time_has_come_and_the_first_of_its_pauses_is_over() -> None:
    cluster = Cluster(2)
    number = cluster.submit(array="1-2", start_after=NOW)
    job = cluster.state.jobs[number]
    for _ in range(2):
        cluster.cycle()
        for task, later in zip(job.tasks.values(), (0.5, 0.0), strict=True):
            cluster.apply(TaskRequeued(number, task.id, task.attempt, NOW + later, mishap="no prolog"))
    second, first = (task.paused_until for task in job.tasks.values())
    assert first < second and not_before(job, NOW + 0.5) == first
    assert explanation(cluster.state, job, NOW + 0.5).expected_start == first
    assert not_before(job, first) == second, "the first pause is over"
    assert not_before(job, second) == NOW, "no task pauses"
    job.start_after = second + 60
    assert not_before(job, NOW + 0.5) == second + 60
