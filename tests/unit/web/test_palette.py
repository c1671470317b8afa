"""The palette finds objects of every kind, a few of each, and the number of a job leads to the job."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.web.pages.navigation import GO, go_keys
from daemons.web.pages.palette import MOST
from tests.unit.web.browsing import page, text_of
from tests.unit.web.followed import Followed


def results(browse: Any, find: str) -> dict[str, list[tuple[str, str]]]:
    """Texts and addresses by heading."""
    shown = browse(page(f"/search/palette?find={find}"))
    return {
        group.get("aria-label"): [(text_of(each), each.get("href")) for each in group.xpath(".//a[@role='option']")]
        for group in shown.xpath("//div[@role='group']")
    }


@pytest.mark.statement("GU-4")
@pytest.mark.parametrize(
    ("find", "heading", "result"),
    [
        ("sim", "Jobs", ("1 sim-h2 alice, hqw", "/jobs/1")), ("alic", "Users", ("alice jobs of this user", "/jobs?owner=alice")),
        ("H2", "Hosts", ("h2 host", "/hosts/h2")), ("all", "Cluster queues", ("all.q cluster queue", "/queues/all.q")),
        ("q@h2", "Queue instances", ("all.q@h2 queue instance", "/instances/all.q@h2")),
        ("quota", "Pages", ("Quotas page", "/quotas")), ("reserve", "Actions", ("Reserve slots", "/reservations/new")),
        ("shell_start", "Settings", ("all.q cluster queue: shell_start_mode", "/config/cluster_queue/all.q")),
        ("1", "Jobs", ("Job 1 sim-h2, alice", "/jobs/1")), ("1", "Jobs", ("Change job 1", "/jobs/1/alter")),
    ],
)
def test_each_kind_is_found(followed: Followed, browse: Any, find: str, heading: str, result: tuple[str, str]) -> None:
    followed.cell.submit(name="sim-h2", holds="u")
    assert result in results(browse, find)[heading]


def test_a_kind_has_few_results_and_a_job_one(followed: Followed, browse: Any) -> None:
    for number in range(20):
        followed.cell.submit(name=f"many{number}", tasks="1-3")
    followed.cell.cycle()
    found = results(browse, "many")
    assert len(found["Jobs"]) == MOST == len(dict(found["Jobs"]))


def test_an_empty_palette_has_pages_and_an_unknown_text_nothing(browse: Any) -> None:
    assert list(results(browse, "")) == ["Pages"]
    assert results(browse, "nosuchthing") == {}


def test_each_key_leads_to_a_page_of_the_navigation() -> None:
    assert len(go_keys()) == len(GO) == len(set(GO.values()))
