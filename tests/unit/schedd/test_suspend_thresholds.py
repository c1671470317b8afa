"""Suspend thresholds: steps, intervals, and back."""

from __future__ import annotations

from typing import Literal

import pytest

from daemons.schedd.view import View
from gridengine.protocols.orders import Orders
from gridengine.state.machines.task import TaskEnded, TaskSuspensionChanged
from tests.builders import NOW, Cluster


def carry_out(cluster: Cluster, orders: Orders) -> list[tuple[int, bool]]:
    for order in orders.suspends:
        cluster.apply(TaskSuspensionChanged(order.job_id, order.task_id, "threshold", order.suspended))
    return [(order.job_id, order.suspended) for order in orders.suspends]


@pytest.mark.statement("QC-7", "QC-8", "QC-9", "QI-2")
def test_jobs_are_suspended_and_resumed_in_steps() -> None:
    cluster = Cluster(1)
    jobs = []
    for number in range(3):
        jobs.append(cluster.submit())
        cluster.cycle(NOW + number)
    cluster.queue(suspend_thresholds="np_load_avg=5", suspend_interval="0:1:0", nsuspend="2")
    assert carry_out(cluster, cluster.cycle(NOW + 10)) == []
    cluster.heard("h1", np_load_avg="6")
    orders = cluster.cycle(NOW + 20)
    assert carry_out(cluster, orders) == [(jobs[2], True), (jobs[1], True)]
    assert orders.next_time == NOW + 80
    orders = cluster.cycle(NOW + 30)
    assert carry_out(cluster, orders) == [] and orders.next_time == NOW + 80
    assert carry_out(cluster, cluster.cycle(NOW + 80)) == [(jobs[0], True)]
    cluster.heard("h1", np_load_avg="1")
    assert carry_out(cluster, cluster.cycle(NOW + 100)) == []
    assert carry_out(cluster, cluster.cycle(NOW + 140)) == [(jobs[0], False), (jobs[1], False)]
    assert carry_out(cluster, cluster.cycle(NOW + 200)) == [(jobs[2], False)]


@pytest.mark.statement("QC-8")
@pytest.mark.parametrize("by", ["user", "subordinate"])
def test_a_task_that_is_suspended_already_is_no_step(by: Literal["user", "subordinate"]) -> None:
    cluster = Cluster(1)
    jobs = [cluster.submit() for _ in range(2)]
    cluster.cycle(NOW)
    cluster.queue(suspend_thresholds="np_load_avg=5", suspend_interval="0:1:0", nsuspend="1")
    cluster.apply(TaskSuspensionChanged(jobs[1], 1, by, True))
    cluster.heard("h1", np_load_avg="6")
    assert carry_out(cluster, cluster.cycle(NOW + 20)) == [(jobs[0], True)]
    assert carry_out(cluster, cluster.cycle(NOW + 80)) == []


@pytest.mark.statement("QC-9")
@pytest.mark.parametrize("first", ["h1", "h2"])
def test_the_earliest_step_of_all_instances_counts(first: str) -> None:
    cluster = Cluster(2, slots=2)
    for _ in range(4):
        cluster.submit()
    cluster.cycle()
    cluster.queue(suspend_thresholds="np_load_avg=5", suspend_interval="0:1:0", nsuspend="1")
    cluster.heard(first, np_load_avg="6")
    assert len(carry_out(cluster, cluster.cycle(NOW + 10))) == 1
    cluster.heard("h2" if first == "h1" else "h1", np_load_avg="6")
    orders = cluster.cycle(NOW + 20)
    assert len(carry_out(cluster, orders)) == 1
    assert orders.next_time == NOW + 70


@pytest.mark.statement("QC-8")
def test_taking_the_thresholds_away_resumes() -> None:
    cluster = Cluster(1)
    job = cluster.submit()
    cluster.cycle()
    cluster.queue(suspend_thresholds="np_load_avg=0.01", suspend_interval="0:0:4")
    assert carry_out(cluster, cluster.cycle(NOW + 10)) == [(job, True)]
    cluster.queue(suspend_thresholds="NONE")
    assert carry_out(cluster, cluster.cycle(NOW + 20)) == [(job, False)]


@pytest.mark.statement("QC-8")
def test_a_scheduler_that_starts_anew_resumes_what_another_had_suspended() -> None:
    cluster = Cluster(1)
    job = cluster.submit()
    cluster.cycle()
    cluster.queue(suspend_thresholds="np_load_avg=0.01")
    assert carry_out(cluster, cluster.cycle(NOW + 10)) == [(job, True)]
    cluster.queue(suspend_thresholds="NONE")
    cluster.view = View(cluster.state)
    assert carry_out(cluster, cluster.cycle(NOW + 20)) == [(job, False)]


@pytest.mark.statement("QC-8")
def test_the_other_instances_are_left_alone() -> None:
    cluster = Cluster(2, slots=1)
    for _ in range(2):
        cluster.submit()
    cluster.cycle()
    cluster.queue(suspend_thresholds="np_load_avg=5")
    cluster.heard("h2", np_load_avg="7")
    orders = cluster.cycle(NOW + 10)
    assert [cluster.state.jobs[order.job_id].tasks[1].host for order in orders.suspends] == ["h2"]


@pytest.mark.statement("QC-9")
def test_the_interval_begins_anew_once_an_instance_was_empty() -> None:
    cluster = Cluster(1)
    cluster.queue(suspend_thresholds="np_load_avg=5", suspend_interval="0:5:0", nsuspend="1")
    for number in range(2):
        job = cluster.submit()
        cluster.cycle(NOW + 20 * number)
        cluster.heard("h1", np_load_avg="6")
        assert carry_out(cluster, cluster.cycle(NOW + 20 * number + 10)) == [(job, True)], "nothing to wait for"
        cluster.apply(TaskEnded(job, 1, 1, NOW + 20 * number + 15))
        cluster.heard("h1", np_load_avg="1")
        cluster.cycle(NOW + 20 * number + 16)
