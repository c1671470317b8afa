"""Blocked jobs, and the events after which they are tried again; instances whose rank a start improves or worsens."""

from __future__ import annotations

import pytest

from gridengine.state.machines.instance import InstanceFlagsChanged
from tests.builders import Cluster, started


@pytest.mark.statement("LS-3", "CX-64")
@pytest.mark.parametrize("pe", ["", "smp"])
def test_a_job_waits_for_a_load_value_of_the_cluster(pe: str) -> None:
    cluster = Cluster(2)
    cluster.complex("scratch MEMORY <= YES NO 0 0")
    cluster.heard("global", scratch="1G")
    job = cluster.submit(hard={"scratch": "4G"}, **({"pe": pe, "pe_range": "2"} if pe else {}))
    assert started(cluster.cycle()) == []
    cluster.heard("global", scratch="8G")
    assert [number for number, _, _ in started(cluster.cycle())] == [job]


@pytest.mark.statement("CX-64")
def test_a_parallel_job_waits_for_a_load_value_of_a_host() -> None:
    cluster = Cluster(2)
    job = cluster.submit(hard={"mem_free": "12G"}, pe="smp", pe_range="2")
    assert started(cluster.cycle()) == []
    cluster.heard("h2", mem_free="14G")
    assert started(cluster.cycle()) == [(job, 1, "all.q@h2")]


@pytest.mark.statement("CX-64")
def test_cluster_resources_released_in_a_closed_instance_serve_others() -> None:
    """The licence comes back from an instance that is disabled meanwhile: no place there, but one elsewhere."""
    cluster = Cluster(2)
    cluster.complex("licence INT <= YES YES 0 0")
    cluster.values("global", "licence=1")
    first, second = cluster.submit(hard={"licence": "1"}), cluster.submit(hard={"licence": "1"})
    assert started(cluster.cycle()) == [(first, 1, "all.q@h1")]
    cluster.apply(InstanceFlagsChanged(["all.q@h1"], {"disabled": True}))
    assert started(cluster.cycle()) == []
    cluster.end(first)
    cluster.heard("h1", np_load_avg="0.2")  # what comes after it takes nothing back
    assert started(cluster.cycle()) == [(second, 1, "all.q@h2")]


@pytest.mark.statement("LS-7", "SC-5")
@pytest.mark.parametrize("queues", [(), ("all.q",)])
def test_a_formula_that_packs_sends_a_job_where_another_has_just_started(queues: tuple[str, ...]) -> None:
    """The fewer seats a host has left, the less load it has: also within one cycle."""
    cluster = Cluster(3)
    cluster.complex("seat INT <= YES YES 0 0")
    for host in cluster.hosts:
        cluster.values(host, "seat=4")
    cluster.change("scheduler", "", load_formula="seat")
    one = cluster.submit(hard={"seat": "1"}, hard_queues=("all.q@h2",), priority=100)
    other = cluster.submit(hard={"seat": "1"}, hard_queues=tuple(queues))
    assert started(cluster.cycle()) == [(one, 1, "all.q@h2"), (other, 1, "all.q@h2")]


@pytest.mark.statement("QC-4")
def test_a_threshold_on_a_consumable_closes_an_instance_within_a_cycle() -> None:
    """Besides one on a load value, which is far away."""
    cluster = Cluster(1)
    cluster.complex("seat INT <= YES YES 0 0")
    cluster.values("h1", "seat=3")
    cluster.queue(load_thresholds="np_load_avg=9,seat=1")
    jobs = [cluster.submit(hard={"seat": "1"}) for _ in range(3)]
    assert [number for number, _, _ in started(cluster.cycle())] == jobs[:2]


@pytest.mark.statement("QC-4", "CX-64")
def test_a_host_whose_load_fell_takes_jobs_while_another_stays_full() -> None:
    cluster = Cluster(2, slots=1)
    cluster.queue(load_thresholds="np_load_avg=2")
    cluster.heard("h2", np_load_avg="5")
    first, second = cluster.submit(), cluster.submit()
    assert started(cluster.cycle()) == [(first, 1, "all.q@h1")]
    for load in ("3", "1"):
        assert not cluster.runs(second)
        cluster.heard("h1", np_load_avg="1.5")
        cluster.heard("h2", np_load_avg=load)
        cluster.cycle()
    assert cluster.spread(second) == {"all.q@h2": 1}


@pytest.mark.statement("CX-64")
def test_hosts_without_queues_keep_no_other_from_being_looked_at() -> None:
    cluster = Cluster(12)
    cluster.queue(hostlist="h7")
    job = cluster.submit(hard={"mem_free": "12G"})
    assert started(cluster.cycle()) == []
    for host in cluster.hosts:
        cluster.heard(host, mem_free="14G")
    assert started(cluster.cycle()) == [(job, 1, "all.q@h7")]


@pytest.mark.statement("QC-4", "LS-3")
def test_a_value_of_the_cluster_opens_what_a_threshold_on_it_had_closed() -> None:
    cluster = Cluster(2)
    cluster.complex("alarm INT >= YES NO 0 0")
    cluster.queue(load_thresholds="alarm=5")
    cluster.heard("global", alarm="7")
    job = cluster.submit()
    assert started(cluster.cycle()) == []
    cluster.heard("global", alarm="1")
    assert [number for number, _, _ in started(cluster.cycle())] == [job]


def quota(cluster: Cluster, limit: str) -> None:
    cluster.add("resource_quota", "set", enabled="TRUE", limit=limit)


@pytest.mark.statement("RQ-3", "RQ-9")
@pytest.mark.parametrize("queues", [(), ("all.q",)])
def test_a_quota_of_some_hosts_sends_jobs_to_the_others(queues: tuple[str, ...]) -> None:
    cluster = Cluster(3, slots=1)
    quota(cluster, "hosts h1,h2 to slots=1")
    jobs = [cluster.submit(hard_queues=tuple(queues)) for _ in range(3)]
    assert started(cluster.cycle()) == [(jobs[0], 1, "all.q@h1"), (jobs[1], 1, "all.q@h3")]


@pytest.mark.statement("RQ-9", "CX-64")
@pytest.mark.parametrize("queues", [(), ("all.q",)])
def test_a_quota_that_is_given_back_elsewhere_opens_a_place_that_was_free_all_the_time(queues: tuple[str, ...]) -> None:
    """The task that ends was on an instance that is disabled meanwhile."""
    cluster = Cluster(2, slots=1)
    quota(cluster, "hosts h1,h2 to slots=1")
    first, second = (cluster.submit(hard_queues=tuple(queues)) for _ in range(2))
    assert started(cluster.cycle()) == [(first, 1, "all.q@h1")]
    cluster.apply(InstanceFlagsChanged(["all.q@h1"], {"disabled": True}))
    assert started(cluster.cycle()) == []
    cluster.end(first)
    assert started(cluster.cycle()) == [(second, 1, "all.q@h2")]


@pytest.mark.statement("RQ-3", "RQ-9")
def test_a_quota_of_a_user_holds_wherever_the_jobs_run() -> None:
    cluster = Cluster(3)
    quota(cluster, "users {*} to slots=2")
    jobs = [cluster.submit() for _ in range(3)]
    other = cluster.submit(owner="bob")
    assert [number for number, _, _ in started(cluster.cycle())] == [*jobs[:2], other]
    cluster.end(jobs[0])
    assert [number for number, _, _ in started(cluster.cycle())] == [jobs[2]]
