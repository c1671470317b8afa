"""The week of a calendar: the states from its fields, and days with a change of the clock."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from daemons.web.drawing.calendar_week import CalendarDay, StateSpan, monday_of, week_of
from gridengine.syntax.calendar import parse_calendar
from tests.unit.web.browsing import text_of, visiting
from tests.unit.web.followed import ROOT, Followed

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3600
ON_ALL_DAY = [StateSpan(0, 24 * HOUR, "on")]


def days(year: str, week: str, monday: date) -> list[CalendarDay]:
    return week_of(parse_calendar(year, week), monday, BERLIN)


@pytest.mark.statement("CA-3", "CA-4")
def test_the_year_field_goes_before_the_week_field() -> None:
    found = days("24.11.2026=on 25.11.2026=suspended", "mon-fri=6-20=off", date(2026, 11, 23))
    office = [StateSpan(0, 6 * HOUR, "on"), StateSpan(6 * HOUR, 20 * HOUR, "off"), StateSpan(20 * HOUR, 24 * HOUR, "on")]
    assert [day.spans for day in found] == [
        office, ON_ALL_DAY, [StateSpan(0, 24 * HOUR, "suspended")], office, office, ON_ALL_DAY, ON_ALL_DAY,
    ]


def test_an_empty_calendar_is_on() -> None:
    assert [day.spans for day in days("NONE", "NONE", date(2026, 11, 23))] == [ON_ALL_DAY] * 7


def test_a_state_that_begins_the_evening_before_is_there_at_midnight() -> None:
    found = days("NONE", "mon-sun=20-6=off", date(2026, 11, 23))
    night = [StateSpan(0, 6 * HOUR, "off"), StateSpan(6 * HOUR, 20 * HOUR, "on"), StateSpan(20 * HOUR, 24 * HOUR, "off")]
    assert found[3].spans == night


@pytest.mark.parametrize(
    ("sunday", "skipped", "repeated"),
    [
        (date(2026, 3, 29), (2 * HOUR, 3 * HOUR), None),
        (date(2026, 10, 25), None, (2 * HOUR, 3 * HOUR)),
        (date(2026, 11, 22), None, None),
    ],
)
def test_the_hours_of_a_clock_change_are_shown(
    sunday: date, skipped: tuple[int, int] | None, repeated: tuple[int, int] | None
) -> None:
    found = days("NONE", "sun=1-4=off", monday_of(sunday))
    assert [(day.skipped, day.repeated) for day in found[:6]] == [(None, None)] * 6
    assert (found[6].day, found[6].skipped, found[6].repeated) == (sunday, skipped, repeated)
    assert found[6].spans[1] == StateSpan(HOUR, 4 * HOUR, "off")


@pytest.mark.parametrize(("query", "day"), [("?week=2026-10-25", "day-2026-10-25"), ("?week=x", ""), ("?week=9999-12-31", "")])
def test_the_page_of_a_calendar_shows_the_week_of_its_address(
    followed: Followed, tmp_path: Path, query: str, day: str
) -> None:
    followed.cell.add("calendar", "nights", week="mon-sun=20-6=off")

    async def look() -> None:
        async with visiting(followed, tmp_path, ROOT) as visitor:
            followed.take()
            page = await visitor.get(f"/config/calendar/nights{query}")
            assert len(page.xpath("//svg/g[starts-with(@id, 'day-')]")) == 7
            assert not day or page.xpath(f"//g[@id='{day}']")
            titles = [text_of(title) for title in page.xpath("//svg//title")]
            assert titles.count("off from 20:00 to 24:00") == 7
            following = page.xpath("//a[@rel='next']/@href")[0]
            after = await visitor.get(following)
            assert after.xpath("//svg/g/@id")[0] > page.xpath("//svg/g/@id")[0]

    asyncio.run(look())
