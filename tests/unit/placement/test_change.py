"""The smallest change that would let a pending job start: the request to give up or to lower, and how far."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from gridengine.placement.smallest_change import Change, smallest_change, without_requests
from tests.builders import NOW, Cluster


def change(cluster: Cluster, assume_empty: bool = True, **fields: Any) -> Change | None:
    return smallest_change(cluster.state, cluster.job(**fields), NOW, assume_empty, UTC)


def sized(*sizes: str, relop: str = "<=") -> Cluster:
    """A host of each size; `size` and `width` are configured alike."""
    cluster = Cluster(len(sizes))
    for name in ("size", "width"):
        cluster.complex(f"{name} DOUBLE {relop} YES NO 0 0")
    for host, size in zip(cluster.hosts, sizes, strict=True):
        cluster.values(host, f"size={size},width={size}")
    return cluster


@pytest.mark.statement("ST-18")
def test_a_request_is_lowered_to_the_most_that_is_offered() -> None:
    assert change(sized("2", "10", "3"), hard={"h_rt": "60", "size": "12"}) == Change(
        ["size=10 instead of size=12 (-l)"], "-l h_rt=60,size=10"
    )
    assert change(sized("2.50", "0.5"), hard={"size": "12"}) == Change(["size=2.5 instead of size=12 (-l)"], "-l size=2.5")


@pytest.mark.statement("ST-18")
def test_the_offer_has_to_suit_the_rest_of_the_request() -> None:
    found = change(sized("2", "10"), hard={"hostname": "h1", "size": "12"})
    assert found == Change(["size=2 instead of size=12 (-l)"], "-l hostname=h1,size=2")


@pytest.mark.statement("ST-18")
def test_the_smallest_change_gives_up_a_single_request_rather_than_two() -> None:
    found = change(sized("2"), hard={"size": "1", "hostname": "h9", "h_rt": "60"})
    assert found == Change(["hostname=h1 instead of hostname=h9 (-l)"], "-l size=1,h_rt=60,hostname=h1")


@pytest.mark.statement("ST-18")
def test_as_few_requests_as_possible_are_changed() -> None:
    found = change(sized("2"), hard={"h_rt": "60", "size": "9", "arch": "lx-amd64", "width": "7"})
    assert found == Change(
        ["size=2 instead of size=9 (-l)", "width=2 instead of width=7 (-l)"], "-l h_rt=60,arch=lx-amd64,size=2,width=2"
    )


@pytest.mark.statement("ST-18")
@pytest.mark.parametrize(
    ("fields", "text", "options"),
    [
        ({"hard_queues": ("no.q", "nor.q")}, "without -q no.q,nor.q", "-q '*'"),
        ({"hard": {"nowhere": "5"}}, "without nowhere=5 (-l)", "-l ''"),
        ({"checkpoint": "none_such"}, "without -ckpt none_such", ""),
        ({"pe": "par", "pe_range": "9"}, "8 slots instead of 9 (-pe)", "-pe par 8"),
        ({"pe": "par", "pe_range": "20-30"}, "8 slots instead of 20-30 (-pe)", "-pe par 8"),
        ({"allocation_rule": "$fill_up", "pe_range": "9"}, "8 slots instead of 9 (-pe)", "-alloc $fill_up 8"),
        ({"pe": "par", "pe_range": "4", "master_queues": ("no.q",)}, "without -masterq no.q", ""),
    ],
)
def test_the_given_up_request_and_its_option_are_named(fields: dict[str, Any], text: str, options: str) -> None:
    cluster = Cluster(2)
    cluster.pe("par", "$fill_up")
    cluster.queue(pe_list="par")
    cluster.complex("nowhere INT <= YES NO 0 0")
    assert change(cluster, **fields) == Change([text], options)


@pytest.mark.statement("ST-18")
def test_several_kinds_of_requests_are_changed_by_one_command() -> None:
    cluster = Cluster(2)
    cluster.pe("par", "$fill_up")
    cluster.queue(pe_list="par")
    found = change(cluster, hard={"arch": "sol"}, hard_queues=("no.q",), pe="par", pe_range="9")
    assert found is not None and found.options == "-l arch=lx-amd64 -q '*' -pe par 8"
    assert found.texts == ["arch=lx-amd64 instead of arch=sol (-l)", "without -q no.q", "8 slots instead of 9 (-pe)"]
    found = change(cluster, hard={"arch": "sol"}, checkpoint="none_such")
    assert found is not None and found.options == "" and len(found.texts) == 2


@pytest.mark.statement("ST-18")
def test_a_temporary_change_is_marked_and_counts_running_jobs() -> None:
    cluster = Cluster(1, slots=3)
    cluster.pe("par", "$fill_up")
    cluster.queue(pe_list="par")
    cluster.submit()
    cluster.cycle()
    assert change(cluster, assume_empty=False, pe="par", pe_range="3") == Change(
        ["2 slots instead of 3 (-pe)"], "-pe par 2", now=True
    )
    assert change(cluster, pe="par", pe_range="4") == Change(["3 slots instead of 4 (-pe)"], "-pe par 3", now=False)


@pytest.mark.statement("ST-18")
def test_without_a_change_that_helps_none_is_suggested() -> None:
    assert change(Cluster(1, slots=0), hard={"arch": "sol"}) is None
    assert change(Cluster(1, slots=0)) is None


def test_requests_that_are_given_up_leave_the_others_and_the_job_alone() -> None:
    job = Cluster(1).job(hard={"a": "1", "b": "2", "c": "3"}, hard_queues=("q",), pe_range="5", project="p")
    less = without_requests(job, [("hard", "a"), ("hard", "c"), ("hard_queues", ""), ("pe_range", ""), ("project", "")])
    assert (less.hard, less.hard_queues, less.pe_range, less.project) == ({"b": "2"}, (), "1", "")
    assert (job.hard, job.hard_queues) == ({"a": "1", "b": "2", "c": "3"}, ("q",))


@pytest.mark.statement("ST-18")
@pytest.mark.parametrize(
    ("asked", "used", "advice"),
    [("9", "0", "lic=4 instead of lic=9 (-l)"), ("3", "2", "lic=2 instead of lic=3 (-l)"), ("3", "4", "")],
)
def test_a_consumable_is_lowered_but_never_given_up(asked: str, used: str, advice: str) -> None:
    cluster = Cluster(1)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=4")
    if used != "0":
        cluster.submit(hard={"lic": used})
        cluster.cycle()
    found = change(cluster, assume_empty=False, hard={"lic": asked})
    assert (found.texts if found else []) == ([advice] if advice else [])


@pytest.mark.statement("ST-18")
def test_another_request_is_given_up_where_a_consumable_must_not_be() -> None:
    cluster = Cluster(2)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("h1", "lic=1")
    cluster.values("h2", "lic=1")
    cluster.submit(hard={"lic": "1", "hostname": "h1"})
    cluster.cycle()
    found = change(cluster, assume_empty=False, hard={"lic": "1"}, hard_queues=("all.q@h1",))
    assert found == Change(["without -q all.q@h1"], "-q '*'", now=True)
