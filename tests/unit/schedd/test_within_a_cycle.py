"""Effects of one job of a cycle on the next: released grants, limits, reservations."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from daemons.schedd.actor import Schedd
from daemons.schedd.dispatch import Dispatch
from daemons.schedd.priorities import normalised, part_of_most
from gridengine.protocols.orders import Orders
from gridengine.state.jobs import Grant, JobChanges
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.job import JobChanged
from gridengine.state.machines.task import TaskDispatched
from tests.builders import NOW, Cluster, started


@pytest.mark.statement("AJ-5", "SO-22")
def test_exactly_the_slots_of_a_given_up_job_are_free_again() -> None:
    cluster = Cluster(1, slots=3)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=3")
    array = cluster.submit(array="1-4", now=True, hard={"lic": "1"}, priority=9)
    singles = [cluster.submit(hard={"lic": "1"}) for _ in range(5)]
    orders = cluster.cycle()
    assert orders.give_up == [array]
    assert [job for job, _, _ in started(orders)] == singles[:3]


@pytest.mark.statement("SC-4")
def test_maxujobs_of_one_lets_each_user_run_one_task() -> None:
    cluster = Cluster(2, slots=10)
    cluster.change("scheduler", "", maxujobs="1")
    for owner in ("alice", "bob", "alice"):
        cluster.submit(owner=owner, array="1-2")
    assert len(cluster.cycle().starts) == 2
    assert cluster.cycle().starts == []


@pytest.mark.statement("DP-1", "SO-1")
@pytest.mark.parametrize("changes", [{"predecessors": [1]}, {"start_after": NOW + 50}])
def test_further_tasks_of_a_running_job_wait_for_conditions_added_since(changes: dict[str, Any]) -> None:
    cluster = Cluster(1, slots=3)
    other = cluster.submit()
    job = cluster.submit(array="1-3", task_concurrency=1)
    cluster.cycle()
    cluster.apply(JobChanged(job, JobChanges(task_concurrency=0, **changes)))
    assert started(cluster.cycle()) == []
    cluster.end(other)
    assert {task for _, task, _ in started(cluster.cycle(NOW + 50))} == {2, 3}


@pytest.mark.statement("CX-65")
def test_jobs_of_a_category_that_is_stuck_are_not_even_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    run = Dispatch.run

    def counted(dispatch: Dispatch, job: Any, category: Any) -> None:
        looked.append(job.id)
        run(dispatch, job, category)

    monkeypatch.setattr(Dispatch, "run", counted)
    cluster = Cluster(1)
    for _ in range(5):
        cluster.submit(hard={"arch": "nosuch"})
    cluster.cycle()
    looked.clear()
    last = cluster.submit()
    cluster.cycle()
    assert looked == [last]


@pytest.mark.statement("PR-5")
def test_the_only_job_with_tickets_of_its_own_comes_first() -> None:
    cluster = Cluster(1, slots=1)
    cluster.change("scheduler", "", weight_ticket="10")
    cluster.submit()
    urged = cluster.submit(override_tickets=5)
    assert [job for job, _, _ in started(cluster.cycle())] == [urged]


@pytest.mark.statement("PR-1")
@pytest.mark.parametrize("most", [0.5, 1.0, 40.0])
def test_tickets_count_as_parts_of_the_most_that_a_job_has(most: float) -> None:
    assert part_of_most([most / 4, most, 0.0]) == [0.25, 1.0, 0.0]
    assert part_of_most([0.0, 0.0]) == [0.5, 0.5]
    assert normalised([most, 3 * most, 2 * most]) == [0.0, 1.0, 0.5]
    assert normalised([]) == part_of_most([]) == []


@pytest.mark.statement("CX-64")
@pytest.mark.parametrize(
    "fields", [{"hard_queues": ("b.q",)}, {"hard": {"lic": "1"}}, {"soft": {"arch": "lx*"}, "hard_queues": ("b.q",)}]
)
def test_a_place_that_does_not_suit_does_not_come_to_suit_by_getting_free(fields: dict[str, Any]) -> None:
    cluster = Cluster(1, slots=1)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.queue("b.q", complex_values="lic=1", slots="1")
    jobs = [cluster.submit(hard_queues=(queue,)) for queue in ("all.q", "b.q")]
    waiting = cluster.submit(**fields)
    cluster.cycle()
    assert all(map(cluster.runs, jobs))
    cluster.end(jobs[0])
    cluster.cycle()
    assert not cluster.runs(waiting)
    cluster.end(jobs[1])
    cluster.cycle()
    assert cluster.spread(waiting) == {"b.q@h1": 1}


@pytest.mark.statement("PE-4", "PE-14")
def test_a_closed_queue_of_a_host_gives_nothing_to_a_parallel_job() -> None:
    cluster = Cluster(1, slots=2)
    cluster.queue("b.q", slots="2", pe_list="smp")
    cluster.queue(pe_list="smp")
    cluster.apply(InstanceFlagsChanged(["b.q@h1"], {"disabled": True}))
    waiting, fits = cluster.submit(pe="smp", pe_range="3"), cluster.submit(pe="smp", pe_range="2")
    cluster.cycle()
    assert (cluster.spread(waiting), cluster.spread(fits)) == ({}, {"all.q@h1": 2})


def test_a_host_without_queues_may_report_its_load() -> None:
    cluster = Cluster(1)
    cluster.add("exec_host", "spare")
    cluster.heard("spare", np_load_avg="0.1")
    job = cluster.submit()
    cluster.cycle()
    cluster.heard("spare", np_load_avg="0.2")
    cluster.cycle()
    assert cluster.runs(job)


@pytest.mark.statement("QC-8")
def test_a_task_that_has_not_begun_is_not_suspended() -> None:
    cluster = Cluster(1)
    begun, sent = cluster.submit(), cluster.submit()
    cluster.cycle()
    cluster.end(sent)
    sent = cluster.submit()
    cluster.apply(TaskDispatched(sent, 1, 1, [Grant("all.q@h1", 1)], NOW + 1))
    cluster.queue(suspend_thresholds="np_load_avg=0.01", nsuspend="9")
    assert [order.job_id for order in cluster.cycle(NOW + 10).suspends] == [begun]


@pytest.mark.statement("QF-35", "SC-1")
def test_a_run_is_described_and_measured_only_where_that_was_asked_for() -> None:
    cluster = Cluster(1, slots=1)
    cluster.submit()
    cluster.submit()
    outcomes: list[tuple[bool, str]] = []
    for params, monitored in (("NONE", False), ("PROFILE=1", False), ("NONE", True)):
        cluster.change("scheduler", "", params=params)
        actor = Schedd()
        asyncio.run(actor.load(cluster.parts(), "a", 0, 1))
        answer = asyncio.run(actor.cycle("a", cluster.state.revision, [], NOW, monitored))
        orders = msgspec.json.decode(answer, type=Orders)
        outcomes.append((bool(orders.run_log), orders.profile.rpartition(",")[0]))
    assert outcomes == [(False, ""), (False, "2 jobs, 1 tasks started"), (True, "")]


@pytest.mark.statement("AR-52", "SC-7")
def test_a_job_that_the_load_of_the_cluster_refuses_gets_no_reservation() -> None:
    cluster = Cluster(1, slots=1)
    cluster.change("scheduler", "", max_reservation="5")
    cluster.complex("weather STRING == YES NO NONE 0")
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("h1", "lic=2")
    cluster.heard("global", weather="rain")
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    cluster.submit(hard={"weather": "sun", "h_rt": "60"}, reserve=True)
    assert cluster.cycle().job_reservations == []
    dry = cluster.submit(hard={"weather": "rain", "h_rt": "60", "lic": "2"}, reserve=True)
    [planned] = cluster.cycle().job_reservations
    assert (planned.job_id, planned.resources) == (dry, {"lic": "2"}), "of what it asks for it keeps what is used up"
