"""The tools of lists: saved views, chosen columns, low rows, and the file of each list."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from tests.harness import Cell
from tests.unit.web.browsing import Visitor, page, text_of
from tests.unit.web.followed import ROOT, Followed

#: lists, with a column of their files
LISTS = {
    "/jobs": "owner", "/jobs?state=finished": "exit_status", "/instances": "instance", "/hosts": "host",
    "/queues": "cluster_queue", "/reservations": "warnings", "/quotas": "rule", "/complexes": "shortcut",
    "/history": "attribute", "/failures": "result", "/messages": "message",
}


@pytest.fixture
def busy(cell: Cell, followed: Followed) -> Cell:
    """A cell with a row in each list."""
    cell.submit("alice", name="=cmd()")
    cell.submit("bob", name="plain")
    cell.admin("reserve", name="=1+1", start_time=cell.now + 7200, duration=600.0)
    cell.add("resource_quota", "people", enabled="TRUE", limit="users {*} to slots=500")
    cell.cycle()
    followed.take()
    return cell


def in_file(address: str) -> Callable[[Visitor], Any]:
    """A function that reads the file of a list: its rows by columns."""

    async def read(visitor: Visitor) -> list[dict[str, str]]:
        async with visitor.client.get(address + ("&" if "?" in address else "?") + "format=csv") as response:
            assert response.status == 200 and response.content_type == "text/csv", await response.text()
            return list(csv.DictReader(io.StringIO(await response.text())))

    return read


@pytest.mark.parametrize("address", LISTS)
def test_each_list_has_its_tools_and_its_file(busy: Cell, browse: Any, address: str) -> None:
    shown = browse(page(address), ROOT)
    (tools,) = shown.xpath("//div[@class='tools']")
    assert [each.get("href") for each in tools.xpath(".//a[text()='CSV']")]
    rows = browse(in_file(address), ROOT)
    assert not rows or LISTS[address] in rows[0]
    assert rows or address in ("/jobs?state=finished", "/failures", "/messages")


def test_a_file_has_the_filters_of_its_list_and_no_formula(busy: Cell, browse: Any) -> None:
    assert [row["name"] for row in browse(in_file("/jobs?owner=alice"))] == ["'=cmd()"]
    assert [row["name"] for row in browse(in_file("/reservations"))] == ["'=1+1"]
    assert [row["instance"] for row in browse(in_file("/instances?host=h2"))] == ["all.q@h2"]
    assert [row["host"] for row in browse(in_file("/hosts?sort=-name"))][0] == "h3"
    assert {row["name"] for row in browse(in_file("/history?kind=resource_quota"), ROOT)} == {"people"}


def test_columns_are_chosen_in_the_address(busy: Cell, browse: Any) -> None:
    shown = browse(page("/jobs?owner=alice&columns=Job&columns=Owner&columns=State"))
    (table,) = shown.xpath("//table[@data-without]")
    heads = table.xpath("./thead/tr/th")
    hidden = {text_of(heads[int(at) - 1]) for at in table.get("data-without").split()}
    assert hidden == {"Name", "Priority", "Since", "Queue instance", "Slots"}
    assert [each.get("value") for each in shown.xpath("//details[@id='columns']//input[@checked]")] == ["Owner", "State"]
    (sort,) = table.xpath(".//a[text()='Owner']/@href")
    assert sort == "/jobs?owner=alice&columns=Job&columns=Owner&columns=State&sort=owner"
    assert not browse(page("/jobs?columns=nosuch")).xpath("//table[@data-without]")


def test_a_view_is_saved_shown_and_deleted(busy: Cell, browse: Any) -> None:
    fields = {"csrf": "token", "name": "mine <b>", "address": "/jobs?owner=alice&columns=Job&columns=State"}

    async def play(visitor: Visitor) -> list[Any]:
        found = []
        for address in ("/preferences/views", "/preferences/views/delete"):
            shown = await visitor.send(address, fields)
            views = shown.xpath("//nav[@aria-label='Saved views']/a")
            found.append([(text_of(each), each.get("href"), each.get("aria-current")) for each in views])
            found.append((await visitor.get("/hosts")).xpath("//nav[@aria-label='Saved views']/a"))
        return found

    assert browse(play) == [[("mine <b>", fields["address"], "page")], [], [], []]


@pytest.mark.parametrize("address", ["", "https://evil.example/", "//evil.example/", "/\\evil.example", "/jobs\r\nX: y"])
def test_a_form_leads_to_no_other_site(busy: Cell, browse: Any, address: str) -> None:
    async def play(visitor: Visitor) -> tuple[int, str]:
        shown = await visitor.send("/preferences/density", {"csrf": "token", "density": "compact", "address": address})
        return visitor.status, text_of(shown)

    status, text = browse(play)
    assert status == 422 and "not saved" in text


def test_a_refused_view_is_explained(busy: Cell, browse: Any) -> None:
    async def play(visitor: Visitor) -> tuple[int, str]:
        shown = await visitor.send("/preferences/views", {"csrf": "token", "name": " ", "address": "/jobs"})
        return visitor.status, text_of(shown)

    status, text = browse(play)
    assert status == 422 and "printable characters is required" in text


def test_low_rows_are_a_setting_of_the_visitor(busy: Cell, browse: Any) -> None:
    async def play(visitor: Visitor) -> list[str]:
        found = []
        for density in ("compact", "normal"):
            shown = await visitor.send("/preferences/density", {"csrf": "token", "density": density, "address": "/jobs"})
            found.append(shown.find("body").get("class", ""))
        return found

    assert browse(play) == ["compact", ""]
