"""Accounting in a browser: the stored queries of a real database, their fields, plots, CSV, and SQL that only reads."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from playwright.sync_api import expect

from daemons.web.app import build_app
from gridengine.protocols.gdi.requests import Caller
from tests.harness import Cell
from tests.integration.cells import eventually
from tests.integration.dbwriter.plays import Cell as WriterCell
from tests.integration.dbwriter.plays import Play
from tests.integration.dbwriter.reporting_lines import acct
from tests.integration.web.browser import PHONE, Visits, load, overhang, serious_findings
from tests.integration.web.serving import Serving
from tests.unit.web.browsing import guard
from tests.unit.web.followed import ROOT, Followed, web_of

MONTH = 31 * 86_400


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a web server beside a writer that has written thirty jobs of two months and two users."""
    place = tmp_path_factory.mktemp("arco")
    database = f"duckdb:{place / 'arco.duckdb'}"
    cell, now = WriterCell(place, database), int(time.time()) // 60 * 60 - 3600
    jobs = [(job, now - job % 2 * MONTH, "bob" if job % 3 == 0 else "alice") for job in range(1, 31)]
    lines = [acct(job, start, start + 50, owner=owner, cpu=3600 * job, ru_utime=3600 * job) for job, start, owner in jobs]
    Play(cell.common, database).append(lines)
    writer = cell.writer()

    async def make() -> web.Application:
        shared, _ = web_of(Followed(Cell(place / "cell")), cell.socket.parent)
        return build_app(shared, [guard(Caller(ROOT.user, 0, "root", 0, "h1"))])

    try:
        eventually("the writer answers", cell.socket.exists)
        serving = Serving(make)
        yield serving.start()
        serving.stop()
    finally:
        writer.terminate()
        _, errors = writer.communicate()
        assert errors == ""


def written(visits: Visits, address: str) -> None:
    def count() -> bool:
        page = visits.open(f"{address}/accounting/sql?sql=SELECT+count(*)+AS+jobs+FROM+sge_job_usage")
        return page.locator("td", has_text="30").count() == 1

    eventually("all is written", count)


@pytest.mark.statement("DB-22")
def test_a_stored_query_is_asked_with_its_fields_and_drawn(visits: Visits, address: str) -> None:
    written(visits, address)
    page = visits.open(f"{address}/accounting")
    page.get_by_role("link", name="Accounting per User", exact=True).click()
    expect(page.locator("figure.plot canvas")).to_be_visible()
    expect(page.get_by_role("table", name="Rows").get_by_role("row")).to_have_count(5)  # two users in two months, and the head
    page.get_by_role("link", name="username").click()
    expect(page.locator("tbody td[data-label=username]")).to_have_text(["alice", "alice", "bob", "bob"])
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert sum(float(row["cpu"]) for row in rows) == 3600 * sum(range(1, 31))
    assert overhang(page) == []
    assert serious_findings(page) == []

    load(page, f"{address}/accounting/Waiting Time Distribution")
    days = page.get_by_label("days to look back")
    expect(days).to_have_value("365")
    expect(page.get_by_role("table", name="Rows")).to_contain_text("30")
    days.fill("2")
    page.get_by_role("button", name="Show").click()
    assert page.url.endswith("?days=2")
    expect(page.get_by_role("table", name="Rows")).to_contain_text("15")
    page.get_by_label("days to look back").fill("soon")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("main")).to_contain_text("soon")
    expect(page.get_by_role("table", name="Rows")).to_have_count(0)


@pytest.mark.statement("DB-22")
def test_sql_of_ones_own_reads_and_no_more(visits: Visits, address: str) -> None:
    written(visits, address)
    page = visits.open(f"{address}/accounting/sql", PHONE)
    page.get_by_label("SQL").fill("SELECT username, count(*) AS jobs FROM view_accounting GROUP BY username ORDER BY 1")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("table", name="Rows")).to_contain_text("alice")
    assert overhang(page) == []
    page.get_by_label("SQL").fill("DELETE FROM sge_job_usage")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("main")).to_contain_text("Query failed")
    page.get_by_label("SQL").fill("SELECT count(*) AS jobs FROM sge_job_usage")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("table", name="Rows")).to_contain_text("30")


def test_an_unknown_query_is_reported(visits: Visits, address: str) -> None:
    page = visits.open(f"{address}/accounting/No such query")
    expect(page.locator("main")).to_contain_text('There is no query "No such query"')
    visits.forgive("404")
