"""Changes of the configuration in the browser, and their undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from daemons.web.pages import history
from tests.unit.web.browsing import Visitor, rows, text_of
from tests.unit.web.followed import ALICE, ROOT, Followed


@pytest.fixture
def browse(browse: Callable[..., Any]) -> Callable[..., Any]:
    """As root, unless a test names another user."""
    return lambda play, caller=ROOT: browse(play, caller)


def revision_of(followed: Followed) -> int:
    """The newest change."""
    found: int = followed.cell.master.spool.history(1)[0][0]
    return found


async def undone(visitor: Visitor, revision: int) -> tuple[Any, Any]:
    """The pages of the preview and of the undo."""
    address = f"/history/{revision}"
    return await visitor.send(address, {"do": "preview"}), await visitor.send(address, {"do": "undo"})


@pytest.fixture
def changed(followed: Followed) -> Followed:
    """Three changes: of a queue by root, of a project by root, of the queue again by bob."""
    cell = followed.cell
    cell.admin("config_add", kind="manager", name="bob")
    cell.configure("cluster_queue", "all.q", seq_no="7")
    cell.add("project", "weather")
    text = {**cell.state.kind("cluster_queue")["all.q"], "priority": "3"}
    fields = [(name, value, 1) for name, value in text.items()]
    cell.ask("config_modify", "bob", "master", kind="cluster_queue", name="all.q", attributes=fields)
    return followed


def test_the_newest_change_comes_first_with_what_it_changed(changed: Followed, browse: Any) -> None:
    found = rows(browse(lambda visitor: visitor.get("/history")))
    assert found[0][2] == "bob@master"
    assert 'changed cluster queue "all.q" priority : 0 3' in found[0][3]
    assert 'added project "weather"' in found[1][3]
    assert "seq_no : 0 7" in found[2][3]


@pytest.mark.parametrize(
    ("query", "number"),
    [("?user=bob", 1), ("?kind=cluster_queue&user=root", 1), ("?name=weather", 1), ("?kind=calendar", 0), ("?user=alice", 0)],
)
def test_changes_are_filtered(changed: Followed, browse: Any, query: str, number: int) -> None:
    assert len(rows(browse(lambda visitor: visitor.get(f"/history{query}")))) == number


def test_the_list_goes_on_with_older_changes(changed: Followed, browse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "ROWS", 2)
    first = browse(lambda visitor: visitor.get("/history?kind=cluster_queue"))
    (older,) = first.xpath("//a[@rel='next']/@href")
    second = browse(lambda visitor: visitor.get(older))
    numbers = [int(row[0]) for page in (first, second) for row in rows(page)]
    assert len(set(numbers)) == 3
    assert numbers == sorted(numbers, reverse=True)
    assert not second.xpath("//a[@rel='next']")


def test_the_undo_is_shown_first_and_then_done(followed: Followed, browse: Any) -> None:
    followed.cell.configure("cluster_queue", "all.q", hostlist="h1 h2")
    before = followed.cell.state.kind("cluster_queue")["all.q"]
    revision = revision_of(followed)
    opened = browse(lambda visitor: visitor.get(f"/history/{revision}"))
    assert [button.text for button in opened.xpath("//main//form//button")] == ["Preview the undo"]
    preview = browse(lambda visitor: visitor.send(f"/history/{revision}", {"do": "preview"}))
    assert "all.q@h3" in text_of(preview)
    assert "queue instances are added" in text_of(preview)
    assert "Undo this change" in text_of(preview)
    assert followed.cell.state.kind("cluster_queue")["all.q"] == before
    done = browse(lambda visitor: visitor.send(f"/history/{revision}", {"do": "undo"}))
    assert "modified" in text_of(done)
    assert "all.q@h3" in followed.cell.state.instances


def test_the_undo_of_an_addition_removes_and_of_a_removal_adds_again(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    cell.add("project", "weather", fshare="5")
    added = cell.state.kind("project")["weather"]
    browse(lambda visitor: undone(visitor, revision_of(followed)))
    assert "weather" not in cell.state.kind("project")
    browse(lambda visitor: undone(visitor, revision_of(followed)))
    assert cell.state.kind("project")["weather"] == added


def test_the_undo_is_refused_after_a_later_change(changed: Followed, browse: Any) -> None:
    revision = changed.cell.master.spool.history(1, kind="cluster_queue", user="root")[0][0]
    preview, done = browse(lambda visitor: undone(visitor, revision))
    for page in (preview, done):
        assert "has been changed since" in text_of(page)
        assert ['cluster queue "all.q": seq_no', "7", "7", "0"] in rows(page)
        assert ['cluster queue "all.q": priority', "0", "3", "0"] in rows(page)
    assert changed.cell.state.kind("cluster_queue")["all.q"]["seq_no"] == "7"


@pytest.mark.statement("GU-12", "QF-36")
def test_a_user_looks_and_undoes_nothing(changed: Followed, browse: Any) -> None:
    revision = revision_of(changed)
    page = browse(lambda visitor: visitor.get(f"/history/{revision}"), ALICE)
    assert '"alice" must be manager' in text_of(page)
    _, done = browse(lambda visitor: undone(visitor, revision), ALICE)
    assert '"alice" must be manager' in text_of(done)
    assert changed.cell.state.kind("cluster_queue")["all.q"]["priority"] == "3"


@pytest.mark.parametrize("number", ["0", "99999", "x", "-1", "9" * 30])
def test_an_unknown_change_is_not_found(browse: Any, number: str) -> None:
    async def look(visitor: Visitor) -> list[int]:
        await visitor.get(f"/history/{number}")
        statuses = [visitor.status]
        await visitor.send(f"/history/{number}", {"do": "undo"})
        return [*statuses, visitor.status]

    assert browse(look) == [404, 404]


def test_while_the_qmaster_is_away_there_is_no_history(browse: Any) -> None:
    async def look(visitor: Visitor) -> list[int]:
        visitor.link.away = True
        await visitor.get("/history")
        statuses = [visitor.status]
        await visitor.send("/history/1", {"do": "undo"})
        return [*statuses, visitor.status]

    assert browse(look) == [503, 503]
