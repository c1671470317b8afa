"""Lists and the palette in a browser, over a cell in this process: keys, saved views, columns, and the height on a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Cell
from tests.integration.web.browser import PHONE, Visits, load, overhang, serious_findings
from tests.integration.web.served_cell import ServedCell

JOBS = 28


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a web server that treats every visitor as root."""
    cell = Cell(tmp_path_factory.mktemp("cell"))
    for number in range(JOBS):
        cell.submit("alice" if number % 2 else "bob", name=f"simulate_the_weather_{number}", holds="u" if number > 20 else "")
    cell.cycle()
    served = ServedCell(cell, tmp_path_factory.mktemp("common"))
    yield served.address
    served.stop()


def marked(page: Page) -> str:
    return page.locator("#found [aria-selected=true] > span").inner_text()


@pytest.mark.statement("GU-4")
def test_the_palette_finds_by_keys_alone(visits: Visits, address: str) -> None:
    page = visits.open(f"{address}/hosts")
    page.keyboard.press("/")
    expect(page.locator("#found [role=option]").first).to_be_visible()
    page.keyboard.type("h2")
    expect(page.get_by_role("option", name="all.q@h2")).to_be_visible()
    assert serious_findings(page) == []
    assert marked(page) == "h2"
    page.keyboard.press("ArrowDown")
    assert marked(page) == "all.q@h2"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/hosts/h2")
    page.keyboard.press("/")
    page.keyboard.type("7")
    page.keyboard.press("Enter")  # before or after the results have come
    page.wait_for_url("**/jobs/7")
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()


def test_keys_lead_to_pages_and_act_on_the_focused_row(visits: Visits, address: str) -> None:
    page = visits.open(f"{address}/hosts")
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url("**/jobs")
    page.keyboard.press("?")
    for text in ("resubmit", "Queue instances"):
        expect(page.get_by_role("dialog", name="Keys").get_by_text(text)).to_be_visible()
    page.keyboard.press("Escape")
    first, second = (page.locator("#main tbody tr").nth(at).locator("th").inner_text() for at in (0, 1))
    for key in ("j", "x", "j", "d"):
        page.keyboard.press(key)
    expect(page.locator("#confirm")).to_contain_text(f"Delete job {second}")
    page.keyboard.press("Escape")
    expect(page.get_by_role("checkbox", name=f"Select job {first}", exact=True)).not_to_be_checked()


def test_without_scripts_the_search_and_the_tools_of_lists_work(visits: Visits, address: str) -> None:
    page = visits.open(f"{address}/jobs", java_script_enabled=False)
    page.locator("#search").fill("7")
    page.locator("#search").press("Enter")
    expect(page.get_by_role("heading", name="Job 7")).to_be_visible()


def test_a_view_with_its_columns_is_saved_and_deleted(visits: Visits, address: str) -> None:
    page = visits.open(f"{address}/jobs?owner=alice")
    page.get_by_text("Columns", exact=True).click()
    for label in ("Priority", "Slots"):
        page.locator("#columns").get_by_label(label).uncheck()
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("columnheader", name="Owner")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Priority")).to_be_hidden()
    page.get_by_text("Save view", exact=True).click()
    assert serious_findings(page) == [] and overhang(page) == []
    page.get_by_label("Name of this view").fill("Alice")
    page.get_by_role("button", name="Save", exact=True).click()
    load(page, f"{address}/jobs")
    page.get_by_role("navigation", name="Saved views").get_by_role("link", name="Alice").click()
    page.wait_for_url("**/jobs?owner=alice&columns=*")
    expect(page.get_by_role("columnheader", name="Priority")).to_be_hidden()
    assert set(page.locator("#main tbody td[data-label=Owner]").all_inner_texts()) == {"alice"}
    page.get_by_text("Save view", exact=True).click()
    page.get_by_role("button", name="Delete the view Alice").click()
    expect(page.get_by_role("navigation", name="Saved views")).to_be_hidden()


def test_low_rows_are_28_pixels_high(visits: Visits, address: str) -> None:
    page = visits.open(f"{address}/jobs")
    page.get_by_role("button", name="Low rows").click()
    rows = page.locator("#main tbody tr")
    expect(page.locator("body")).to_have_class("compact")
    expect(rows).to_have_count(JOBS)
    heights = rows.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert len(heights) == JOBS and max(heights) <= 29
    page.get_by_role("button", name="High rows").click()
    expect(page.locator("body")).not_to_have_class("compact")


def test_a_list_on_a_phone_is_short(visits: Visits, address: str) -> None:
    page = visits.open(f"{address}/jobs", PHONE)
    assert page.locator("#main tbody tr").count() == JOBS
    height = page.locator("#main table").bounding_box()["height"]  # type: ignore[index]
    assert height <= 2500
    assert overhang(page) == [] and serious_findings(page) == []
