"""Quotas with their usage, and the share tree, in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.web.browsing import Visitor, rows, text_of
from tests.unit.web.followed import ALICE, ROOT, Followed


@pytest.fixture
def browse(browse: Callable[..., Any]) -> Callable[..., Any]:
    """As root, unless a test names another user."""
    return lambda play, caller=ROOT: browse(play, caller)


@pytest.fixture
def quotas(followed: Followed) -> Followed:
    """Of five slots alice uses three, of one slot on h2 one is used; somebody else has a limit of memory."""
    cell = followed.cell
    cell.add("resource_quota", "people", enabled="TRUE", limit="name each users {*} to slots=5")
    cell.add("resource_quota", "hosts", enabled="TRUE", limit="hosts h2 to slots=1\nhosts h3 to slots=9")
    cell.submit(name="one", tasks="1-2", hard_queues=["all.q@h1"])
    cell.submit(name="two", hard_queues=["all.q@h2"])
    cell.submit("bob", hard_queues=["all.q@h3"])
    cell.cycle()
    return followed


@pytest.mark.statement("RQ-7")
def test_the_fullest_limit_comes_first_with_its_bar(quotas: Followed, browse: Any) -> None:
    page = browse(lambda visitor: visitor.get("/quotas"))
    found = [(row[0], row[1], row[3].split("in use ")[-1], row[4]) for row in rows(page)]
    assert found == [
        ("hosts/1", "hosts h2", "1 of 1", "at the limit"),
        ("people/each", "users alice", "3 of 5", ""),
        ("people/each", "users bob", "1 of 5", ""),
        ("hosts/2", "hosts h3", "1 of 9", ""),
    ]
    bars = page.xpath("//td//svg")
    assert [bar.get("aria-label") for bar in bars][:2] == ["1 of 1 in use", "3 of 5 in use"]
    widths = [(bar[2].get("class"), bar[2].get("width")) for bar in bars]
    assert widths[:2] == [("over", "96.0"), ("used", "57.6")]
    assert page.xpath("//a[@href='/config/resource_quota/people']")
    assert "1 limit is used up" in text_of(page)


@pytest.mark.statement("RQ-7")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?user=bob", {("hosts/1", "1 of 1"), ("people/each", "1 of 5"), ("hosts/2", "1 of 9")}),
        ("?host=h2&user=alice", {("hosts/1", "1 of 1"), ("people/each", "3 of 5")}),
        ("?queue=all.q&user=alice,bob&host=h1", {("people/each", "3 of 5"), ("people/each", "1 of 5")}),
        ("?project=weather&host=h3&user=bob", {("people/each", "1 of 5"), ("hosts/2", "1 of 9")}),
    ],
)
def test_quotas_are_filtered_as_qquota_does(quotas: Followed, browse: Any, query: str, found: set[tuple[str, str]]) -> None:
    page = browse(lambda visitor: visitor.get(f"/quotas{query}"))
    assert {(row[0], row[3].split("in use ")[-1]) for row in rows(page)} == found


def test_quotas_say_what_to_do_next(followed: Followed, browse: Any) -> None:
    assert "No quotas" in text_of(browse(lambda visitor: visitor.get("/quotas")))
    followed.cell.add("resource_quota", "people", enabled="TRUE", limit="users {*} to slots=5")
    assert "Nothing is in use" in text_of(browse(lambda visitor: visitor.get("/quotas")))
    assert "No matching limits" in text_of(browse(lambda visitor: visitor.get("/quotas?user=nobody")))


@pytest.mark.parametrize("query", ["?user=" + "x" * 5000, "?host=%5B", "?user=@nosuch", "?queue=(("])
def test_a_filter_that_means_nothing_does_no_harm(quotas: Followed, browse: Any, query: str) -> None:
    async def look(visitor: Visitor) -> int:
        await visitor.get(f"/quotas{query}")
        return visitor.status

    assert browse(look) == 200


@pytest.fixture
def tree(followed: Followed) -> Followed:
    """alice is to have three quarters, weather one; who else is in it has a part of that."""
    cell = followed.cell
    cell.add("user", "alice")
    cell.add("user", "bob")
    cell.add("project", "weather")
    cell.admin("change_share_tree", verb="add", nodes=["/alice=75", "/weather=25", "/weather/default=10"])
    return followed


@pytest.mark.statement("PR-11")
def test_the_share_tree_has_shares_targets_and_use(tree: Followed, browse: Any) -> None:
    tree.cell.submit("alice")
    tree.cell.cycle()
    page = browse(lambda visitor: visitor.get("/policies"), ALICE)
    found = {row[0]: row for row in reversed(rows(page))}  # of two called alice the first one stays
    assert {"Root", "alice", "weather", "default", "bob"} == found.keys()
    assert found["alice"][1:4] == ["75", "75.0 %", "75.0 %"]
    assert found["default"][1:4] == ["10", "100.0 %", "25.0 %"]
    assert "target 100.0 %" in found["alice"][4]
    assert "actual 0.0 %" in found["alice"][4]
    assert len(page.xpath("//tr[@id='row-/weather/default']//span[@class='level']")) == 2
    assert page.xpath("//tr[@id='row-/alice']//svg[@aria-label='target 100.0 %']")
    assert "weight_tickets_share is 0" in text_of(page)


@pytest.mark.statement("QF-32", "QF-33", "GU-12")
def test_managers_change_the_tree_and_others_may_not(tree: Followed, browse: Any) -> None:
    def shares() -> dict[str, int]:
        root = tree.cell.state.share_trees.get("")
        return {path: node.shares for path, node in root.walk()}

    async def press(visitor: Visitor) -> list[str]:
        messages = await visitor.post("/policies", do="modify", node="/alice", shares="40")
        messages += await visitor.post("/policies", do="add", node="/weather/bob", shares="7")
        messages += await visitor.post("/policies", do="delete", node="/weather/default")
        messages += await visitor.post("/policies", do="clear", users="alice, bob")
        return messages

    page = browse(lambda visitor: visitor.get("/policies"), ALICE)
    assert not page.xpath("//input[@name='shares' and @size]")
    assert '"alice" must be manager' in text_of(page)
    before = shares()
    assert all("alice" in text for text in browse(press, ALICE))
    assert shares() == before
    browse(press)
    assert shares() == {"/": 1, "/alice": 40, "/weather": 25, "/weather/bob": 7}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"do": "modify", "node": "/nobody", "shares": "3"}, "/nobody"),
        ({"do": "modify", "node": "/alice", "shares": "many"}, "many"),
        ({"do": "explode"}, "no action"),
        ({}, "no action"),
    ],
)
def test_errors_in_a_node_are_shown(tree: Followed, browse: Any, fields: dict[str, str], text: str) -> None:
    messages = browse(lambda visitor: visitor.post("/policies", **fields))
    assert any(text in each for each in messages)


def test_without_a_tree_the_page_explains_how_to_create_it(followed: Followed, browse: Any) -> None:
    page = browse(lambda visitor: visitor.get("/policies"))
    assert "No share tree" in text_of(page)
    assert page.xpath("//a[@href='/config/share_tree/-']")
    followed.cell.add("user", "alice", fshare="100", oticket="3")
    browse(lambda visitor: visitor.post("/policies", do="add", node="/alice", shares="10"))
    page = browse(lambda visitor: visitor.get("/policies"))
    assert "No share tree" not in text_of(page)
    assert ["alice", "user", "100", "3"] in rows(page, 1)
    assert page.xpath("//a[@href='/config/scheduler/-']")
