"""Reservations and clocks: summer time, leap days, a clock that is set, and many ended reservations."""

from __future__ import annotations

import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.reservations.series import occurrences
from daemons.qmaster.serve.service import Service
from gridengine.placement.granting import closed_within
from tests.builders import Cluster
from tests.service_callbacks import IdleCallbacks
from tests.unit.reservations.conftest import ReservingCell

BERLIN = ZoneInfo("Europe/Berlin")
"""2027: the clocks go from 2 to 3 on 28 March and from 3 to 2 on 31 October."""


def moment(text: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold).timestamp()


def starts(rule: str, first: str, duration: float = 600) -> list[str]:
    found = occurrences(rule, moment(first), duration, BERLIN)
    return [f"{datetime.fromtimestamp(start, BERLIN):%Y-%m-%d %H:%M %Z}" for start in found]


# --- series --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("2027-03-27T09:00", ["2027-03-27 09:00 CET", "2027-03-28 09:00 CEST", "2027-03-29 09:00 CEST"]),
        ("2027-03-27T02:30", ["2027-03-27 02:30 CET", "2027-03-28 03:30 CEST", "2027-03-29 02:30 CEST"]),
        ("2027-10-30T02:30", ["2027-10-30 02:30 CEST", "2027-10-31 02:30 CEST", "2027-11-01 02:30 CET"]),
    ],
)
def test_nine_o_clock_stays_nine_o_clock(first: str, expected: list[str]) -> None:
    assert starts("FREQ=DAILY;COUNT=3", first) == expected


def test_an_hour_that_is_left_out_is_reserved_once() -> None:
    assert starts("FREQ=HOURLY;COUNT=4", "2027-03-28T01:00") == [
        "2027-03-28 01:00 CET",
        "2027-03-28 03:00 CEST",
        "2027-03-28 04:00 CEST",
    ]


def test_whole_days_in_a_row_overlap_on_the_short_day() -> None:
    assert len(starts("FREQ=DAILY;COUNT=3", "2027-03-24T00:00", 86400)) == 3
    with pytest.raises(RefusedError, match="overlap"):
        starts("FREQ=DAILY;COUNT=3", "2027-03-27T00:00", 86400)


def test_a_leap_day_comes_every_four_years() -> None:
    assert starts("FREQ=YEARLY;COUNT=2", "2028-02-29T12:00") == ["2028-02-29 12:00 CET", "2032-02-29 12:00 CET"]


def test_a_series_has_up_to_366_times_within_ten_years() -> None:
    assert len(starts("FREQ=DAILY;COUNT=366", "2027-01-15T09:00")) == 366
    with pytest.raises(RefusedError, match="more than 366 occurrences"):
        starts("FREQ=DAILY;COUNT=367", "2027-01-15T09:00")
    assert starts("FREQ=YEARLY;COUNT=11", "2027-01-15T09:00")[-1] == "2037-01-15 09:00 CET"
    with pytest.raises(RefusedError, match="ten years"):
        starts("FREQ=YEARLY;UNTIL=20380115T090000", "2027-01-15T09:00")


@pytest.mark.parametrize("until", ["20270117T080000Z", "20270117T090000"])
def test_the_end_of_a_rule_in_utc_or_in_local_time(until: str) -> None:
    assert starts(f"FREQ=DAILY;UNTIL={until}", "2027-01-15T09:00")[-1] == "2027-01-17 09:00 CET"


# --- calendars -----------------------------------------------------------------------------------------


@pytest.mark.statement("AR-37")
@pytest.mark.parametrize(
    ("start", "end", "fold", "closed"),
    [
        ("2027-10-31T01:00", "2027-10-31T02:30", 0, ""),
        ("2027-10-31T01:00", "2027-10-31T02:30", 1, "off"),
        ("2027-10-30T01:00", "2027-10-30T02:30", 0, ""),
        ("2027-10-30T01:00", "2027-10-30T02:50", 0, "off"),
    ],
)
def test_an_hour_that_comes_twice_is_closed_once_at_least(start: str, end: str, fold: int, closed: str) -> None:
    cluster = Cluster(1)
    cluster.add("calendar", "night", week="mon-sun=2:45-3:00=off")
    assert closed_within(cluster.state, "night", moment(start), moment(end, fold), BERLIN) == closed


# --- the qmaster's timer ---------------------------------------------------------------------------------


@pytest.mark.statement("AR-54", "AR-55")
def test_the_timer_starts_and_ends_a_reservation_within_its_second(
    cell: ReservingCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = cell.qrsub(at=100, duration=50)
    asked = cell.now
    seen: dict[str, float] = {}
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        """The clock goes on by the pause that the qmaster makes."""
        state = cell.ar(number).state if number in cell.state.reservations else "over"
        seen.setdefault(state, cell.now - asked)
        cell.now += seconds
        await real_sleep(0)

    async def run() -> None:
        service = Service(cell.master, IdleCallbacks())
        timers = asyncio.create_task(service._timers())
        while "over" not in seen and cell.now < asked + 1000:
            await real_sleep(0)
        timers.cancel()

    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(run())
    assert 100 <= seen["r"] < 101
    assert 150 <= seen["over"] < 151


# --- a clock that is set ---------------------------------------------------------------------------------


@pytest.mark.statement("AR-54", "AR-55")
def test_a_clock_that_is_set_forward_begins_and_ends_what_is_due(cell: ReservingCell) -> None:
    first, second = cell.qrsub(at=100, duration=100), cell.qrsub(at=1000, duration=1000)
    cell.set_clock(1500)
    cell.tick()
    assert first not in cell.state.reservations
    assert cell.ar(second).state == "r"


@pytest.mark.statement("AR-54")
def test_a_clock_that_is_set_back_takes_nothing_from_what_has_begun(cell: ReservingCell) -> None:
    number = cell.qrsub(at=100, duration=1000, pe="mpi", pe_range="12")
    cell.wait(100)
    cell.set_clock(-100)
    cell.wait(0)
    assert cell.ar(number).state == "r"
    inside, outside = cell.submit(ar=number), cell.submit(hard=["h_rt=50"])
    cell.cycle()
    assert cell.placed(inside) and not cell.placed(outside)
    assert "no suitable queues" in cell.refused(at=0, duration=50)


# --- many that are over ------------------------------------------------------------------------------------


@pytest.mark.statement("AR-55")
def test_an_ended_reservation_leaves_nothing_behind(cell: ReservingCell) -> None:
    for _ in range(5):
        for _ in range(4):
            number = cell.qrsub(at=10, duration=10, pe="mpi", pe_range="3")
            cell.submit(ar=number, verify="n")
        cell.wait(10)
        cell.cycle()
        for key in list(cell.running):
            cell.end(*key[:2])
        cell.wait(10)
    index = cell.state.reserved
    held = (index.of_instance, index.held, index.used, index.jobs, index.granted_at, index.spans)
    assert not cell.state.reservations and not any(held), "neither the state nor its indexes grow with what was"
    assert cell.state.next_ar_id == 21
    cell.restart()
    assert cell.qrsub() == 21
