"""Periods of reports: months with their lengths and clock changes, days, and refused texts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from dateutil.tz import gettz

from gridengine.errors import InvalidValueError
from gridengine.usage.periods import NAMED, name_of_month, parse_period

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()


def day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "begin", "end", "before"),
    [
        ("last-month", "2026-02-01", "2026-03-01", ("2026-01-01", "2026-02-01")),
        ("2026-01", "2026-01-01", "2026-02-01", ("2025-12-01", "2026-01-01")),
        ("2025-12", "2025-12-01", "2026-01-01", ("2025-11-01", "2025-12-01")),
        ("month", "2026-03-01", "2026-03-10 12:00", ("2026-02-01", "2026-02-10 12:00")),
        ("7d", "2026-03-03 12:00", "2026-03-10 12:00", ("2026-02-24 12:00", "2026-03-03 12:00")),
        ("2026-02-02..2026-02-08", "2026-02-02", "2026-02-09", ("2026-01-26", "2026-02-02")),
        ("2026-02-02", "2026-02-02", "2026-02-03", ("2026-02-01", "2026-02-02")),
    ],
)
def test_a_period_has_its_ends_and_the_period_before(text: str, begin: str, end: str, before: tuple[str, str]) -> None:
    period, earlier = parse_period(text, NOW, UTC)
    assert (period.begin, period.end) == (day(begin), day(end))
    assert (earlier.begin, earlier.end) == tuple(map(day, before))


def test_a_month_with_a_clock_change_is_an_hour_shorter() -> None:
    zone = gettz("Europe/Berlin")
    assert zone is not None, "the system has no time zones"
    period, _ = parse_period("2026-03", NOW, zone)
    assert period.length_s == (31 * 24 - 1) * 3600
    assert period.days(zone) == "2026-03-01 to 2026-03-31"


def test_the_first_part_of_a_month_is_compared_with_a_shorter_month_at_most() -> None:
    _, before = parse_period("month", day("2026-03-31 12:00"), UTC)
    assert (before.begin, before.end) == (day("2026-02-01"), day("2026-03-01"))


@pytest.mark.parametrize("name", NAMED)
def test_each_named_period_follows_the_period_before(name: str) -> None:
    period, before = parse_period(name, NOW, UTC)
    assert before.begin < before.end <= period.begin < period.end <= NOW


@pytest.mark.parametrize(
    "text",
    [
        "", "week", "0d", "99999d", "2026-13", "2026-02-30", "2026-02-08..2026-02-02", "1900-01-01..2026-01-01", "2026-1", "..",
        "9999-12",
    ],
)
def test_another_text_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(InvalidValueError, match="is no period"):
        parse_period(text, NOW, UTC)


def test_the_last_month_has_a_name() -> None:
    assert name_of_month(NOW, UTC) == "2026-02"
    assert name_of_month(day("2026-01-01"), UTC) == "2025-12"
