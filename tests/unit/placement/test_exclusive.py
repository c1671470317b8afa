"""Exclusive attributes: a job that requests one uses the host or queue alone."""

from __future__ import annotations

import pytest

from tests.builders import Cluster, why

EXCLUSIVE = "ex BOOL EXCL YES YES 0 0"


@pytest.mark.statement("CX-49", "CX-52")
def test_an_exclusive_attribute_is_asked_of_places_that_have_it() -> None:
    cluster = Cluster(3)
    cluster.complex(EXCLUSIVE)
    cluster.values("h1", "ex=TRUE")
    cluster.values("h2", "ex=FALSE")
    asked = {value: [cluster.submit(hard={"hostname": f"h{n}", "ex": value}) for n in (1, 2, 3)] for value in ("0", "1")}
    cluster.cycle()
    assert [cluster.runs(job) for job in asked["0"]] == [True, True, False]
    cluster.end(asked["0"][0])
    cluster.cycle()
    assert [cluster.runs(job) for job in asked["1"]] == [True, False, False]
    assert "offers only hc:ex=false" in why(cluster, asked["1"][1]) and "unknown resource (ex)" in why(cluster, asked["1"][2])


@pytest.mark.statement("CX-49", "CX-50", "CX-52", "X-7")
def test_exclusive_host() -> None:
    cluster = Cluster(1)
    cluster.complex(EXCLUSIVE)
    cluster.values("h1", "ex=TRUE")
    cluster.queue("second.q")
    alone = cluster.submit(hard={"ex": "TRUE"})
    cluster.cycle()
    others = [cluster.submit(hard={"ex": "TRUE"}), cluster.submit(hard={"ex": "FALSE"}), cluster.submit()]
    cluster.cycle()
    assert cluster.runs(alone) and not any(map(cluster.runs, others))
    assert "exclusive resource (ex)" in why(cluster, others[2])
    cluster.end(alone)
    cluster.apply_deletion(others[0])
    cluster.cycle()
    assert [cluster.runs(job) for job in others[1:]] == [True, True]
    late = cluster.submit(hard={"ex": "TRUE"})
    cluster.cycle()
    assert not cluster.runs(late)


@pytest.mark.statement("CX-50")
def test_exclusive_queue_covers_only_its_instance() -> None:
    cluster = Cluster(1)
    cluster.complex(EXCLUSIVE)
    cluster.queue("ex.q", complex_values="ex=TRUE", seq_no="0")
    cluster.queue(seq_no="5")
    plain = cluster.submit(hard_queues=("all.q",))
    alone = cluster.submit(hard={"ex": "TRUE"})
    cluster.cycle()
    assert cluster.runs(plain) and cluster.spread(alone) == {"ex.q@h1": 1}
    assert not cluster.runs(cluster.submit(hard_queues=("ex.q",)))


@pytest.mark.statement("CX-51")
def test_exclusive_parallel_job_takes_whole_hosts() -> None:
    cluster = Cluster(3)
    cluster.complex(EXCLUSIVE)
    for host in cluster.hosts:
        cluster.values(host, "ex=TRUE")
    single = cluster.submit(hard={"hostname": "h1"})
    cluster.cycle()
    job = cluster.submit(hard={"ex": "TRUE"}, pe="mpi", pe_range="6")
    cluster.cycle()
    assert cluster.runs(single) and cluster.spread(job) == {"all.q@h2": 4, "all.q@h3": 2}
    waiting = cluster.submit(hard_queues=("*@h3",))
    cluster.cycle()
    assert not cluster.runs(waiting)
