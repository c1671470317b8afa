"""TIME, MEMORY, INT, DOUBLE, BOOL and date_time."""

from datetime import UTC, timedelta, timezone

import pytest

from gridengine.errors import InvalidValueError
from gridengine.values.units import (
    INFINITY,
    format_bool,
    format_double,
    format_duration,
    format_memory,
    format_moment,
    format_time,
    parse_bool,
    parse_date_time,
    parse_double,
    parse_memory,
    parse_number,
    parse_quantity,
    parse_time,
)


@pytest.mark.statement("CQ-34")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3600", 3600),
        ("0x10", 16),
        ("010", 8),
        ("1::1", 3601),
        ("1:0:1", 3601),
        ("::5", 5),
        ("24:0:10", 86410),
        ("00:00:60", 60),
        ("0:0:1.5", 1.5),
        ("0:1.5:0", 90),
        ("1.5:08:0x10", 5896),
        ("0:0:1e1", 10),
        ("INFINITY", INFINITY),
        ("infinity", INFINITY),
    ],
)
def test_time(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.statement("CQ-34", "CX-45")
@pytest.mark.parametrize("text", ["", "abc", "1:2", "1:2:3:4", "-5", "1h", "0x", "089", "1:-2:3", "1:+1:0", "0:0: 1", "0:0:0x"])
def test_wrong_times_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        parse_time(text)


@pytest.mark.statement("CQ-35")
@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1k", 1000),
        ("1K", 1024),
        ("2m", 2 * 10**6),
        ("2M", 2 * 2**20),
        ("4g", 4 * 10**9),
        ("4G", 4 * 2**30),
        ("1t", 10**12),
        ("1T", 2**40),
        ("1.5G", 1.5 * 2**30),
        ("0x100k", 256000),
        ("010M", 8 * 2**20),
        ("12", 12),
        ("INFINITY", INFINITY),
    ],
)
def test_memory(text: str, size: float) -> None:
    assert parse_memory(text) == size


@pytest.mark.statement("CQ-35", "CX-45")
@pytest.mark.parametrize("text", ["", "G", "1P", "1Gb", "foo", "-1G", "-1", "1 G", "1GG"])
def test_wrong_memory_sizes_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="memory size|negative"):
        parse_memory(text)


@pytest.mark.statement("CX-4")
def test_quantities_take_signs_bases_and_multipliers() -> None:
    given = ("12", "-3", "+3", "1k", "1K", "-2G", "0x10", "010", "0X1fk", "1.5k", "1e3", "infinity", "-INFINITY")
    assert [parse_quantity(text) for text in given] == [
        12, -3, 3, 1000, 1024, -(2**31), 16, 8, 31000, 1500, 1000, INFINITY, -INFINITY
    ]
    for text in ("", "-", "x", "k", "08", "1kb", "1K1", "1:00", "nan", "TRUE", "--1", "infinityk"):
        with pytest.raises(InvalidValueError, match="is not a number"):
            parse_quantity(text)


@pytest.mark.statement("CX-4")
def test_doubles_accept_scientific_notation() -> None:
    assert parse_double("1e3") == 1000.0
    assert parse_double("-2.5E-1") == -0.25
    assert parse_double("infinity") == INFINITY
    for text in ("", "nan", "1_0", "e5", "1e", "++1", "0x10"):
        with pytest.raises(InvalidValueError):
            parse_double(text)


@pytest.mark.statement("CX-4")
def test_booleans() -> None:
    assert all(parse_bool(text) for text in ("TRUE", "true", "1", "y", "yes"))
    assert not any(parse_bool(text) for text in ("FALSE", "False", "0", "n", "no"))
    assert (format_bool(True), format_bool(False)) == ("TRUE", "FALSE")
    with pytest.raises(InvalidValueError):
        parse_bool("maybe")


def test_numbers_of_configurations_have_bounds_and_bases() -> None:
    assert (parse_number("0x10"), parse_number("010"), parse_number("4294967295")) == (16, 10, 4294967295)
    assert parse_number("-20", -20, 20) == -20
    for text in ("4294967296", "-1", "1.5", ""):
        with pytest.raises(InvalidValueError):
            parse_number(text)


@pytest.mark.statement("X-16")
def test_durations_have_no_field_for_days() -> None:
    assert format_time(86410) == "24:00:10"
    assert format_time(360000) == "100:00:00"
    assert format_time(INFINITY) == "infinity"


def test_memory_is_printed_with_the_largest_suffix_that_fits() -> None:
    assert format_memory(4 * 2**30) == "4.000G"
    assert format_memory(2**40) == "1.000T"
    assert format_memory(1536) == "1.500K"
    assert format_memory(0) == "0.000"
    assert format_double(0.054688) == "0.054688"


NOW = 1795197600.0  # 2026-11-20 18:00:00 UTC


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("202611201800", NOW),
        ("2611201800", NOW),
        ("11201800", NOW),
        ("11201800.30", NOW + 30),
        ("7001010000", 0),
        ("6912312359.59", 3155759999),
    ],
)
def test_date_time(text: str, expected: float) -> None:
    assert parse_date_time(text, NOW, UTC) == expected


@pytest.mark.parametrize(
    "text", ["", "1", "13201800", "11321800", "11202500", "1120180", "11201800.", "11201800.6", "x"]
)
def test_wrong_dates_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="date and time"):
        parse_date_time(text, NOW, UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"), (4.52, "4.5 s"), (59.94, "59.9 s"), (59.96, "1 min"), (72, "1 min 12 s"), (3599.6, "1 h"),
        (7500, "2 h 5 min"), (7202, "2 h"), (86400, "1 d"), (273600, "3 d 4 h"),
    ],
)
def test_times_as_people_say_them(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize("hours", [-12, 0, 14])
def test_a_time_at_any_limit_can_be_printed(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    assert format_moment(0, UTC) == "1970-01-01 00:00:00"
    formatted = {format_moment(float(moment), zone) for moment in (253402214401, 253402300800, 1e14, 1e300, INFINITY)}
    assert formatted == {"a time after the year 9999"}
    assert format_moment(253402214400, zone) > "9999-12-30 12"
