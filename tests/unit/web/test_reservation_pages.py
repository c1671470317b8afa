"""Reservations in the browser: the rows of qrstat, the form of qrsub, the right to delete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.browsing import Visitor, rows, text_of, visiting
from tests.unit.web.followed import ALICE, ROOT, Followed


@pytest.fixture
def browse(followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr("daemons.web.pages.reservations.time.time", lambda: followed.cell.now)

    def run(play: Callable[[Visitor], Any], caller: Caller = ROOT) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path, caller) as visitor:
                return await play(visitor)

        followed.take()
        return asyncio.run(playing())

    return run


def reserved(followed: Followed) -> None:
    """Three reservations: one that runs, one that waits, and one of those that lost a host."""
    cell = followed.cell
    cell.admin("reserve", name="now", end_time=cell.now + 3600)
    cell.admin("reserve", name="later", start_time=cell.now + 7200, duration=600.0, hard_queues=["all.q@h2"])
    cell.pass_time(1)
    followed.take()


@pytest.mark.statement("GU-10")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["now", "later"]), ("?state=w", ["later"]), ("?state=r", ["now"]),
        ("?name=n*", ["now"]), ("?owner=bob", []), ("?sort=-id", ["later", "now"]),
    ],
)
def test_the_list_is_that_of_qrstat(followed: Followed, browse: Any, query: str, names: list[str]) -> None:
    reserved(followed)
    found = rows(browse(lambda visitor: visitor.get(f"/reservations{query}")))
    assert [row[2] for row in found] == names
    if not query:
        assert found[1][4:5] + found[1][7:] == ["w waiting", "00:10:00", "1"]


@pytest.mark.statement("GU-10")
def test_errors_are_shown_in_the_list_on_the_page_and_in_the_overview(followed: Followed, browse: Any) -> None:
    reserved(followed)
    followed.cell.master.lose_host("h2")
    followed.cell.pass_time(1)
    for address in ("/reservations", "/reservations/2", "/"):
        assert "all.q@h2" in text_of(browse(lambda visitor, address=address: visitor.get(address))), address


@pytest.mark.statement("GU-10", "GU-11")
def test_a_reservation_shows_its_jobs(followed: Followed, browse: Any) -> None:
    reserved(followed)
    followed.cell.ask("submit", "root", "master", binary=True, script_file="/bin/sleep", name="inside", ar=1)
    page = browse(lambda visitor: visitor.get("/reservations/1"))
    assert [row[1] for row in rows(page)] == ["inside"]
    assert page.xpath("//a[@href='/submit?-ar=1']")
    job = browse(lambda visitor: visitor.get("/jobs/1"))
    assert job.xpath("//a[@href='/reservations/1']")


@pytest.mark.statement("GU-10", "GU-12")
def test_its_owner_deletes_it_and_others_may_not(followed: Followed, browse: Any) -> None:
    reserved(followed)

    async def press(visitor: Visitor) -> tuple[str, list[str]]:
        page = text_of(await visitor.get("/reservations/2"))
        return page, await visitor.post("/reservations", action="delete", target="2")

    page, messages = browse(press, ALICE)
    assert "alice is neither the owner" in page
    assert 2 in followed.cell.state.reservations
    assert "alice" in messages[0]
    _, messages = browse(press)
    assert 2 not in followed.cell.state.reservations


@pytest.mark.statement("GU-9", "GU-12")
def test_a_form_is_checked_looked_for_and_granted(followed: Followed, browse: Any) -> None:
    start = time.strftime("%Y%m%d%H%M.%S", time.localtime(followed.cell.now + 3600))
    fields = {"-a": start, "-d": "1:00:00", "-pe": "make 2", "-N": "form", "-u": "alice", "-heal": "y"}

    async def play(visitor: Visitor) -> list[str]:
        pages = [await visitor.send("/reservations/new", {**fields, "do": do}) for do in ("check", "find", "reserve")]
        return [text_of(page) for page in pages]

    checked, found, made = browse(play)
    assert "qrsub -a" in checked
    assert "-pe make 2" in checked
    assert "Available time slots" in found
    assert list(followed.cell.state.reservations) == [1]
    (one,) = followed.cell.state.reservations.values()
    assert (one.name, one.allowed, one.heal, one.end_time - one.start_time) == ("form", ["alice"], True, 3600)
    assert "granted" in made


@pytest.mark.parametrize(
    ("field", "value"), [("-a", "tomorrow"), ("-d", "long"), ("-pe", "make"), ("-he", "perhaps"), ("-idle", "x")]
)
def test_errors_are_shown_at_their_fields(followed: Followed, browse: Any, field: str, value: str) -> None:
    page = browse(lambda visitor: visitor.send("/reservations/new", {"-d": "60", field: value, "do": "reserve"}))
    assert [fault.get("id") for fault in page.xpath("//span[@class='error']")] == [f"error-{field}"]
    assert not followed.cell.state.reservations


def test_a_user_without_the_right_gets_the_reason(followed: Followed, browse: Any) -> None:
    page = browse(lambda visitor: visitor.send("/reservations/new", {"-d": "60", "do": "reserve"}), ALICE)
    assert "alice" in text_of(page.find(".//ul[@class='notes']"))
    assert not followed.cell.state.reservations


@pytest.mark.parametrize("number", ["99", "x", "-1"])
def test_a_missing_reservation_is_not_found(browse: Any, number: str) -> None:
    async def look(visitor: Visitor) -> int:
        await visitor.get(f"/reservations/{number}")
        return visitor.status

    assert browse(look) == 404


@pytest.mark.statement("GU-9")
def test_errors_are_shown_while_the_visitor_types(browse: Any) -> None:
    typing = {"HX-Request": "true", "HX-Target": "div#outcome"}
    values = {"-d": "60", "-q": "nosuch.q", "do": "check"}
    shown = browse(lambda visitor: visitor.send("/reservations/new", values, typing))
    assert not shown.xpath("//form")
    assert "nosuch.q" in text_of(shown)


@pytest.mark.statement("GU-9")
def test_a_free_window_fills_in_the_form(browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        found = await visitor.send("/reservations/new", {"-d": "1:00:00", "-N": "free", "do": "find"})
        return await visitor.get(found.xpath("//td[@data-label='Form']/a/@href")[0])

    free = browse(play)
    assert [free.xpath(f"//input[@name='{name}']/@value") for name in ("-N", "-d")] == [["free"], ["01:00:00"]]
    assert free.xpath("//input[@name='-a']/@value")
