"""The browser of these tests, and a page that needs no cell."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.integration.cells import DemoCell
from tests.integration.debian import find, need
from tests.integration.web.browser import PATIENCE_MS, Visits
from tests.integration.web.gallery import Gallery


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium without windows, one process for all tests of this directory: it needs half the processor time of the
    full browser."""
    need("chromium-headless-shell")
    program = find("chromium-headless-shell")
    # its sandbox is not to be had as root
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=options)
        yield chromium
        chromium.close()


@pytest.fixture
def visits(browser: Browser) -> Iterator[Visits]:
    """Opens pages; the test fails if a console had something to complain of."""
    found = Visits(browser)
    yield found
    found.close()
    assert found.errors == []


@pytest.fixture
def gallery(visits: Visits) -> Iterator[Gallery]:
    """A page that needs no cell, and its server, which ends after the pages that show it."""
    server = Gallery()
    server.start()
    yield server
    visits.close()
    server.stop()


@pytest.fixture(scope="module")
def web_cell(demo_cell: DemoCell) -> Iterator[DemoCell]:
    """The demo cell with its web server."""
    with demo_cell.web_server():
        yield demo_cell
