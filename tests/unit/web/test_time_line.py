"""Reservations over time: the scale, lanes, the content of a row, and the dragged window."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from daemons.web.drawing.timeline import LABELS, SCALE, TimeSpan, draw
from tests.unit.web.browsing import text_of, visiting
from tests.unit.web.followed import ALICE, Followed

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3600


def span(begin: float, end: float, text: str = "x", lane: bool = True) -> TimeSpan:
    return TimeSpan(begin, end, "wait", text, "", "/", lane)


@pytest.mark.statement("GU-10")
def test_spans_lie_where_their_times_are_and_below_each_other_where_they_overlap() -> None:
    line = draw({"a": [span(0, 100), span(50, 150), span(100, 200)], "b": [span(-50, 20)]}, 0, 200, 100, BERLIN)
    bars = {(bar.span.begin, bar.span.end): bar for bar in line.rows[0].bars}
    assert (bars[0, 100].x, bars[0, 100].width) == (LABELS, SCALE / 2)
    (cut,) = line.rows[1].bars
    assert (cut.x, cut.width) == (LABELS, SCALE / 10), "the part that is seen"
    assert bars[0, 100].y < bars[50, 150].y
    assert bars[100, 200].y < bars[50, 150].y, "a lane that is free again is taken"
    assert line.rows[1].y == line.rows[0].y + line.rows[0].height
    assert line.now == LABELS + SCALE / 2
    assert draw({}, 0, 200, 300, BERLIN).now is None


def test_short_spans_are_visible_and_spans_outside_are_not_drawn() -> None:
    line = draw({"a": [span(10, 10.001, "long text"), span(-5, 0), span(200, 300)]}, 0, 200, 0, BERLIN)
    (bar,) = line.rows[0].bars
    assert bar.width >= 3 and not bar.fits


def test_a_text_is_drawn_only_where_it_fits() -> None:
    """A bold character of the drawing is up to 8 units wide."""
    line = draw({"a": [span(0, 116, "w 3 maintenance"), span(116, 246, "w 3 maintenance")]}, 0, SCALE, 0, BERLIN)
    assert [bar.fits for bar in line.rows[0].bars] == [False, True]


def test_jobs_lie_behind_over_the_whole_row() -> None:
    line = draw({"a": [span(0, 100), span(0, 100), span(0, 50, lane=False)]}, 0, 100, 0, BERLIN)
    first = line.rows[0].bars[0]
    assert (first.span.lane, first.y, first.height) == (False, line.rows[0].y, line.rows[0].height)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_days_begin_at_midnight_also_when_the_clock_is_changed(day: str, hours: int) -> None:
    begin = datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=BERLIN).timestamp()
    ticks = draw({}, begin, begin + 3 * 24 * HOUR, 0, BERLIN).ticks
    days = [tick for tick in ticks if tick.day]
    assert days[0].text == day[5:] and days[0].x == LABELS
    assert days[1].x - days[0].x == pytest.approx(hours / 72 * SCALE, abs=0.2)


@pytest.mark.parametrize("length", [600, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR, 28 * 24 * HOUR, 366 * 24 * HOUR])
def test_a_window_has_few_ticks(length: int) -> None:
    assert 1 <= len(draw({}, 1_800_000_000, 1_800_000_000 + length, 0, BERLIN).ticks) <= 40


def shown(followed: Followed, tmp_path: Path, *addresses: str) -> list[Any]:
    async def play() -> list[Any]:
        async with visiting(followed, tmp_path, ALICE) as visitor:
            followed.take()
            return [await visitor.get(address) for address in addresses]

    return asyncio.run(play())


@pytest.mark.statement("GU-10")
def test_a_reservation_is_in_the_rows_of_its_host_and_its_queue(followed: Followed, tmp_path: Path) -> None:
    cell = followed.cell
    cell.admin("reserve", name="weather", start_time=cell.now + 7200, duration=3600.0)
    job = cell.submit(name="behind", hard=["h_rt=600"])
    cell.cycle()
    (granted,) = cell.state.reservations[1].granted
    host = granted.instance.partition("@")[2]
    hosts, queues, narrow = shown(
        followed, tmp_path, "/reservations?view=time", "/reservations?view=time&by=queue", "/reservations?view=time&row=nosuch"
    )
    (row,) = [each for each in hosts.xpath("//g[@data-queue]") if each.get("data-queue") == f"*@{host}"]
    (bar,) = row.xpath(".//a[@class='bar wait']")
    assert bar.get("href") == "/reservations/1"
    assert "1 weather of root: waiting" in bar.findtext("title")
    (row,) = queues.xpath("//g[@data-queue='all.q']")
    assert [each.get("href") for each in row.xpath(".//a")] == [f"/jobs/{job}", "/reservations/1"]
    assert "There is no such host" in text_of(narrow)


@pytest.mark.statement("GU-9")
@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("begin=1800003600&end=1800007200&-q=*@h1", {"-a": "202701150900.00", "-d": "01:00:00", "-q": "*@h1"}),
        ("begin=1800000000&end=1800003600", {"-a": "", "-d": "01:00:00"}),
        ("begin=1800003600&end=1800000000", {"-a": "", "-d": ""}),
        ("begin=x&end=99999999999999", {"-a": "", "-d": ""}),
        ("-a=202701150800&-d=60", {"-a": "202701150800", "-d": "60"}),
    ],
)
def test_a_window_that_was_dragged_fills_in_the_form(
    followed: Followed, tmp_path: Path, query: str, values: dict[str, str]
) -> None:
    (page,) = shown(followed, tmp_path, f"/reservations/new?{query}")
    assert {name: page.xpath(f"//input[@name='{name}']/@value")[0] for name in values} == values


@pytest.mark.parametrize("query", ["from=garbage", "from=99999999999999", "from=000000000000", "span=x", "by=x", "row=%5B"])
def test_no_address_breaks_it(followed: Followed, tmp_path: Path, query: str) -> None:
    (page,) = shown(followed, tmp_path, f"/reservations?view=time&{query}")
    assert page.xpath("//h1")[0].text == "Reservations"
