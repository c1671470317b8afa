"""Available values of an instance: the level and source that decide, the order of the list, the effect of load."""

from __future__ import annotations

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.resources import all_resources, available, host_available, host_resources
from gridengine.state.machines.host import HostHeard
from tests.builders import LOAD, NOW, Cluster

INSTANCE = "all.q@h1"


def offered(cluster: Cluster, name: str) -> list[str]:
    """The values of an attribute that the host and the queue instance offer."""
    config_snapshot, ledger = PlacementConfig(cluster.state), Ledger(cluster.state)
    found = (host_available(config_snapshot, ledger, "h1", name), available(config_snapshot, ledger, INSTANCE, name))
    return [offer.text() if offer is not None else "" for offer in found]


def names(cluster: Cluster, host: bool) -> list[str]:
    config_snapshot, ledger = PlacementConfig(cluster.state), Ledger(cluster.state)
    found = host_resources(config_snapshot, ledger, "h1") if host else all_resources(config_snapshot, ledger, INSTANCE)
    return [offer.entry.name for offer in found]


@pytest.mark.statement("CX-29", "CX-31")
@pytest.mark.parametrize(
    ("relop", "on_host", "in_queue"),
    [
        ("<=", "hf:size=3", "qf:size=2"),
        ("<", "hf:size=3", "qf:size=2"),
        (">=", "gf:size=5", "gf:size=5"),
        (">", "gf:size=5", "gf:size=5"),
        ("==", "gf:size=5", "gf:size=5"),
        ("!=", "gf:size=5", "gf:size=5"),
    ],
)
def test_the_strictest_level_decides_and_without_an_order_the_highest(relop: str, on_host: str, in_queue: str) -> None:
    cluster = Cluster(1)
    cluster.complex(f"size INT {relop} YES NO 0 0")
    cluster.values("global", "size=5")
    cluster.values("h1", "size=3")
    cluster.queue(complex_values="size=2")
    assert offered(cluster, "size") == [on_host, in_queue]


@pytest.mark.statement("CX-49")
@pytest.mark.parametrize(("asked", "left"), [("ex", ["gc:ex=1.000000", "gc:ex=1.000000"]), ("own", ["hc:own=1.000000"] * 2)])
def test_an_exclusive_attribute_in_use_is_offered_no_more(asked: str, left: list[str]) -> None:
    cluster = Cluster(1)
    cluster.complex("ex BOOL EXCL YES YES 0 0")
    cluster.complex("own BOOL EXCL YES YES 0 0")
    cluster.values("global", "ex=TRUE")
    cluster.values("h1", "own=TRUE")
    assert offered(cluster, asked) == left
    cluster.submit(hard={asked: "TRUE"})
    cluster.cycle()
    assert offered(cluster, asked) == [text.replace("1.0", "0.0") for text in left]


@pytest.mark.statement("CX-49", "CX-31")
def test_the_exclusive_attribute_in_use_is_shown_at_every_level() -> None:
    cluster = Cluster(1)
    cluster.complex("ex BOOL EXCL YES YES 0 0")
    cluster.values("global", "ex=TRUE")
    cluster.values("h1", "ex=FALSE")
    assert offered(cluster, "ex") == ["hc:ex=0.000000", "hc:ex=0.000000"]


def test_a_consumable_of_text_is_shown_as_it_is_configured() -> None:
    cluster = Cluster(1)
    cluster.complex("tag STRING == YES YES NONE 0")
    cluster.values("h1", "tag=blue")
    assert offered(cluster, "tag") == ["hf:tag=blue", "hf:tag=blue"]
    job = cluster.submit()
    cluster.cycle()
    assert cluster.runs(job)


@pytest.mark.statement("CX-18")
def test_load_values_that_no_complex_attribute_names_are_not_offered() -> None:
    cluster = Cluster(1)
    cluster.apply(HostHeard("h1", NOW, {"strange": "5", "swap_rate": "5M"}))
    assert names(cluster, host=True) == [*LOAD, "swap_rate"]


@pytest.mark.statement("ST-8", "ST-9")
def test_offers_are_listed_as_configured_then_as_reported_then_of_the_queue() -> None:
    cluster = Cluster(1)
    for name in ("zeta", "beta", "tape"):
        cluster.complex(f"{name} INT <= YES NO 0 0")
    cluster.values("global", "zeta=1")
    cluster.values("h1", "tape=1,zeta=2")
    cluster.queue(complex_values="beta=3")
    cluster.apply(HostHeard("global", NOW, {"swap_rate": "3M"}))
    of_host = ["zeta", "tape", "swap_rate", *LOAD]
    assert names(cluster, host=True) == of_host
    of_instance = names(cluster, host=False)
    assert of_instance[: len(of_host) + 3] == [*of_host, "qname", "hostname", "slots"]
    assert len(of_instance) == len(set(of_instance)) and "beta" in of_instance


@pytest.mark.statement("ST-8")
def test_attributes_that_only_the_queue_configures_are_listed_last_by_name() -> None:
    cluster = Cluster(1)
    for name in ("zeta", "beta"):
        cluster.complex(f"{name} INT <= YES NO 0 0")
    cluster.queue(complex_values="zeta=1,beta=3")
    assert names(cluster, host=False)[-2:] == ["beta", "zeta"]


@pytest.mark.statement("CX-29")
def test_of_texts_the_highest_level_counts() -> None:
    cluster = Cluster(1)
    cluster.complex("tag STRING == YES NO NONE 0")
    cluster.values("global", "tag=b")
    cluster.values("h1", "tag=a")
    cluster.queue(complex_values="tag=c")
    assert offered(cluster, "tag") == ["gf:tag=b", "gf:tag=b"]
    assert offered(cluster, "nosuch") == ["", ""]
