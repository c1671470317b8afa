"""Trends of a cell: the values of a sample, the page with plots and figures, and the API."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest

from daemons.web.shared import WEB
from daemons.web.trends.cell_figures import cell_slots, task_count
from daemons.web.trends.sampler import TrendSampler, samples_of
from daemons.web.trends.trend_store import MEASURES, TrendStore
from gridengine.protocols.delivery import Load, UsageReport
from gridengine.state.jobs import Usage
from gridengine.usage.unit_usage import UnitUsage
from tests.harness import LOAD, Cell
from tests.unit.qmaster.test_resource_maps import add_complex, set_values, start
from tests.unit.web.browsing import Visitor, page, rows, text_of, visiting
from tests.unit.web.followed import ALICE, Followed, web_of

MINUTE = 60


def busy(cell: Cell) -> None:
    """Five running tasks, seven and one that wait, one that is held; h3 is lost, h2 is disabled."""
    load = {**LOAD, "load_avg": "2", "mem_used": "1G", "mem_total": "4G"}
    cell.report("h1", Load(cell.now, load, full=True, incarnation="boot1"))
    cell.submit(tasks="1-5")
    cell.cycle()
    cell.submit(tasks="1-7", hard=["arch=nosuch"])
    cell.submit(hard=["arch=nosuch"])
    cell.submit(holds="u")
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h2"])
    cell.master.lose_host("h3")
    cell.master.flush()


def shared_of(visitor: Visitor) -> Any:
    app: Any = visitor.client.app
    return app[WEB]


async def sample(visitor: Visitor, *ago: float) -> None:
    """Take the present sample at these times before now."""
    shared = shared_of(visitor)
    shared.trends = TrendStore(shared.cell.common / "trends.db")
    for each in ago:
        await shared.trends.add(shared.mirror.now - each, samples_of(shared))


def test_a_sample_has_slots_tasks_and_load_of_cell_hosts_and_queues(followed: Followed, tmp_path: Path) -> None:
    busy(followed.cell)
    followed.take()

    async def take() -> Any:
        return samples_of(web_of(followed, tmp_path)[0])

    samples = asyncio.run(take())
    cell = dict(zip(MEASURES["cell"], samples["cell"], strict=True))
    used = [followed.cell.state.slots_used(f"all.q@h{number}") for number in (1, 2, 3)]
    assert sum(used) == 5
    assert cell == {
        "used": 5, "reserved": 0, "free": 4 - used[0], "down": 8 - used[1] - used[2], "pending": 8, "running": 5,
        "load": pytest.approx((0.5 + 0.025) / 2),
    }
    assert samples["host/h1"] == (0.5, 0.25, used[0])
    assert all(math.isnan(value) for value in samples["host/h3"][:2]) and samples["host/h3"][2] == used[2]
    assert samples["queue/all.q"] == (5, 12)
    assert {series.partition("/")[0]: len(values) for series, values in samples.items()} == {
        kind: len(names) for kind, names in MEASURES.items() if kind != "gpu"
    }


def test_gpus_that_jobs_hold_and_keep_busy_have_a_plot_where_hosts_have_some(followed: Followed, tmp_path: Path) -> None:
    cell = followed.cell
    assert not add_complex(cell) and not set_values(cell, "h1", "gpu=4(0-3)")
    start(cell, hard=["gpu=2"])
    followed.take()
    (key,) = cell.running

    async def play() -> tuple[Any, Any]:
        async with visiting(followed, tmp_path, ALICE) as visitor:
            for count, utilisation in ((1, 0.0), (2, 0.25)):
                units = [UnitUsage("h1", "gpu", name, utilisation=utilisation, measured=40.0 * count) for name in "01"]
                cell.pass_time(40)
                cell.report(cell.running[key], UsageReport(key, Usage(cpu=count, units=units)))
                cell.master.flush()
                followed.take()
            samples = samples_of(shared_of(visitor))
            await sample(visitor, 2 * MINUTE, MINUTE)
            return samples, await visitor.get("/trends")

    samples, shown = asyncio.run(play())
    assert samples["gpu"] == (2, 4, 1.0)
    (figures,) = shown.xpath("//section[h2='GPUs']")
    assert "held by jobs 2 2 2 2 busy 1 1 1 1 total 4 4 4 4" in text_of(figures)


def test_slots_of_a_started_reservation_are_reserved_until_its_jobs_use_them(followed: Followed) -> None:
    cell = followed.cell
    cell.admin("reserve", name="weather", duration=3600.0)
    cell.pass_time(1)
    followed.take()
    slots = cell_slots(followed.mirror.state).whole
    assert (slots.used + slots.reserved + slots.free + slots.down, slots.reserved) == (12, 1)


@pytest.mark.parametrize(("tasks", "count"), [("", 1), ("7", 1), ("13-20:1", 8), ("1-9:2,20", 6), ("odd", 1)])
def test_the_tasks_of_a_row_are_counted(tasks: str, count: int) -> None:
    assert task_count(tasks) == count


def test_the_sampler_takes_no_sample_while_the_qmaster_is_away(followed: Followed, tmp_path: Path) -> None:
    followed.take()
    path = tmp_path / "trends.db"

    async def play(connected: bool) -> int:
        shared, _ = web_of(followed, tmp_path)
        shared.trends, shared.mirror.connected = TrendStore(path), connected
        sampler = TrendSampler(shared)
        sampler.start()
        for _ in range(50):
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            while connected and not (await shared.trends.read("cell", 86_400, shared.mirror.now)).times:
                await asyncio.sleep(0.01)
        await sampler.stop()
        return len((await TrendStore(path).read("cell", 86_400, shared.mirror.now)).times)

    assert asyncio.run(play(False)) == 0
    assert asyncio.run(play(True)) == 1


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("", ["Slots", "Tasks", "Load per core"]),
        ("?host=h1", ["Load per core", "Used memory in percent", "Used slots"]),
        ("?queue=all.q&span=7d", ["Slots"]),
    ],
)
def test_the_plots_have_times_lines_and_figures(followed: Followed, browse: Any, query: str, titles: list[str]) -> None:
    busy(followed.cell)

    async def look(visitor: Visitor) -> Any:
        await sample(visitor, 5 * MINUTE, 0)
        await shared_of(visitor).trends.save()
        return await visitor.get(f"/trends{query}")

    shown = browse(look)
    assert [text_of(each) for each in shown.findall(".//section/h2")] == titles
    plot = json.loads(shown.find(".//figure").get("data-plot"))
    if "7d" not in query:
        assert len(plot["times"]) == 6 and plot["lines"][0]["values"][1:5] == [None] * 4 and plot["pad"] == 60
        figures = rows(shown)
        assert figures[0][1] == figures[0][4] and len(figures) == len(plot["lines"])


def test_memory_is_in_percent(followed: Followed, browse: Any) -> None:
    busy(followed.cell)

    async def look(visitor: Visitor) -> Any:
        await sample(visitor, 0)
        return await visitor.get("/trends?host=h1")

    assert rows(browse(look), 1) == [["memory", "25", "25", "25", "25"]]


@pytest.mark.parametrize(
    ("address", "loads"),
    [
        ("/?span=30d", "/trends?span=30d"), ("/?span=x", "/trends?span=24h"),
        ("/hosts/h1?span=360d", "/trends?span=360d&host=h1"), ("/queues/all.q", "/trends?span=24h&queue=all.q"),
    ],
)
def test_pages_load_the_plots_of_their_span(browse: Any, address: str, loads: str) -> None:
    shown = browse(page(address))
    assert shown.find(".//div[@id='tail-trends']").get("hx-get") == loads
    assert shown.find(".//div[@id='tail-trends']//a").get("href") == loads, "a link without JavaScript"
    current = shown.find(".//nav[@aria-label='Spans of the plots']/a[@aria-current='page']")
    span = loads.partition("span=")[2].partition("&")[0]
    assert text_of(current) == {"30d": "30 days", "24h": "24 hours", "360d": "360 days"}[span]


def test_a_cell_without_samples_has_a_sentence_in_place_of_plots(browse: Any) -> None:
    assert "No samples yet" in text_of(browse(page("/trends")))


def test_the_trends_of_an_unknown_host_are_not_found(browse: Any) -> None:
    async def look(visitor: Visitor) -> tuple[str, int]:
        return text_of(await visitor.get("/trends?host=h9")), visitor.status

    text, status = browse(look)
    assert status == 404 and "no execution host h9" in text


@pytest.mark.statement("DM-5")
def test_programs_get_the_trends_with_gaps_as_null(followed: Followed, browse: Any) -> None:
    busy(followed.cell)

    async def look(visitor: Visitor) -> Any:
        await sample(visitor, 2 * MINUTE, 0)
        return [await visitor.json(f"/api/v1/trends{query}") for query in ("", "?host=h1", "?queue=all.q&span=24h")]

    cell, host, queue = browse(look)
    assert (cell[0], cell[1]["span"], cell[1]["step"], len(cell[1]["times"])) == (200, "24h", 60, 3)
    assert cell[1]["values"]["used"] == [5, None, 5] and set(cell[1]["values"]) == set(MEASURES["cell"])
    assert host[1]["values"]["memory"] == [0.25, None, 0.25]
    assert queue[1]["values"] == {"used": [5, None, 5], "total": [12, None, 12]}


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        ("span=2d", 400, "span must be one of 24h"), ("host=h1&queue=all.q", 400, "not of both"),
        ("host=h9", 404, "no execution host h9"), ("queue=x", 404, "no cluster queue x"),
    ],
)
def test_a_program_gets_the_reason_why_there_is_no_trend(browse: Any, query: str, status: int, reason: str) -> None:
    answered, answer = browse(lambda visitor: visitor.json(f"/api/v1/trends?{query}"))
    assert answered == status and reason in answer["detail"]


def test_the_description_of_the_api_has_the_trends(browse: Any) -> None:
    _, document = browse(lambda visitor: visitor.json("/api/v1/openapi.json"))
    parameters = document["paths"]["/api/v1/trends"]["get"]["parameters"]
    assert [each["name"] for each in parameters] == ["span", "host", "queue"]
