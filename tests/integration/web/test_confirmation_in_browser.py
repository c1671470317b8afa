"""The dialog before destructive actions, and its page for browsers without scripts: nothing is sent before it is confirmed."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web
from playwright.sync_api import Locator, Page, expect

from daemons.web.access.guard import Guard
from daemons.web.access.links import Links
from daemons.web.access.logins import Logins
from daemons.web.access.routes import Access
from daemons.web.app import build_app
from tests.harness import Cell
from tests.integration.web.browser import Visits, confirm, go, serious_findings
from tests.integration.web.serving import Serving
from tests.unit.web.followed import ROOT, Followed, Link, web_of
from tests.unit.web.test_confirmation import ASKING, READS, Asking, fill


class Noting(Link):
    """Notes changes instead of carrying them out, so that every button finds its object."""

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
    fill(cell)
    return Noting(Followed(cell))


@pytest.fixture(scope="module")
def login_link(link: Noting, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """Makes links that log root in."""
    links, logins = Links(time.time), Logins(tmp_path_factory.mktemp("web") / "sessions.json", time.time)

    async def make() -> web.Application:
        shared, _ = web_of(link._followed, tmp_path_factory.mktemp("common"))
        shared._client = link  # type: ignore[assignment]
        app = build_app(shared)
        Access(links, logins, Guard(logins, frozenset(("127.0.0.1",)), tls=False)).add_to(app)
        return app

    serving = Serving(make)
    address = serving.start()
    yield lambda: f"{address}/login/{links.make(ROOT)}"
    serving.stop()


def enter(visits: Visits, login_link: Callable[[], str], **options: Any) -> Page:
    page = visits.open(login_link(), **options)
    page.get_by_role("button", name="Log in").click()
    return page


def button_of(page: Page, asking: Asking) -> Locator:
    """The button, on its page, with the boxes checked and the required fields filled in."""
    if not page.url.endswith(asking.page):
        go(page, asking.page)
    if asking.first:
        page.get_by_role("button", name=asking.first, exact=True).click()
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    page.evaluate("document.querySelectorAll('main [required]').forEach((each) => { each.value = 'any'; })")
    for label in asking.boxes:
        page.get_by_label(label, exact=True).check()
    return page.get_by_role("button", name=asking.label, exact=True).first


def press(page: Page, asking: Asking) -> str:
    """The question that a button asks."""
    button_of(page, asking).click()
    dialog = page.locator("dialog#confirm[open]")
    expect(dialog.get_by_role("heading")).to_be_visible()
    return " ".join(dialog.locator("#confirm-title, #confirm-text").all_inner_texts())


def test_every_button_that_asks_does_nothing_before_it_is_confirmed(
    visits: Visits, login_link: Callable[[], str], link: Noting
) -> None:
    page = enter(visits, login_link)
    for asking in ASKING:
        question = press(page, asking)
        assert asking.question in " ".join(question.split()), asking
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert link.changes == [], asking
        page.get_by_role("button", name=asking.label, exact=True).click()
        with page.expect_response(lambda response: "confirmed=1" in (response.request.post_data or "")):
            confirm(page)
        assert link.changes == [asking.request], asking
        link.changes.clear()


def test_a_session_is_revoked_once_it_is_confirmed(visits: Visits, login_link: Callable[[], str]) -> None:
    page = enter(visits, login_link)
    asking = Asking("/me", "Revoke", "Revoke this session", "")
    assert asking.question in press(page, asking)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    go(page, "/me")
    press(page, asking)
    confirm(page)
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_the_dialog_is_accessible(visits: Visits, login_link: Callable[[], str]) -> None:
    page = enter(visits, login_link)
    press(page, next(each for each in ASKING if each.page == "/complexes/edit"))
    expect(page.get_by_role("dialog", name=re.compile("Remove 1 resource attribute"))).to_be_visible()
    assert serious_findings(page) == []


def test_without_scripts_a_page_asks(visits: Visits, login_link: Callable[[], str], link: Noting) -> None:
    page = enter(visits, login_link, java_script_enabled=False)
    go(page, "/hosts/h1")
    page.get_by_role("button", name="Stop daemon and kill jobs").click()
    expect(page.get_by_role("heading")).to_contain_text("kill the jobs of h1?")
    assert link.changes == []
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("heading", name="h1", exact=True)).to_be_visible()
    page.get_by_role("button", name="Stop daemon and kill jobs").click()
    page.get_by_role("button", name="Stop daemon and kill jobs").click()
    assert link.changes == ["shutdown"]
    link.changes.clear()
