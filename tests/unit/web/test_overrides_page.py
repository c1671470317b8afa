"""The matrix of a cluster queue: values are set and reset for hosts and groups, in one change that History undoes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Cell
from tests.unit.web.browsing import Visitor, rows, text_of
from tests.unit.web.followed import ALICE, ROOT, Followed

ADDRESS = "/queues/all.q/overrides"


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path, 40)


@pytest.fixture
def browse(browse: Callable[..., Any]) -> Callable[..., Any]:
    """As root, unless a test names another user."""
    return lambda play, caller=ROOT: browse(play, caller)


def queue(followed: Followed) -> dict[str, str]:
    return dict(followed.cell.state.kind("cluster_queue")["all.q"])


def fields_of(page: Any) -> dict[str, Any]:
    """The fields of the matrix as they would be sent, without the selection."""
    (form,) = page.xpath("//form[@class='form']")
    found: dict[str, Any] = {"column": form.xpath(".//input[@name='column']/@value")}
    for field in form.xpath(".//input[@name and not(@type='checkbox') and not(@name='column')]"):
        found[field.get("name")] = field.get("value", "")
    return found


async def send(visitor: Visitor, page: Any, button: str, address: str = ADDRESS, **fields: Any) -> Any:
    renamed = {name.replace("fill_", "fill "): value for name, value in fields.pop("cells", fields).items()}
    return await visitor.send(address, {**fields_of(page), **renamed, "do": button})


@pytest.mark.statement("GU-3")
def test_a_value_for_many_hosts_is_previewed_saved_as_one_change_and_undone(followed: Followed, browse: Any) -> None:
    hosts = sorted(followed.cell.names)
    before = queue(followed)

    async def play(visitor: Visitor) -> None:
        page = await visitor.get(f"{ADDRESS}?attribute=slots")
        preview = await send(visitor, page, "set", target=hosts, fill_attribute="slots", fill_value="16")
        assert queue(followed) == before
        assert "40 queue instances get new values" in text_of(preview)
        assert fields_of(preview)["cell slots h40"] == "16"
        assert "modified" in text_of(await send(visitor, preview, "save"))
        assert queue(followed) == {**before, "slots": "4," + ",".join(f"[{host}=16]" for host in hosts)}
        followed.take()
        page = await visitor.get("/history")
        number = page.xpath("//tbody//th/a/@href")[0]
        await visitor.send(number, {"do": "undo"})
        assert queue(followed) == before

    browse(play)


def test_cells_are_set_and_reset_together_and_others_stay(followed: Followed, browse: Any) -> None:
    followed.cell.configure("cluster_queue", "all.q", slots="4,[@allhosts=6],[h1=8],[h2=2]", priority="0,[h1=5]")

    async def play(visitor: Visitor) -> None:
        page = await visitor.get(ADDRESS)
        fields = fields_of(page)
        assert fields["cell slots h1"] == "8"
        assert fields["cell slots h3"] == ""
        assert page.xpath("//input[@name='cell slots h1']/@placeholder") == ["6"]
        await send(visitor, page, "save", cells={"cell slots h1": "", "cell slots h3": "1", "cell priority all": "3"})

    browse(play)
    assert queue(followed)["slots"] == "4,[@allhosts=6],[h2=2],[h3=1]"
    assert queue(followed)["priority"] == "3,[h1=5]"


def test_a_reset_of_selected_rows_leaves_the_inherited_value(followed: Followed, browse: Any) -> None:
    followed.cell.configure("cluster_queue", "all.q", slots="4,[h1=8],[h2=2]")

    async def play(visitor: Visitor) -> None:
        page = await visitor.get(ADDRESS)
        page = await send(visitor, page, "reset", target=["h1", "h2"], fill_attribute="slots")
        await send(visitor, page, "save")

    browse(play)
    assert queue(followed)["slots"] == "4"


def test_an_unchanged_matrix_changes_nothing(followed: Followed, browse: Any) -> None:
    followed.cell.configure("cluster_queue", "all.q", slots="4,[@allhosts=6],[h1=8]", pe_list="make smp mpi,[h2=make]")
    before = queue(followed)

    async def play(visitor: Visitor) -> str:
        return text_of(await send(visitor, await visitor.get(ADDRESS), "save"))

    assert "Nothing is changed." in browse(play)
    assert queue(followed) == before


@pytest.mark.parametrize(
    ("cells", "field"),
    [
        ({"cell slots h1": "many"}, "cell.slots.h1"),
        ({"cell slots all": "many"}, "cell.slots.all"),
        ({"cell slots h1": "4],[h2=9"}, "cell.slots.h1"),
        ({"cell slots @no_such": "4"}, ""),
    ],
)
def test_a_wrong_value_is_refused_at_its_cell_and_changes_nothing(
    followed: Followed, browse: Any, cells: dict[str, str], field: str
) -> None:
    before = queue(followed)

    async def play(visitor: Visitor) -> Any:
        return await send(visitor, await visitor.get(f"{ADDRESS}?attribute=slots"), "save", cells=cells)

    page = browse(play)
    assert [each.removeprefix("error-") for each in page.xpath("//td//span[@class='error']/@id")] == ([field] if field else [])
    assert page.xpath("//li[contains(@class, 'bad')]")
    assert fields_of(page).items() >= {name: value for name, value in cells.items() if "@" not in name}.items()
    assert queue(followed) == before


@pytest.mark.parametrize(
    ("button", "fields", "reason"),
    [
        ("set", {"target": "h1", "fill_attribute": "slots"}, "a value is missing"),
        ("set", {"fill_attribute": "slots", "fill_value": "3"}, "Select hosts"),
        ("set", {"target": "h1", "fill_attribute": "qname", "fill_value": "x"}, "Choose an attribute"),
        ("reset", {"target": "all", "fill_attribute": "slots"}, "cannot be reset"),
    ],
)
def test_an_incomplete_request_for_selected_rows_is_refused_with_the_reason(
    browse: Any, button: str, fields: dict[str, str], reason: str
) -> None:
    async def play(visitor: Visitor) -> str:
        return text_of(await send(visitor, await visitor.get(ADDRESS), button, **fields))

    assert reason in browse(play)


def test_the_later_of_two_administrators_sees_both_versions(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        page = await visitor.get(f"{ADDRESS}?attribute=slots")
        followed.cell.configure("cluster_queue", "all.q", slots="7")
        followed.take()
        return await send(visitor, page, "save", cells={"cell slots h1": "9"})

    page = browse(play)
    assert ["slots", "4", "7", "4,[h1=9]"] in rows(page, 1)
    assert queue(followed)["slots"] == "7"


@pytest.mark.parametrize("before", ["", "{", "[]", json.dumps({"qname": 3}), json.dumps({"slots": "5"})])
def test_a_matrix_that_was_tampered_with_is_based_on_the_stored_values(followed: Followed, browse: Any, before: str) -> None:
    async def play(visitor: Visitor) -> int:
        page = await visitor.get(f"{ADDRESS}?attribute=slots")
        await send(visitor, page, "preview", cells={"before": before, "cell slots h1": "9"})
        return visitor.status

    assert browse(play) == 200
    assert queue(followed)["slots"] == "4"


@pytest.mark.statement("GU-12")
def test_a_user_has_no_fields_and_changes_nothing(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> tuple[Any, str]:
        page = await visitor.get(ADDRESS)
        sent = {"column": "slots", "cell slots h1": "9", "before": json.dumps(queue(followed)), "do": "save"}
        return page, text_of(await visitor.send(ADDRESS, sent))

    page, answer = browse(play, ALICE)
    assert page.xpath("//main//input") == []
    assert '"alice" must be manager' in text_of(page)
    assert '"alice" must be manager' in answer
    assert queue(followed)["slots"] == "4"


def test_a_missing_queue_is_not_found(browse: Any) -> None:
    async def play(visitor: Visitor) -> int:
        await visitor.get("/queues/no.q/overrides")
        return visitor.status

    assert browse(play) == 404
