"""Calendars: grammar, states at given times, next changes. The four examples are those of calendar_conf(5)."""

from datetime import datetime

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.calendar import next_change, parse_calendar, parse_week, parse_year, state_at

HOLIDAYS = "1.1.1999,6.1.1999,28.3.1999,30.3.1999-31.3.1999,18.5.1999-19.5.1999,3.10.1999,25.12.1999,26.12.1999"
NIGHT = parse_calendar(f"{HOLIDAYS}=on", "mon-fri=6-20")
DAY = parse_calendar(HOLIDAYS, "mon-fri=20-6 sat-sun")
NIGHT_S = parse_calendar(f"{HOLIDAYS}=on", "mon-fri=6-20=suspended")
DAY_S = parse_calendar(f"{HOLIDAYS}=suspended", "mon-fri=20-6=suspended sat-sun=suspended")


def at(text: str) -> datetime:
    return datetime.strptime(text, "%d.%m.%Y %H:%M:%S")


# 1 Jan 1999 was a Friday and a holiday, 4 Jan a Monday, 9 Jan a Saturday, 30 March a Tuesday
@pytest.mark.statement("CA-1", "CA-2", "CA-4", "CA-6")
@pytest.mark.parametrize(
    ("moment", "night", "day"),
    [
        ("04.01.1999 05:59:59", "on", "off"),
        ("04.01.1999 06:00:00", "off", "on"),
        ("04.01.1999 19:59:59", "off", "on"),
        ("04.01.1999 20:00:00", "on", "off"),
        ("04.01.1999 00:00:00", "on", "off"),
        ("08.01.1999 23:59:59", "on", "off"),
        ("09.01.1999 12:00:00", "on", "off"),
        ("10.01.1999 00:00:00", "on", "off"),
        ("06.01.1999 12:00:00", "on", "off"),
        ("30.03.1999 12:00:00", "on", "off"),
        ("31.03.1999 23:59:59", "on", "off"),
        ("01.04.1999 12:00:00", "off", "on"),
    ],
)
def test_the_four_examples(moment: str, night: str, day: str) -> None:
    suspended = {"on": "on", "off": "suspended"}
    assert state_at(NIGHT, at(moment)) == night
    assert state_at(DAY, at(moment)) == day
    assert state_at(NIGHT_S, at(moment)) == suspended[night]
    assert state_at(DAY_S, at(moment)) == suspended[day]


@pytest.mark.statement("CA-3")
def test_on_overrides_suspended_overrides_off() -> None:
    calendar = parse_calendar("NONE", "12-18 tue=13-17=on")
    assert state_at(calendar, at("05.01.1999 12:30:00")) == "off"
    assert state_at(calendar, at("05.01.1999 13:00:00")) == "on"
    assert state_at(calendar, at("05.01.1999 17:00:00")) == "off"
    calendar = parse_calendar("NONE", "8-12=off 10-14=suspended 11-12=on")
    states = [state_at(calendar, at(f"05.01.1999 {hour:02d}:00:00")) for hour in (7, 9, 10, 11, 13, 14)]
    assert states == ["on", "off", "suspended", "on", "suspended", "on"]


@pytest.mark.statement("CA-5")
def test_ranges_over_midnight_and_week_end() -> None:
    calendar = parse_calendar("12.03.2004=12-11=off", "NONE")
    off = [hour for hour in range(24) if state_at(calendar, at(f"12.03.2004 {hour:02d}:59:59")) == "off"]
    assert off == [*range(0, 11), *range(12, 24)]
    assert state_at(calendar, at("13.03.2004 01:00:00")) == "on"
    week = parse_calendar("NONE", "sat-mon")
    assert [state_at(week, at(f"{day:02d}.01.1999 12:00:00")) for day in range(8, 13)] == [
        "on",
        "off",
        "off",
        "off",
        "on",
    ]


@pytest.mark.statement("CA-4")
def test_an_entry_for_the_day_hides_the_week_in_its_hours() -> None:
    calendar = parse_calendar("4.1.1999=8-9=on", "mon=0-24=off")
    states = [state_at(calendar, at(f"04.01.1999 {clock}")) for clock in ("07:59:59", "08:00:00", "09:00:00")]
    assert states == ["off", "on", "off"]
    assert next_change(calendar, at("04.01.1999 00:00:00")) == (at("04.01.1999 08:00:00"), "on")
    assert state_at(calendar, at("11.01.1999 08:30:00")) == "off"
    weaker = parse_calendar("4.1.1999=off", "mon=suspended")
    assert state_at(weaker, at("04.01.1999 12:00:00")) == "off"


@pytest.mark.statement("CA-2")
def test_days_without_hours_and_states_alone() -> None:
    assert state_at(parse_calendar("NONE", "off"), at("04.01.1999 12:00:00")) == "off"
    assert state_at(parse_calendar("suspended", "NONE"), at("04.01.1999 12:00:00")) == "suspended"
    assert state_at(parse_calendar("NONE", "NONE"), at("04.01.1999 12:00:00")) == "on"


@pytest.mark.statement("CA-7")
def test_the_next_change() -> None:
    assert next_change(NIGHT, at("04.01.1999 05:00:00")) == (at("04.01.1999 06:00:00"), "off")
    assert next_change(NIGHT, at("04.01.1999 06:00:00")) == (at("04.01.1999 20:00:00"), "on")
    assert next_change(NIGHT, at("08.01.1999 20:00:00")) == (at("11.01.1999 06:00:00"), "off")
    assert next_change(DAY, at("29.03.1999 21:00:00")) == (at("01.04.1999 06:00:00"), "on")
    assert next_change(parse_calendar("NONE", "NONE"), at("04.01.1999 12:00:00")) is None
    assert next_change(parse_calendar("NONE", "off"), at("04.01.1999 12:00:00")) is None
    far = parse_calendar("24.12.2030-26.12.2030", "NONE")
    assert next_change(far, at("04.01.1999 12:00:00")) == (at("24.12.2030 00:00:00"), "off")
    assert next_change(far, at("25.12.2030 12:00:00")) == (at("27.12.2030 00:00:00"), "on")
    assert next_change(far, at("27.12.2030 00:00:00")) is None


@pytest.mark.parametrize(
    "text",
    ["mon,tue-wed,fri=off", "Mon-Fri=6-20=OFF", "monday", "mon=0-24", "mon=1:2:3-4:5:6=on", "6-20,22-23:30=off sat=on"],
)
def test_week_fields_that_are_accepted(text: str) -> None:
    assert parse_week(text)


@pytest.mark.parametrize(
    "text", ["1.jan.2004-5.feb.2004=8-9=suspended", "1.January.2004", "1.1.2004,2.1.2004=on 3.1.2004=off"]
)
def test_year_fields_that_are_accepted(text: str) -> None:
    assert parse_year(text)


@pytest.mark.parametrize(
    "text",
    [
        "mon-mon",
        "foo",
        "mon=25-26",
        "1:60-2",
        "mon=",
        "mon =6-20",
        "mon=6-6",
        "=off",
        "mon=24:1-3",
        "mon=on=6-8",
        "6",
        "mo",
    ],
)
def test_wrong_week_fields_are_refused_with_the_entry(text: str) -> None:
    with pytest.raises(InvalidValueError, match="the entry"):
        parse_week(text)


@pytest.mark.parametrize(
    "text",
    [
        "1.1.1969=on",
        "1.1.2038",
        "1.1.2005-1.1.2004",
        "1.13.2004",
        "32.1.2004",
        "31.2.2004",
        "8-9",
        "1.1.2004 = off",
        "1.x.2004",
    ],
)
def test_wrong_year_fields_are_refused_with_the_entry(text: str) -> None:
    with pytest.raises(InvalidValueError, match="the entry"):
        parse_year(text)
