"""A change that is tried in a form, in a browser, beside qconf and qstat: its effects are shown, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.integration.cells import DemoCell, eventually
from tests.integration.web.browser import PHONE, Visits, go, log_in, overhang, resize, serious_findings


@pytest.fixture(scope="module")
def web_cell(launchers: Path) -> Iterator[DemoCell]:
    """A cell whose queues no other test has changed, with its web server."""
    with DemoCell().running() as cell, cell.web_server():
        yield cell


@pytest.fixture
def page(web_cell: DemoCell, visits: Visits) -> Page:
    return log_in(web_cell, visits)


@pytest.fixture
def waiting(web_cell: DemoCell) -> Iterator[tuple[str, str]]:
    """All eight slots are taken; a wide job, which is urgent, waits behind a slim job with a higher `-p`."""
    fills = submit(web_cell, "fills", "-pe", "smp", "8", "-l", "h_rt=1:0:0", "sleep", "3600")
    eventually("all slots are in use", lambda: " r " in web_cell.must("qstat", "-s", "r"))
    wide = submit(web_cell, "wide", "-pe", "smp", "8", "-l", "h_rt=0:10:0", "-p", "-300", "sleep", "600")
    slim = submit(web_cell, "slim", "-l", "h_rt=0:10:0", "sleep", "600")
    yield wide, slim
    web_cell.must("qdel", fills, wide, slim)
    eventually("no job is left", lambda: web_cell.must("qstat") == "")


def submit(cell: DemoCell, name: str, *options: str) -> str:
    return cell.must("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-j", "y", "-N", name, *options).strip()


def try_value(page: Page, address: str, attribute: str, value: str) -> None:
    """Fill in a field of a form, and press Try."""
    go(page, address)
    page.get_by_label(attribute, exact=True).fill(value)
    page.get_by_role("button", name="Try").click()


def rows_below(page: Page, heading: str) -> list[list[str]]:
    """The cells of a table of effects."""
    rows = page.locator("#trial").get_by_role("table", name=heading).locator("tbody tr")
    expect(rows.first).to_be_visible()
    return [row.locator("th, td").all_inner_texts() for row in rows.all()]


@pytest.mark.statement("GU-12", "PR-1")
def test_a_weight_is_tried_in_its_form_and_stays_as_it_is(web_cell: DemoCell, page: Page, waiting: tuple[str, str]) -> None:
    wide, slim = waiting
    before = web_cell.must("qconf", "-ssconf")
    try_value(page, "/config/scheduler/-", "weight_urgency", "1")
    places, starts = (rows_below(page, heading) for heading in ("Places of pending jobs", "Expected starts"))
    assert [[row[0], *row[2:]] for row in places] == [[f"{wide} wide", "2", "1"], [f"{slim} slim", "1", "2"]]
    assert [row[0] for row in starts] == [f"{wide} wide", f"{slim} slim"]
    assert starts[0][2] > starts[0][3] and starts[1][2] < starts[1][3], "the wide job starts earlier, the slim one later"
    expect(page.get_by_role("heading", name="Effects on the cell")).to_be_in_viewport()  # below a long form
    assert serious_findings(page) == []
    resize(page, PHONE)
    assert overhang(page) == []
    assert web_cell.must("qconf", "-ssconf") == before
    page.get_by_role("link", name=f"{wide} wide").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(wide)


@pytest.mark.statement("GU-6", "GU-12")
def test_slots_of_a_queue_are_tried_and_no_job_starts(web_cell: DemoCell, page: Page, waiting: tuple[str, str]) -> None:
    wide, slim = waiting
    before = web_cell.must("qconf", "-sq", "all.q")
    try_value(page, "/config/cluster_queue/all.q", "slots", "9")
    assert [row[0] for row in rows_below(page, "Pending jobs that could start now")] == [f"{slim} slim"]
    try_value(page, "/config/cluster_queue/all.q", "slots", "4")
    assert [row[0] for row in rows_below(page, "Pending jobs that could never start")] == [f"{wide} wide"]
    try_value(page, "/config/cluster_queue/all.q", "hostlist", "NONE")
    expect(page.locator("#trial")).to_contain_text(f"all.q@{web_cell.host}")
    assert web_cell.must("qconf", "-sq", "all.q") == before
    assert " r " not in web_cell.must("qstat", "-s", "p"), "no job has started"


def test_a_wrong_value_is_named_at_its_field_and_tries_nothing(page: Page) -> None:
    for value in ("lots", "-1", "99999999999"):
        try_value(page, "/config/cluster_queue/all.q", "slots", value)
        expect(page.locator(".error")).to_contain_text("slots")
        expect(page.locator("#trial")).to_have_count(0)
