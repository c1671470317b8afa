"""Per-job requests: JOB consumables, and the master's instance that has them (CX-38, PE-3)."""

from __future__ import annotations

import pytest

from gridengine.errors import InvalidValueError
from gridengine.placement.values import requested_amount, slots_in, stricter
from gridengine.values.ranges import MAX_SLOTS
from tests.builders import Cluster, why


def cell() -> Cluster:
    """Two hosts of four slots, and a licence of which a job takes as much as it asks for, however many slots it has."""
    cluster = Cluster(2)
    cluster.complex("lic INT <= YES JOB 0 0")
    cluster.pe("any", "$fill_up")
    cluster.queue(pe_list="any")
    return cluster


@pytest.mark.statement("CX-38")
def test_the_master_is_where_the_host_has_what_the_job_needs_once() -> None:
    cluster = cell()
    cluster.values("h1", "lic=1")
    cluster.values("h2", "lic=3")
    job = cluster.submit(pe="any", pe_range="6", hard={"lic": "2"})
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h2": 2, "all.q@h1": 4}
    assert next(iter(cluster.spread(job))) == "all.q@h2"


@pytest.mark.statement("CX-38")
def test_the_master_is_where_the_queue_has_what_the_job_needs_once() -> None:
    cluster = cell()
    cluster.queue(complex_values="lic=1,[h2=lic=3]")
    job = cluster.submit(pe="any", pe_range="6", hard={"lic": "2"})
    cluster.cycle()
    assert next(iter(cluster.spread(job))) == "all.q@h2"
    other = cluster.submit(pe="any", pe_range="2", hard={"lic": "2"})
    cluster.cycle()
    assert not cluster.runs(other), "one is left there"


@pytest.mark.statement("CX-38")
def test_without_the_clusters_consumable_no_instance_can_have_the_master() -> None:
    cluster = cell()
    cluster.values("global", "lic=3")
    jobs = [cluster.submit(pe="any", pe_range="2", hard={"lic": "2"}) for _ in range(2)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, False]


@pytest.mark.statement("CX-28", "CX-38")
def test_a_serial_job_needs_a_place_that_has_the_attribute_too() -> None:
    cluster = cell()
    nowhere = cluster.submit(hard={"lic": "1"})
    cluster.cycle()
    assert not cluster.runs(nowhere)
    assert "unknown resource (lic)" in why(cluster, nowhere)
    cluster.values("h2", "lic=1")
    cluster.cycle()
    assert cluster.spread(nowhere) == {"all.q@h2": 1}


@pytest.mark.statement("CX-37", "CX-38")
def test_slots_that_fit_into_the_remaining_capacity() -> None:
    assert [slots_in(left, 2.0, "") for left in (0.0, 1.9, 2.0, 5.9, 6.0)] == [0, 0, 1, 2, 3]
    assert [slots_in(left, 2.0, "JOB") for left in (1.9, 2.0, 5.9)] == [0, MAX_SLOTS, MAX_SLOTS]
    assert [slots_in(left, 0.0, "") for left in (-0.5, 0.0, 3.0)] == [0, MAX_SLOTS, MAX_SLOTS]
    assert slots_in(float("inf"), 2.0, "") == slots_in(float("inf"), 0.0, "JOB") == MAX_SLOTS
    assert slots_in(0.1 + 0.2 - 0.3, 0.0, "") == MAX_SLOTS
    assert slots_in(0.3, 0.1, "") == 3, "sums of decimal fractions fit"


@pytest.mark.statement("CX-29", "CX-31")
def test_the_stricter_of_two_values() -> None:
    below = [stricter(relop, 1.0, 2.0) for relop in ("<", "<=", ">", ">=", "==", "!=")]
    above = [stricter(relop, 2.0, 1.0) for relop in ("<", "<=", ">", ">=", "==", "!=")]
    assert below == [True, True, False, False, False, False]
    assert above == [False, False, True, True, False, False]
    assert not any(stricter(relop, 1.0, 1.0) for relop in ("<", "<=", ">", ">=", "==", "!="))


@pytest.mark.statement("AR-126")
@pytest.mark.parametrize("text", ["1/0", "1/x", "1/", "1/-2", "1/1.5"])
def test_only_a_whole_number_of_slots_can_share_a_consumable(text: str) -> None:
    cluster = cell()
    entry = cluster.state.complexes["lic"]
    assert requested_amount(entry, "1/2") == 0.5
    with pytest.raises(InvalidValueError, match="is not a number of slots that share 1"):
        requested_amount(entry, text)
