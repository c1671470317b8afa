"""Access of tests to pages: Debian's Chromium, a context of its own for each page, and an empty console.

Defines the measurements in a browser: findings of axe-core, bytes over the wire, pictures. Used through the fixture `visits`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, ViewportSize, expect

from tests.integration.cells import DemoCell

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
WIDE, PHONE = (1440, 900), (390, 844)
#: what has not come after this time, in ms, will not come: pages answer at once, but others may load the machine
PATIENCE_MS = 60_000
_NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"
#: nothing moves in pictures; the certificate of a cell is its own
_OPTIONS = {"reduced_motion": "reduce", "ignore_https_errors": True}


class Visits:
    """Pages that a test opens, each as a visitor of its own. `errors`: the errors of their consoles and scripts."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.errors: list[str] = []

    def open(self, url: str, size: tuple[int, int] = WIDE, scheme: str = "light", **options: Any) -> Page:
        """A new visitor at `url`. `size`: of the window in pixels; `options`: of Playwright's context."""
        context = self._browser.new_context(viewport=_window(size), color_scheme=scheme, **{**_OPTIONS, **options})
        self._contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(f"{page.url}: {error}"))
        load(page, url)
        return page

    def forgive(self, text: str) -> None:
        """Forget errors that contain a text, which a test causes itself."""
        self.errors = [error for error in self.errors if text not in error]

    def close(self) -> None:
        while self._contexts:
            self._contexts.pop().close()

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and _NETWORK_CHANGED not in message.text:
            self.errors.append(f"{message.location['url']}: {message.text}")


def log_in(cell: DemoCell, visits: Visits, **options: object) -> Page:
    """A visitor who followed the login link of the user of the tests."""
    page = visits.open(cell.must("gridengine", "web", "--login").strip(), **options)  # type: ignore[arg-type]
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    return page


def go(page: Page, path: str) -> None:
    """Open another page of the same server."""
    load(page, re.match(r"\w+://[^/]+", page.url)[0] + path)  # type: ignore[index]


def load(page: Page, url: str) -> None:
    """Open a page, once more if the machine got or lost a network address meanwhile, as it does with hosts of a test bed:
    Chromium then gives up the connections that it is making."""
    try:
        page.goto(url)
    except Error as error:
        if _NETWORK_CHANGED not in error.message:
            raise
        page.goto(url)


def resize(page: Page, size: tuple[int, int]) -> None:
    """Give the window of a page another size, in pixels, and let scripts that follow it end."""
    page.set_viewport_size(_window(size))
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def _window(size: tuple[int, int]) -> ViewportSize:
    return {"width": size[0], "height": size[1]}


def confirm(page: Page) -> None:
    """Answer the question of a dialog with yes."""
    page.locator("dialog#confirm[open] button.danger").click()


def serious_findings(page: Page) -> list[str]:
    """The serious and critical findings of axe-core: rule and elements."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return [
        f"{each['id']}: {node['target']}: {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def overhang(page: Page) -> list[str]:
    """Elements wider than the window, or beyond its right edge; empty if a page needs no horizontal scrolling."""
    script = """() => document.documentElement.scrollWidth <= innerWidth ? []
        : [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
          .map((one) => `${one.tagName.toLowerCase()}.${one.className}#${one.id}`).slice(0, 10)"""
    found: list[str] = page.evaluate(script)
    return found


def wire_bytes(page: Page, url: str) -> int:
    """Bytes that a visitor with an empty cache receives for a page with all that it loads, heads included."""
    session = page.context.new_cdp_session(page)
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    load(page, url)
    page.wait_for_function("document.readyState === 'complete'")
    session.detach()
    return int(sum(sizes))
