"""The compiled request of a job is immutable, and its quotas are looked up once for each claimant."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from gridengine.placement import quotas
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.placement_request import Request
from gridengine.placement.quotas import claim_of
from tests.builders import Cluster


def request(cluster: Cluster, **fields: object) -> Request:
    state = cluster.state
    return Request.of(PlacementConfig.of(state), state.jobs[cluster.submit(**fields)])


def test_a_request_is_never_changed() -> None:
    cluster = Cluster()
    asked = request(cluster, pe="m*", pe_range="2-4", master_queues=("all.q",))
    other = asked.in_pe("mpi").for_slots(3, master=False)
    assert other.pes == ("mpi",) and "make" in asked.pes
    assert (other.slot_ranges, other.master_queues) == (((3, 3),), None)
    assert (asked.slot_ranges, asked.master_queues is not None) == (((2, 4),), True)
    with pytest.raises(FrozenInstanceError):
        asked.pes = ()  # type: ignore[misc]


def test_for_slots_beyond_the_master_what_is_booked_once_is_booked() -> None:
    cluster = Cluster()
    cluster.add("complex", "licence", shortcut="lic", type="INT", relop="<=", requestable="YES", consumable="JOB", default="0")
    cluster.add("complex", "part", shortcut="part", type="INT", relop="<=", requestable="YES", consumable="YES", default="0")
    asked = request(cluster, pe="mpi", pe_range="4", hard={"licence": "1", "part": "1"})
    assert asked.for_slots(2, master=True).consumed == asked.consumed == {"licence": (1.0, "JOB"), "part": (1.0, "")}
    assert asked.for_slots(2, master=False).consumed == {"part": (1.0, "")}


def test_requests_of_one_claimant_share_what_quotas_say(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.add("resource_quota", "one", enabled="TRUE", limit="users {*} to slots=1")
    config_snapshot = PlacementConfig.of(cluster.state)
    first, second = request(cluster), request(cluster, hard={"h_rt": "60"})
    claim = claim_of(config_snapshot, first)
    assert claim is not None and claim_of(config_snapshot, second) is claim
    assert claim_of(config_snapshot, request(cluster, owner="bob")) is not claim
    monkeypatch.setattr(quotas, "MAX_CLAIMS", 2)
    claim_of(config_snapshot, request(cluster, owner="carol"))
    assert len(config_snapshot.claims) == 1, "what is remembered of many users has a bound"
