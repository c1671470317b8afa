"""The configuration snapshot of placement: typed values, defaults, attributes of queues, corrections of load."""

from __future__ import annotations

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.placement_request import Request
from gridengine.placement.resources import all_resources
from gridengine.placement.verify import verify
from gridengine.state.jobs import Grant
from gridengine.state.machines.reservation import ReservationGranted
from gridengine.state.reservations import AdvanceReservation
from tests.builders import NOW, Cluster

INSTANCE = "all.q@h1"


def offers(cluster: Cluster) -> list[str]:
    return [offer.text() for offer in all_resources(PlacementConfig(cluster.state), Ledger(cluster.state), INSTANCE)]


@pytest.mark.statement("AR-91")
@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({"lic": "2"}, True),
        ({"lic": "3"}, False),
        ({"disk": "1"}, False),
        ({"size": "3"}, True),
        ({"size": "4"}, False),
        ({"tag": "blue"}, True),
        ({"tag": "red"}, False),
    ],
)
def test_a_reservation_offers_of_consumables_what_it_holds_and_of_all_else_what_is_configured(
    asked: dict[str, str], fits: bool
) -> None:
    cluster = Cluster(1)
    for line in ("lic INT <= YES YES 0 0", "disk INT <= YES YES 0 0", "size INT <= YES NO 0 0", "tag STRING == YES YES NONE 0"):
        cluster.complex(line)
    cluster.values("h1", "lic=5,disk=5,size=3,tag=blue")
    held = AdvanceReservation(
        1, "alice", "users", NOW, NOW, NOW + 3600, granted=[Grant(INSTANCE, 1)], hard={"lic": "2"}, resources={"lic": "2"}
    )
    cluster.apply(ReservationGranted(held))
    job = cluster.job(hard=asked, ar=1)
    assert bool(verify(cluster.state, job, False, NOW)[0]) == fits


@pytest.mark.statement("CX-40", "CX-49")
def test_a_job_that_asks_for_nothing_takes_the_defaults_of_countable_consumables_alone() -> None:
    cluster = Cluster(1)
    for line in (
        "lic INT <= YES YES 2 0",
        "none INT <= YES YES NONE 0",
        "nothing INT <= YES YES 0 0",
        "fixed INT <= YES NO 7 0",
        "tag STRING == YES YES blue 0",
        "ex BOOL EXCL YES YES TRUE 0",
    ):
        cluster.complex(line)
    assert Request.of(PlacementConfig(cluster.state), cluster.job()).consumed == {"lic": (2.0, "")}
    assert Request.of(PlacementConfig(cluster.state), cluster.job(hard={"lic": "1"})).consumed == {"lic": (1.0, "")}


def test_values_of_an_attribute_that_is_gone_do_not_hide_others() -> None:
    cluster = Cluster(1)
    cluster.complex("size INT <= YES NO 0 0")
    cluster.values("h1", "gone=1,size=3")
    assert "hf:size=3" in offers(cluster)


def test_values_and_requests_may_use_the_shortcut() -> None:
    cluster = Cluster(1)
    cluster.values("h1", "mf=1M")
    assert "hf:mem_free=1.000M" in offers(cluster)
    assert verify(cluster.state, cluster.job(hard={"mf": "1M"}), False, NOW)[0]
    assert not verify(cluster.state, cluster.job(hard={"mf": "2M"}), False, NOW)[0]


def test_only_what_is_configured_alike_is_taken_for_alike() -> None:
    cluster = Cluster(3)
    cluster.complex("size INT <= YES NO 0 0")
    cluster.values("h3", "size=3")
    cluster.queue(complex_values="size=1,[h2=size=2]")
    config_snapshot = PlacementConfig(cluster.state)
    assert config_snapshot.host("h1") is config_snapshot.host("h2")
    assert config_snapshot.host("h1") is not config_snapshot.host("h3")
    assert config_snapshot.queue("all.q@h1") is config_snapshot.queue("all.q@h3")
    assert [config_snapshot.queue(f"all.q@h{number}").fixed["size"] for number in (1, 2, 3)] == [1.0, 2.0, 1.0]
    assert [config_snapshot.host(f"h{number}").fixed.get("size") for number in (1, 2, 3)] == [None, None, 3.0]


@pytest.mark.statement("CX-21")
def test_attributes_of_a_queue_are_offered_and_texts_even_if_there_are_none() -> None:
    cluster = Cluster(1)
    cluster.queue(tmpdir="/scratch", seq_no="7")
    found = offers(cluster)
    assert {"qf:calendar=NONE", "qf:tmpdir=/scratch", "qf:seq_no=7", "qf:s_rt=infinity"} <= set(found)
    cluster.queue(complex_values="s_rt=60")
    assert "qf:s_rt=00:01:00" in offers(cluster), "complex_values take precedence"


@pytest.mark.statement("LS-6")
def test_load_is_corrected_for_known_numbers_and_only_while_that_decays() -> None:
    cluster = Cluster(1)
    given = "gone=1,arch=7,np_load_avg=0.5,mf=1M"
    cluster.change("scheduler", "", job_load_adjustments=given, load_adjustment_decay_time="0:7:30")
    assert PlacementConfig(cluster.state).adjustments() == {"np_load_avg": 0.5, "mem_free": 2.0**20}
    cluster.change("scheduler", "", load_adjustment_decay_time="0:0:0")
    assert PlacementConfig(cluster.state).adjustments() == {}
