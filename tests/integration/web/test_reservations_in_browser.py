"""Reservations made and changed in a browser, beside qrstat and qrsub; and the week of a calendar."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.integration.cells import DemoCell
from tests.integration.web.browser import Visits, go, log_in


@pytest.fixture
def page(web_cell: DemoCell, visits: Visits) -> Page:
    return log_in(web_cell, visits)


@pytest.mark.statement("GU-9", "GU-10", "AR-125")
def test_a_free_window_is_found_reserved_and_changed(web_cell: DemoCell, page: Page) -> None:
    go(page, "/reservations/new")
    page.get_by_label("Name", exact=True).fill("service")
    page.get_by_label("Queues", exact=True).fill("nosuch.q")
    page.get_by_label("Duration", exact=True).fill("0:10:00")
    expect(page.locator("#outcome")).to_contain_text("nosuch.q")  # said while somebody types
    page.get_by_label("Queues", exact=True).fill("all.q")
    expect(page.locator("#outcome")).to_contain_text("qrsub -d 0:10:00 -q all.q -N service")
    page.get_by_role("button", name="Find available times").click()
    page.get_by_role("link", name=re.compile("Fill in")).last.click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("service")
    page.get_by_role("button", name="Reserve", exact=True).click()
    expect(page.locator("main")).to_contain_text("has been granted")
    (number,) = re.findall(r"^ +(\d+) service ", web_cell.must("qrstat"), re.MULTILINE)

    go(page, f"/reservations/{number}")
    page.get_by_role("link", name="Change").click()
    page.get_by_label("Name", exact=True).fill("repair")
    page.get_by_label("Duration", exact=True).fill("0:20:00")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("main")).to_contain_text(f"modified advance_reservation {number}")
    shown = web_cell.must("qrstat", "-ar", number)
    assert re.search(r"name +repair\n", shown)
    assert re.search(r"duration +00:20:00\n", shown)
    web_cell.must("qrdel", number)


@pytest.mark.statement("GU-6")
def test_a_calendar_is_shown_as_a_week_that_follows_its_fields(web_cell: DemoCell, page: Page) -> None:
    go(page, "/config/calendar/+")
    page.get_by_label("calendar_name").fill("office")
    page.get_by_label("week").fill("mon-fri=8-18=off")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("added")
    go(page, "/config/calendar/office?week=2026-12-02")
    friday = page.locator("#day-2026-12-04")
    expect(friday.locator("g")).to_have_count(3)
    expect(friday).to_contain_text("off 08:00")
    expect(page.locator("#day-2026-12-05 g")).to_have_count(1)
    page.get_by_role("link", name="Next week").click()
    expect(page.get_by_role("heading", name="The week of 07 December 2026")).to_be_visible()
    web_cell.must("qconf", "-dcal", "office")
