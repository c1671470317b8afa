"""The jobs that a cycle examines, the priorities of the others, and the time of the next cycle."""

from __future__ import annotations

import msgspec
import pytest

from gridengine.state.jobs import Grant
from gridengine.state.machines.job import HoldsChanged
from gridengine.state.machines.task import TaskDispatched, TaskRequeued
from gridengine.values.ranges import Ranges
from tests.builders import NOW, Cluster, started

NOTHING = (0.0, 0.0, 0.0, 0.0)


@pytest.mark.statement("SO-1")
def test_the_next_look_is_at_the_first_of_the_start_times() -> None:
    cluster = Cluster()
    for later in (50, 20, 70):
        cluster.submit(start_after=NOW + later)
    assert cluster.cycle().next_time == NOW + 20
    assert len(cluster.cycle(NOW + 20).starts) == 1
    assert cluster.cycle(NOW + 50).next_time == NOW + 70


@pytest.mark.statement("SO-1", "DP-1")
def test_a_past_start_time_requests_no_next_cycle() -> None:
    cluster = Cluster(1, slots=1)
    first = cluster.submit()
    cluster.submit(predecessors=[first], start_after=NOW - 50)
    later = cluster.submit(predecessors=[first], start_after=NOW + 50)
    assert cluster.cycle().next_time == NOW + 50
    cluster.end(first)
    assert len(cluster.cycle(NOW + 10).starts) == 1
    assert not cluster.runs(later)


@pytest.mark.statement("EX-3")
def test_a_task_that_pauses_is_looked_at_when_its_pause_ends() -> None:
    cluster = Cluster(1, slots=9)
    job = cluster.submit(array="1-2")
    cluster.cycle()
    for task, tries in ((1, 6), (2, 5)):
        cluster.apply(TaskRequeued(job, task, 1, NOW))
        cluster.state.jobs[job].tasks[task].short_tries = tries
    orders = cluster.cycle(NOW + 1)
    assert (started(orders), orders.next_time) == ([], NOW + 8)
    cluster.submit(start_after=NOW + 10)
    orders = cluster.cycle(NOW + 8)
    assert ([order.task_id for order in orders.starts], orders.next_time) == ([2], NOW + 10)
    cluster.submit(start_after=NOW + 90)
    assert cluster.cycle(NOW + 11).next_time == NOW + 15
    assert [order.task_id for order in cluster.cycle(NOW + 15).starts] == [1]


@pytest.mark.statement("PR-1")
def test_a_job_that_is_held_shows_no_priority_any_more() -> None:
    cluster = Cluster(1, slots=1)
    first, second = cluster.submit(), cluster.submit()
    cluster.cycle()
    assert cluster.state.priorities[second][0] > 0
    pending = cluster.state.jobs[second].pending
    cluster.apply(HoldsChanged(second, pending, set_holds=1))
    assert cluster.cycle().priorities == {second: NOTHING}
    assert cluster.cycle().priorities == {}, "it is reported once"
    cluster.apply(HoldsChanged(second, pending, cleared=1))
    assert cluster.cycle().priorities[second][0] > 0
    assert cluster.runs(first)


@pytest.mark.statement("PR-1", "AJ-6")
def test_a_job_that_runs_keeps_its_priority_although_its_other_tasks_are_held() -> None:
    cluster = Cluster(1, slots=1)
    job = cluster.submit(array="1-3")
    shown = cluster.cycle().priorities[job]
    cluster.apply(HoldsChanged(job, cluster.state.jobs[job].pending, set_holds=1))
    assert cluster.cycle().priorities == {}
    assert cluster.state.priorities[job] == shown


@pytest.mark.statement("SC-1", "PR-1")
def test_priorities_of_pending_jobs_are_not_reported_if_so_configured() -> None:
    cluster = Cluster(1, slots=1)
    cluster.change("scheduler", "", report_pjob_tickets="FALSE")
    running, waiting = cluster.submit(), cluster.submit()
    cluster.cycle()
    cluster.cycle()
    assert cluster.state.priorities[running][0] > 0
    assert cluster.state.priorities.get(waiting, NOTHING) == NOTHING


@pytest.mark.statement("SC-5")
def test_of_jobs_submitted_at_once_the_first_number_starts_first() -> None:
    cluster = Cluster(1, slots=3)
    jobs = [cluster.submit(submit_time=NOW) for _ in range(4)]
    assert [job for job, _, _ in started(cluster.cycle())] == jobs[:3]
    cluster = Cluster(1, slots=1)
    late, early = cluster.submit(submit_time=NOW), cluster.submit(submit_time=NOW - 10)
    assert [job for job, _, _ in started(cluster.cycle())] == [early]
    assert not cluster.runs(late)


@pytest.mark.statement("SC-5", "PR-1")
def test_a_job_of_higher_priority_starts_first_although_it_came_last() -> None:
    cluster = Cluster(1, slots=2)
    jobs = [cluster.submit(priority=priority) for priority in (-10, 0, 5)]
    assert [job for job, _, _ in started(cluster.cycle())] == [jobs[2], jobs[1]]


@pytest.mark.statement("LS-6")
def test_corrections_count_the_slots_of_what_started_lately_and_fade() -> None:
    cluster = Cluster(2, slots=8)
    cluster.change("scheduler", "", job_load_adjustments="np_load_avg=1.0", load_adjustment_decay_time="0:1:40")
    jobs = [cluster.submit() for _ in range(4)]
    places = [[Grant("all.q@h1", 1)], [Grant("all.q@h1", 3), Grant("all.q@h2", 2)], [Grant("all.q@h2", 1)]]
    for job, granted, began in zip(jobs, places, (NOW - 25, NOW - 50, NOW - 100), strict=False):
        cluster.apply(TaskDispatched(job, 1, 1, granted, began))
    assert cluster.view is not None
    cluster.view.begin()
    assert cluster.view.corrections.at(NOW, set()) == {"h1": 0.75 + 3 * 0.5, "h2": 2 * 0.5}
    assert cluster.view.corrections.at(NOW - 500, set()) == {"h1": 4.0, "h2": 3.0}, "a clock that was set back counts none twice"


@pytest.mark.statement("LS-6")
def test_between_two_steps_of_fading_corrections_follow_the_hosts_that_changed_alone() -> None:
    cluster = Cluster(3, slots=8)
    cluster.change("scheduler", "", job_load_adjustments="np_load_avg=1.0", load_adjustment_decay_time="0:1:40")
    first, second, third = (cluster.submit() for _ in range(3))
    view = cluster.view
    assert view is not None
    cluster.apply(TaskDispatched(first, 1, 1, [Grant("all.q@h1", 2), Grant("all.q@h2", 1)], NOW - 10))
    cluster.apply(TaskDispatched(second, 1, 1, [Grant("all.q@h2", 4)], NOW - 20))
    view.begin()
    assert view.corrections.at(NOW, set()) == pytest.approx({"h1": 1.8, "h2": 0.9 + 3.2})
    assert view.corrections.moved == {"h1", "h2"}
    cluster.apply(TaskDispatched(third, 1, 1, [Grant("all.q@h3", 1)], NOW + 0.25))
    cluster.end(second)
    view.begin()
    assert view.corrections.at(NOW + 0.5, {"h2", "h3"}) == pytest.approx({"h1": 1.8, "h2": 0.9, "h3": 1.0})
    assert view.corrections.moved == set(), "changed hosts are refreshed anyway"
    assert view.corrections.at(NOW + 1, set()) == pytest.approx({"h1": 1.78, "h2": 0.89, "h3": 0.9925}), "a step later all fade"
    assert view.corrections.moved == {"h1", "h2", "h3"}


@pytest.mark.statement("LS-6")
def test_jobs_that_corrections_keep_out_are_looked_at_again_soon() -> None:
    cluster = Cluster(1, slots=20)
    cluster.queue(load_thresholds="np_load_avg=0.55")
    cluster.change("scheduler", "", job_load_adjustments="np_load_avg=1.0", load_adjustment_decay_time="0:10:0")
    two = [cluster.submit() for _ in range(2)]
    assert cluster.cycle().next_time == 0.0, "no job is pending"
    cluster.submit()
    assert cluster.cycle(NOW + 1).next_time == NOW + 11
    cluster.submit(start_after=NOW + 5)
    assert cluster.cycle(NOW + 2).next_time == NOW + 5
    cluster.submit(start_after=NOW + 500)
    assert cluster.cycle(NOW + 6).next_time == NOW + 16
    assert all(map(cluster.runs, two))


@pytest.mark.statement("AJ-5", "SO-22")
def test_an_immediate_job_that_runs_is_not_given_up() -> None:
    cluster = Cluster(1)
    job = cluster.submit(now=True)
    assert cluster.cycle().give_up == []
    assert cluster.runs(job)
    assert cluster.cycle().give_up == []


def test_a_job_in_error_is_left_out() -> None:
    cluster = Cluster(1)
    job, other = cluster.submit(), cluster.submit(array="1-2")
    cluster.cycle()
    for task in (1, 2):
        cluster.apply(TaskRequeued(other, task, 1, NOW, error="broken"))
    cluster.apply(TaskRequeued(job, 1, 1, NOW))
    orders = cluster.cycle()
    assert [started_job for started_job, _, _ in started(orders)] == [job]
    assert orders.priorities[other] == NOTHING
    assert msgspec.json.decode(msgspec.json.encode(orders.priorities)), "as it goes to the qmaster"
    assert cluster.state.jobs[other].pending == Ranges.of([])
