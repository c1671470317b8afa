"""Every destructive button of every page opens its dialog: Cancel and Esc send nothing, the other button sends the request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from playwright.sync_api import Page, expect

from daemons.web.app import build_app
from tests.harness import Cell
from tests.integration.cells import eventually
from tests.integration.web.browser import WIDE, Visits, serious_findings
from tests.integration.web.serving import Serving
from tests.integration.web.test_every_page import ADDRESSES
from tests.unit.web.browsing import guard
from tests.unit.web.followed import ROOT, Followed, Link, web_of
from tests.unit.web.test_confirmation import READS

DANGEROUS = "main button.danger, main button[name=do][value=undo]"


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


def prepare(page: Page, address: str) -> None:
    """Open a page, with all rows selected, the undo previewed and a complex ticked."""
    page.goto(address)
    page.wait_for_function("!document.querySelector('.frame') || window.htmx !== undefined")
    for box in page.locator("[data-all]").all()[:1]:
        box.check()
    if page.get_by_role("button", name="Preview the undo").count():
        page.get_by_role("button", name="Preview the undo").click()
        expect(page.get_by_role("button", name="Undo this change")).to_be_visible()


def test_every_destructive_button_asks(visits: Visits, address: str, link: Noting) -> None:
    page = visits.open(address, WIDE)
    seen: set[tuple[str, str]] = set()
    for path in dict.fromkeys(ADDRESSES):
        prepare(page, address + path)
        labels = {text for text in page.locator(DANGEROUS).all_inner_texts() if text}
        for label in sorted(labels - {words for place, words in seen if place == path}):
            ask_twice(page, address + path, label, link)
            seen.add((path, label))
    visits.forgive("status of 404")
    assert len(seen) > 20, seen
    wanted = {"Delete", "Suspend", "Reschedule", "Remove", "Remove all jobs", "Clear usage", "Undo this change"}
    assert wanted <= {label for _, label in seen}


def ask_twice(page: Page, address: str, label: str, link: Noting) -> None:
    dialog, button = page.locator("dialog#confirm[open]"), page.locator(DANGEROUS).get_by_text(label, exact=True).first
    for key in ("Escape", "Enter"):  # Cancel has the focus
        button.click()
        expect(dialog).to_be_visible()
        expect(dialog.get_by_role("heading")).to_have_text(re.compile(r"\?$"))
        page.keyboard.press(key)
        expect(dialog).to_have_count(0)
    assert link.changes == [], f"{label} of {address} did not wait for the answer"
    button.click()
    expect(dialog).to_be_visible()
    dialog.locator("button.danger").click()
    eventually(f"{label} of {address} is carried out", lambda: link.changes)
    expect(dialog).to_have_count(0)
    link.changes.clear()
    prepare(page, address)


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
