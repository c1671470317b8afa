"""Loads as one decision sees them: garbage, scaling, corrections for jobs that have just begun (LS-5, LS-6)."""

from __future__ import annotations

import pytest

from gridengine.placement.ledger import Ledger
from tests.builders import Cluster, why


def load(ledger: Ledger, name: str, host: str = "h1") -> object:
    found = ledger.load(host, ledger.state.complexes[name])
    return found if found is None or isinstance(found[0], str) else (round(found[0], 6), found[1])


@pytest.mark.statement("CX-18")
def test_garbage_is_as_if_nothing_were_reported() -> None:
    cluster = Cluster(1)
    cluster.heard("h1", m_core="many")
    assert load(Ledger(cluster.state), "m_core") is None
    assert "unknown resource (m_core)" in why(cluster, cluster.submit(hard={"m_core": "1"}))


@pytest.mark.statement("LS-6")
def test_recent_jobs_correct_the_loads_of_their_hosts_in_the_direction_that_is_worse() -> None:
    cluster = Cluster(2)
    for host in cluster.hosts:
        cluster.heard(host, load_avg="1.0", np_load_avg="0.25", mem_free="8G", num_proc="4")
    adjustments = {"load_avg": 0.5, "np_load_avg": 0.5, "mem_free": 2.0**30}
    ledger = Ledger(cluster.state, adjustments=adjustments, corrections={"h1": 2.0})
    assert load(ledger, "load_avg") == (2.0, "L")
    assert load(ledger, "np_load_avg") == (0.5, "L"), "shared by four processors"
    assert load(ledger, "mem_free") == (6.0 * 2**30, "L")
    assert load(ledger, "num_proc") == (4.0, "l"), "nothing is added to it"
    assert [load(ledger, name, "h2") for name in ("load_avg", "np_load_avg")] == [(1.0, "l"), (0.25, "l")]
    assert load(Ledger(cluster.state, corrections={"h1": 2.0}), "load_avg") == (1.0, "l")


@pytest.mark.statement("LS-6")
@pytest.mark.parametrize("count", ["0", "1", "many"])
def test_a_host_has_a_processor_at_least(count: str) -> None:
    cluster = Cluster(1)
    cluster.heard("h1", np_load_avg="0.25", num_proc=count)
    ledger = Ledger(cluster.state, adjustments={"np_load_avg": 0.5}, corrections={"h1": 1.0})
    assert load(ledger, "np_load_avg") == (0.75, "L")


@pytest.mark.statement("LS-5")
def test_scaled_integers_have_no_decimals() -> None:
    cluster = Cluster(1)
    cluster.heard("h1", num_proc="5", load_avg="5")
    cluster.change("exec_host", "h1", load_scaling="num_proc=0.5,load_avg=0.5")
    ledger = Ledger(cluster.state)
    assert [load(ledger, name) for name in ("num_proc", "load_avg")] == [(2.0, "L"), (2.5, "L")]


@pytest.mark.statement("CX-43")
def test_in_an_empty_cluster_only_what_never_changes_is_known() -> None:
    cluster = Cluster(1)
    ledger = Ledger(cluster.state, empty=True)
    assert [load(ledger, name) for name in ("arch", "num_proc", "np_load_avg")] == [("lx-amd64", "l"), (4.0, "l"), None]
    assert load(ledger, "arch", "h9") is None
