"""Urgency: the assumed slots of a pending job, the contributions of requests, waiting time and deadline."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.placement_request import Request
from gridengine.placement.urgency import (
    LARGEST,
    assumed_slots,
    deadline_urgency,
    finite,
    resource_urgency,
    waiting_urgency,
)
from tests.builders import Cluster


def request(cluster: Cluster, **fields: Any) -> Request:
    return Request.of(PlacementConfig(cluster.state), cluster.job(**fields))


@pytest.mark.statement("PE-11")
@pytest.mark.parametrize(
    ("rule", "asked", "slots"),
    [
        ("min", "2-8", 2), ("max", "2-8", 8), ("5", "2-8", 5), ("5", "9", 9), ("min", "4", 4), ("max", "4", 4),
        ("avg", "2-8", 5), ("avg", "2-7", 4), ("avg", "4", 4), ("avg", "1,3-6", 3), ("avg", "1-2,9", 4),
        ("max", "2-", 20), ("avg", "10-", 15), ("min", "3-", 3), ("max", "30-", 30), ("avg", "30-", 30),
    ],
)
def test_slots_that_a_waiting_parallel_job_is_taken_to_get(rule: str, asked: str, slots: int) -> None:
    cluster = Cluster(1)
    cluster.pe("par", "$fill_up", slots=20, urgency_slots=rule)
    assert assumed_slots(cluster.state, request(cluster, pe="par", pe_range=asked)) == slots


@pytest.mark.statement("PE-11")
def test_without_a_pe_a_job_is_taken_to_get_the_least() -> None:
    cluster = Cluster(1)
    assert assumed_slots(cluster.state, request(cluster)) == 1
    assert assumed_slots(cluster.state, request(cluster, allocation_rule="$fill_up", pe_range="3-9")) == 3


@pytest.mark.statement("CX-66")
def test_numbers_press_for_each_slot_and_unit_and_texts_once() -> None:
    cluster = Cluster(1)
    cluster.change("complex", "slots", urgency="1000")
    cluster.complex("lic INT <= YES YES 0 7")
    cluster.complex("tag STRING == YES NO NONE 30")
    cluster.complex("size INT <= YES NO 0 0")
    cluster.change("complex", "hostname", urgency="400")
    cluster.pe("par", "$fill_up", urgency_slots="max")
    state, fields = cluster.state, {"pe": "par", "pe_range": "1-4"}
    assert resource_urgency(state, request(cluster)) == 1000
    assert resource_urgency(state, request(cluster, hard={"lic": "3", "size": "9"})) == 1000 + 3 * 7
    wide = request(cluster, hard={"lic": "3", "tag": "a", "hostname": "h1"}, **fields)
    assert resource_urgency(state, wide) == 4 * 1000 + 4 * 3 * 7 + 30 + 400
    assert resource_urgency(state, wide, granted=2) == 2 * 1000 + 2 * 3 * 7 + 30 + 400


@pytest.mark.statement("CX-66")
def test_infinite_urgency_is_the_largest_number_and_nan_is_zero() -> None:
    assert [finite(value) for value in (inf, -inf, nan, 1.5)] == [LARGEST, -LARGEST, 0.0, 1.5]
    cluster = Cluster(1)
    cluster.change("complex", "slots", urgency="0")
    assert resource_urgency(cluster.state, request(cluster, hard={"h_rt": "INFINITY"})) == 0
    cluster.change("complex", "h_rt", urgency="1")
    assert resource_urgency(cluster.state, request(cluster, hard={"h_rt": "INFINITY"})) == LARGEST


@pytest.mark.statement("PR-3")
def test_waiting_and_a_deadline_press_with_time() -> None:
    assert waiting_urgency(2.0, 100.0, 150.0) == 100.0
    assert [deadline_urgency(3600.0, 1000.0, now) for now in (400.0, 998.0, 999.5, 5000.0)] == [6.0, 1800.0, 3600.0, 3600.0]
    assert deadline_urgency(3600.0, 0.0, 400.0) == 0.0
