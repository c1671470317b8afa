"""Trends and the map of hosts in a browser: plots that are zoomed together and keep the zoom, and cells that lead to lists."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from playwright.sync_api import Page, expect

from daemons.web.alarms.alarm_settings import AlarmSettings
from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.view import Thresholds
from daemons.web.alarms.watch import AlarmWatch
from daemons.web.app import build_app
from daemons.web.trends.trend_store import TrendStore, series_name
from tests.harness import Cell
from tests.integration.web.browser import PHONE, Visits, load, overhang, resize, serious_findings
from tests.integration.web.serving import Serving
from tests.unit.web.browsing import guard
from tests.unit.web.followed import ROOT, Followed, web_of


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    """A cell of 42 hosts: one is away, one is drained, some have jobs; a reservation begins soon, a calendar closes a queue."""
    cell = Cell(tmp_path_factory.mktemp("cell"), ["h1", *(f"node{number:02d}" for number in range(1, 42))])
    cell.submit(tasks="1-90")
    cell.cycle()
    cell.add("calendar", "nights", year="NONE", week="mon-sun=6-20=off")
    cell.configure("cluster_queue", "all.q", calendar="NONE,[node01=nights]")
    cell.add("host_group", "@rack1", hostlist=" ".join(cell.names[:20]))
    cell.admin("reserve", name="weather", start_time=cell.now + 7200, duration=600.0)
    cell.admin("drain_hosts", hosts=["node03"], reason="new disk")
    cell.master.lose_host("node07")
    cell.master.flush()
    return Followed(cell)


@pytest.fixture(scope="module")
def served(followed: Followed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A web server with trends of a day, and its address."""

    async def make() -> web.Application:
        directory = tmp_path_factory.mktemp("common")
        shared, _ = web_of(followed, directory)
        shared.alarms, shared.trends = AlarmBook(hold_s=0.0), TrendStore(directory / "trends.db")
        await AlarmWatch(shared, AlarmSettings(Thresholds(host_away_s=0.0))).evaluate(shared.mirror.now)
        for minutes in range(1430, -1, -1):
            if not 400 < minutes < 500:
                await shared.trends.add(shared.mirror.now - 60 * minutes, samples(minutes))
        return build_app(shared, [guard(ROOT)])

    serving = Serving(make)
    serving.address = serving.start()  # type: ignore[attr-defined]
    yield serving
    serving.stop()


def samples(minutes: int) -> dict[str, tuple[float, ...]]:
    """A day of the cell, in waves."""
    used = round(80 + 60 * math.sin(minutes / 200))
    return {
        "cell": (used, 8, 160 - used, 4 if minutes > 700 else 8, 50 + minutes // 20, used, used / 160),
        series_name("host", "node05"): (0.5 + 0.4 * math.sin(minutes / 90), 0.3, 2), series_name("queue", "all.q"): (used, 168),
    }


def scale(page: Page, at: int) -> str:
    """The labels of the axis of time are drawn: the picture of a plot stands for them."""
    return str(page.locator(".plot canvas").nth(at).evaluate("canvas => canvas.toDataURL()"))


def test_plots_of_the_overview_are_zoomed_together_and_keep_the_zoom(visits: Visits, served: Any) -> None:
    page = visits.open(served.address + "/")
    expect(page.locator(".plot canvas")).to_have_count(3)
    before = [scale(page, at) for at in (0, 1)]
    box = page.locator(".plot .u-over").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 50, steps=5)
    page.mouse.up()
    page.wait_for_function("before => document.querySelectorAll('.plot canvas')[1].toDataURL() !== before", arg=before[1])
    page.mouse.move(0, 0)
    zoomed = [scale(page, at) for at in (0, 1)]
    assert zoomed[0] != before[0]
    with page.expect_response(re.compile("/trends")):
        page.evaluate("htmx.trigger('#tail-trends', 'load')")
    page.wait_for_timeout(500)
    assert [scale(page, at) for at in (0, 1)] == zoomed, "new values keep the zoom"
    page.locator(".plot .u-over").first.dblclick()
    page.wait_for_function("zoomed => document.querySelectorAll('.plot canvas')[1].toDataURL() !== zoomed", arg=zoomed[1])


@pytest.mark.parametrize(
    "path", ["/", "/trends", "/hosts/node05", "/queues/all.q", "/hosts?view=map", "/hosts?view=map&colour=state&group=y"]
)
def test_pages_with_trends_and_maps_are_accessible_and_fit_a_phone(visits: Visits, served: Any, path: str) -> None:
    for scheme in ("light", "dark"):
        page = visits.open(served.address + path, scheme=scheme)
        if "map" not in path:
            expect(page.locator(".plot canvas").first).to_be_visible()
        assert serious_findings(page) == []
        resize(page, PHONE)
        assert overhang(page) == []


def test_the_overview_answers_what_needs_attention_and_what_comes(visits: Visits, served: Any) -> None:
    page = visits.open(served.address + "/")
    alarm = page.locator(".note").filter(has_text="node07")
    expect(alarm).to_contain_text("gridengine start")
    expect(page.get_by_role("row", name=re.compile("reservation 1 begins"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("queues of calendar nights"))).not_to_have_count(0)
    expect(page.locator(".facts").filter(has_text="new disk")).to_contain_text("node03")
    alarm.get_by_role("link", name="Show").click()
    expect(page.get_by_role("heading", name="node07")).to_be_visible()


def test_a_class_of_the_map_leads_to_its_hosts_and_a_cell_to_its_host(visits: Visits, served: Any) -> None:
    page = visits.open(served.address + "/hosts")
    page.get_by_role("link", name="Map").click()
    page.get_by_label("Colour").select_option("state")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name=re.compile("^unreachable")).click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("row", name=re.compile("node07"))).to_be_visible()
    load(page, served.address + "/hosts?view=map&colour=state")
    cell = page.get_by_title("node03: drained")
    cell.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="node03")).to_be_visible()


def test_without_javascript_there_are_links_and_figures(visits: Visits, served: Any) -> None:
    page = visits.open(served.address + "/", java_script_enabled=False)
    page.get_by_role("link", name="Plots and figures").click()
    page.get_by_text("Figures").first.click()
    expect(page.get_by_role("row", name=re.compile("^used")).first).to_be_visible()
