"""One attribute of many objects: previewed, changed in one transaction or not at all, undone in one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.web.browsing import Visitor, rows, text_of
from tests.unit.web.followed import ALICE, ROOT, Followed

ADDRESS = "/bulk/cluster_queue"
QUEUES = ["all.q", "long.q", "short.q"]


@pytest.fixture
def browse(browse: Callable[..., Any], followed: Followed) -> Callable[..., Any]:
    """As root, unless a test names another user, in a cell with three queues."""
    for name in QUEUES[1:]:
        followed.cell.add("cluster_queue", name, hostlist="h1")
    return lambda play, caller=ROOT: browse(play, caller)


def values(followed: Followed, attribute: str) -> list[str]:
    return [followed.cell.state.kind("cluster_queue")[name][attribute] for name in QUEUES]


async def change(visitor: Visitor, button: str = "save", **fields: Any) -> Any:
    """Preview a change, and press a button of the preview."""
    page = await visitor.send(ADDRESS, {"target": QUEUES, "verb": "modify", **fields, "do": "preview"})
    if button == "preview":
        return page
    (seen,) = page.xpath("//input[@name='seen']/@value")
    return await visitor.send(ADDRESS, {"target": QUEUES, "verb": "modify", **fields, "seen": seen, "do": button})


@pytest.mark.statement("GU-2", "QF-1")
@pytest.mark.parametrize(
    ("verb", "attribute", "value", "expected"),
    [
        ("modify", "slots", "7", ["7", "7", "7"]),
        ("modify", "slots", "[h1=2]", ["4,[h1=2]", "1,[h1=2]", "1,[h1=2]"]),
        ("add", "complex_values", "slots=9", ["slots=9", "slots=9", "slots=9"]),
        ("delete", "pe_list", "smp", ["make mpi"] * 3),
    ],
)
def test_many_objects_are_changed_at_once_and_undone_as_one(
    followed: Followed, browse: Any, verb: str, attribute: str, value: str, expected: list[str]
) -> None:
    async def play(visitor: Visitor) -> None:
        before = values(followed, attribute)
        preview = await change(visitor, "preview", verb=verb, attribute=attribute, value=value)
        assert rows(preview) == [list(row) for row in zip(QUEUES, before, expected, strict=True)]
        assert values(followed, attribute) == before
        await change(visitor, verb=verb, attribute=attribute, value=value)
        assert values(followed, attribute) == expected
        followed.take()
        page = await visitor.get("/history")
        assert text_of(page.xpath("//tbody/tr[1]")[0]).count("cluster queue") == 3
        await visitor.send(page.xpath("//tbody//th/a/@href")[0], {"do": "undo"})
        assert values(followed, attribute) == before

    browse(play)


def test_a_bulk_change_with_one_bad_object_changes_nothing(followed: Followed, browse: Any) -> None:
    before = values(followed, "subordinate_list")

    async def play(visitor: Visitor) -> str:
        fields = {"attribute": "subordinate_list", "value": "long.q=1"}  # long.q cannot be below itself
        preview = await change(visitor, "preview", **fields)
        assert preview.xpath("//input[@name='seen']/@value") == [""]
        return text_of(await change(visitor, **fields))

    assert "subordinate to itself" in browse(play)
    assert values(followed, "subordinate_list") == before


def test_objects_that_changed_since_the_preview_are_previewed_again(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        page = await change(visitor, "preview", attribute="slots", value="7")
        (seen,) = page.xpath("//input[@name='seen']/@value")
        followed.cell.configure("cluster_queue", "short.q", slots="9")
        followed.take()
        fields = {"target": QUEUES, "attribute": "slots", "value": "7", "seen": seen, "do": "save"}
        return await visitor.send(ADDRESS, fields)

    page = browse(play)
    assert "since the preview" in text_of(page)
    assert values(followed, "slots") == ["4", "1", "9"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"target": [], "attribute": "slots", "value": "1"}, "Nothing selected"),
        ({"attribute": "", "value": "1"}, "Choose an attribute"),
        ({"attribute": "slots", "verb": "add", "value": "1"}, "slots is no list"),
        ({"attribute": "slots", "value": "many"}, "slots"),
        ({"attribute": "qname", "value": "x"}, "cannot be changed, it is the name"),
        ({"attribute": "pe_list", "verb": "add", "value": "NONE"}, "names no element"),
        ({"attribute": "pe_list", "value": "make smp mpi"}, "Nothing is changed"),
    ],
)
def test_a_request_without_effect_is_answered_with_the_reason(
    followed: Followed, browse: Any, fields: dict[str, Any], reason: str
) -> None:
    page = browse(lambda visitor: change(visitor, "preview", **fields))
    assert reason in text_of(page)


def test_local_configurations_of_hosts_get_an_override_each(followed: Followed, browse: Any) -> None:
    followed.cell.add("configuration", "h1", mailer="/bin/mail")
    followed.cell.add("configuration", "h2", xterm="/bin/xterm")
    followed.take()

    async def play(visitor: Visitor) -> None:
        fields: dict[str, Any] = {"target": ["h1", "h2"], "attribute": "mailer", "value": "/usr/sbin/mail"}
        page = await visitor.send("/bulk/configuration", {**fields, "do": "preview"})
        seen = page.xpath("//input[@name='seen']/@value")[0]
        await visitor.send("/bulk/configuration", {**fields, "seen": seen, "do": "save"})

    browse(play)
    assert followed.cell.state.kind("configuration")["h1"] == {"mailer": "/usr/sbin/mail"}
    assert followed.cell.state.kind("configuration")["h2"] == {"mailer": "/usr/sbin/mail", "xterm": "/bin/xterm"}


def test_all_objects_of_a_filter_are_selected_and_a_control_fits_the_attribute(browse: Any) -> None:
    async def play(visitor: Visitor) -> tuple[list[str], list[str]]:
        page = await visitor.send(ADDRESS, {"all": "1", "find": "O", "attribute": "rerun", "do": "choose"})
        return page.xpath("//input[@name='target']/@value"), page.xpath("//input[@name='value']/@type")

    assert browse(play) == (["long.q", "short.q"], ["radio", "radio"])


def test_the_list_of_a_kind_offers_the_selection_to_managers_alone(browse: Any) -> None:
    async def play(visitor: Visitor) -> list[str]:
        page = await visitor.get("/config/cluster_queue")
        return list(page.xpath("//tbody//input[@name='target']/@value"))

    assert browse(play) == QUEUES
    assert browse(play, ALICE) == []


@pytest.mark.statement("GU-12")
def test_a_user_changes_nothing(followed: Followed, browse: Any) -> None:
    page = browse(lambda visitor: change(visitor, "preview", attribute="slots", value="7"), ALICE)
    assert '"alice" must be manager' in text_of(page)
    assert values(followed, "slots") == ["4", "1", "1"]


@pytest.mark.parametrize("kind", ["nothing", "manager", "scheduler"])
def test_kinds_without_several_objects_to_change_are_not_found(browse: Any, kind: str) -> None:
    async def play(visitor: Visitor) -> int:
        await visitor.send(f"/bulk/{kind}", {})
        return visitor.status

    assert browse(play) == 404
