"""Cached data over cycles, and its invalidation by events."""

from __future__ import annotations

import pytest

from daemons.schedd.candidate_heap import CandidateHeap
from gridengine.state.jobs import Grant
from gridengine.state.machines.task import TaskDispatched
from tests.builders import NOW, Cluster


@pytest.mark.statement("CX-63", "CX-64")
def test_soft_violations_follow_load() -> None:
    cluster = Cluster(2)
    cluster.heard("h2", np_load_avg="0.9")
    cluster.heard("h2", arch="sol-x86")
    first, waiting = cluster.submit(soft={"arch": "sol*"}), cluster.submit(soft={"arch": "sol*"}, predecessors=[1])
    cluster.cycle()
    assert cluster.spread(first) == {"all.q@h2": 1}
    cluster.heard("h2", arch="lx-amd64")
    cluster.end(first)
    cluster.cycle()
    assert cluster.spread(waiting) == {"all.q@h1": 1}


@pytest.mark.statement("PE-14", "CX-28")
def test_only_the_suiting_queues_of_a_host_contribute() -> None:
    cluster = Cluster(1)
    cluster.complex("gpu INT <= YES YES 0 0")
    cluster.queue("gpu.q", complex_values="gpu=9", pe_list="smp", slots="2", seq_no="9")
    job = cluster.submit(hard={"gpu": "1"}, pe="smp", pe_range="1-4")
    cluster.cycle()
    assert cluster.spread(job) == {"gpu.q@h1": 2}


@pytest.mark.statement("LS-6")
def test_a_correction_that_ended_is_taken_back() -> None:
    cluster = Cluster(1)
    cluster.change("scheduler", "", job_load_adjustments="np_load_avg=1.0", load_adjustment_decay_time="0:1:40")
    cluster.submit()
    cluster.submit(hard={"arch": "none"})  # it waits, so each cycle looks at the hosts
    cluster.cycle()
    assert cluster.view is not None
    figures = []
    for now in (NOW + 10, NOW + 50, NOW + 600):
        cluster.cycle(now)
        figures.append(round(cluster.view.instance_table.hosts["h1"].load, 3))
    assert figures == [0.325, 0.225, 0.1]


def test_tasks_that_the_qmaster_dispatched_are_in_use() -> None:
    cluster = Cluster(1, slots=1)
    later = [cluster.submit(start_after=NOW + 10) for _ in range(2)]
    cluster.cycle()
    cluster.apply(TaskDispatched(later[0], 1, 1, [Grant("all.q@h1", 1)], NOW))
    cluster.cycle(NOW + 20)
    assert not cluster.runs(later[1])


@pytest.mark.statement("SC-5", "LS-7")
def test_a_host_whose_load_fell_is_preferred_although_nothing_else_changed() -> None:
    cluster = Cluster(2)
    cluster.heard("h2", np_load_avg="0.9")
    first = cluster.submit()
    cluster.cycle()
    cluster.cycle()
    cluster.heard("h2", np_load_avg="0.05")
    second = cluster.submit()
    cluster.cycle()
    assert [*cluster.spread(first), *cluster.spread(second)] == ["all.q@h1", "all.q@h2"]


def test_a_new_pool_is_without_the_places_that_are_full() -> None:
    cluster = Cluster(2, slots=1)
    cluster.submit(hard_queues=("all.q@h1",))
    cluster.cycle()
    assert cluster.view is not None
    instance_table = cluster.view.instance_table
    assert [row.name for _, _, row in CandidateHeap(instance_table.rows, instance_table.rank).heap] == ["all.q@h2"]


@pytest.mark.statement("CQ-29")
def test_an_instance_that_vanished_is_forgotten() -> None:
    cluster = Cluster(2)
    cluster.queue("old.q", slots="1", seq_no="0")
    job = cluster.submit(hard_queues=("old.q@h2",))
    cluster.cycle()
    cluster.queue("old.q", hostlist="h1")
    late = cluster.submit(hard_queues=("old.q@h2",))
    cluster.cycle()
    cluster.end(job)
    cluster.cycle()
    assert "old.q@h2" not in cluster.state.instances and not cluster.runs(late)


def test_data_of_ended_jobs_is_dropped() -> None:
    cluster = Cluster(1)
    assert cluster.view is not None
    for number in range(1200):
        job = cluster.submit(hard={"h_rt": str(1000 + number % 7)})
        cluster.cycle()
        cluster.end(job)
    assert len(cluster.view._of_job) < 1100


def test_a_changed_configuration_makes_new_categories() -> None:
    cluster = Cluster(1)
    cluster.complex("tag STRING == YES NO NONE 0")
    cluster.values("h1", "tag=a")
    job = cluster.submit(hard={"tag": "b"})
    cluster.cycle()
    assert not cluster.runs(job)
    cluster.values("h1", "tag=b")
    cluster.cycle()
    assert cluster.runs(job)


def test_copies_of_pools_go_with_their_categories() -> None:
    cluster = Cluster(2)
    jobs = [cluster.submit(hard={"mem_free": f"{number}G"}) for number in range(100, 1300)]
    cluster.cycle()
    assert cluster.view is not None
    [common] = cluster.view.candidate_heaps.values()
    assert len(common.by_needs) == len(jobs)
    for job in jobs[1:]:
        cluster.apply_deletion(job)
    cluster.cycle()
    assert list(common.by_needs) == [(0.0, ("mem_free", "100G"))]
