"""The dialog before what is destructive, and its page for browsers without scripts: nothing is sent before it is confirmed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from playwright.sync_api import expect

from daemons.web.app import build_app
from tests.harness import Cell
from tests.integration.web.browser import Visits, serious_findings
from tests.integration.web.serving import Serving
from tests.unit.web.browsing import guard
from tests.unit.web.followed import ROOT, Followed, Link, web_of
from tests.unit.web.test_confirmation import READS


class Noting(Link):
    """Notes changes instead of making them, so that every button finds what it is about."""

    def __init__(self, followed: Followed) -> None:
        super().__init__(followed)
        self.changes: list[str] = []

    async def post(self, path: str, body: bytes, *arguments: Any, **more: Any) -> Any:
        name = path.rpartition("/")[2]
        if name in READS or b'"plan":true' in body:
            return await super().post(path, body, *arguments, **more)
        self.changes.append(name)
        return await super().post("/v1/status", b"{}", *arguments, **more)


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Noting:
    cell = Cell(tmp_path_factory.mktemp("cell"))
    cell.submit(name="array", tasks="1-20")
    cell.submit("bob", name="never", hard=["arch=nosuch"])
    cell.cycle()
    cell.admin("reserve", name="weather", start_time=cell.now + 7200, duration=600.0)
    cell.add("project", "climate")
    cell.add("complex", "licence", shortcut="licence", type="INT", relop="<=", requestable="YES", consumable="YES")
    cell.add("calendar", "nights", year="NONE", week="mon-fri=6-20=off")
    cell.admin("change_share_tree", verb="add", nodes=["/climate=25"])
    cell.add("host_group", "@rack7", hostlist="h1")
    cell.master.flush()
    return Noting(Followed(cell))


@pytest.fixture(scope="module")
def address(link: Noting, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    async def make() -> web.Application:
        shared, _ = web_of(link._followed, tmp_path_factory.mktemp("common"))
        shared._link = link  # type: ignore[assignment]
        return build_app(shared, [guard(ROOT)])

    serving = Serving(make)
    yield serving.start()
    serving.stop()


def test_removing_a_complex_asks_and_the_dialog_is_accessible(visits: Visits, address: str, link: Noting) -> None:
    page = visits.open(f"{address}/complexes/edit")
    page.locator("input[name^='gone ']").first.check()
    page.get_by_role("button", name="Commit").click()
    dialog = page.get_by_role("dialog", name=re.compile("Remove 1 resource attribute"))
    expect(dialog).to_be_visible()
    assert serious_findings(page) == []
    assert link.changes == []


def test_without_scripts_a_page_asks(visits: Visits, address: str, link: Noting) -> None:
    page = visits.open(f"{address}/hosts/h1", java_script_enabled=False)
    page.get_by_role("button", name="Stop daemon and kill jobs").click()
    expect(page.get_by_role("heading")).to_contain_text("kill the jobs of h1?")
    assert link.changes == []
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("heading", name="h1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Stop daemon and kill jobs").click()
    page.get_by_role("button", name="Stop daemon and kill jobs").click()
    assert link.changes == ["shutdown"]
    link.changes.clear()
