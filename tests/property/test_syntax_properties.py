"""Ranges against sets of integers; expressions, calendars and values against any text."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridengine.errors import InvalidValueError
from gridengine.syntax.calendar import next_change, parse_calendar, parse_week, parse_year, state_at
from gridengine.syntax.lists import split_pairs
from gridengine.syntax.load_formula import parse_load_formula
from gridengine.syntax.overrides import Overrides
from gridengine.syntax.queue_expression import QueueExpressions
from gridengine.syntax.request_list import format_requests, parse_requests
from gridengine.syntax.rqs import parse_rule
from gridengine.syntax.subordinate import parse_subordinates
from gridengine.syntax.wildcard import compile_expression
from gridengine.values.bitmap import Bitmap
from gridengine.values.ranges import Ranges, format_slot_ranges, parse_slot_ranges
from gridengine.values.units import (
    parse_bool,
    parse_date_time,
    parse_double,
    parse_memory,
    parse_number,
    parse_quantity,
    parse_time,
)

PARTS = st.builds(
    lambda low, length, step: range(low, low + length, step), st.integers(1, 40), st.integers(1, 30), st.integers(1, 5)
)


@pytest.mark.statement("AJ-1")
@given(left=st.lists(PARTS, max_size=5), right=st.lists(PARTS, max_size=5))
def test_ranges_behave_as_sets(left: list[range], right: list[range]) -> None:
    a, b = Ranges(left), Ranges(right)
    set_a, set_b = {i for part in left for i in part}, {i for part in right for i in part}
    assert list(a) == sorted(set_a) and len(a) == len(set_a)
    assert list(a | b) == sorted(set_a | set_b)
    assert list(a - b) == sorted(set_a - set_b)
    assert list(a & b) == sorted(set_a & set_b)
    assert (a == b) == (set_a == set_b)
    if set_a:
        assert Ranges.parse(str(a)) == a
        assert hash(Ranges.of(set_a)) == hash(a)


WIDE = st.builds(lambda low, ids, step: range(low, low + ids, step), *map(st.integers, (1, 1, 1), (9000, 20000, 11)))


@pytest.mark.statement("AJ-6")
@settings(max_examples=60, deadline=None)
@given(first=WIDE, parts=st.lists(st.tuples(st.booleans(), WIDE), max_size=4), widened=st.tuples(*[st.integers(0, 9)] * 2))
def test_large_ranges_behave_as_sets(first: range, parts: list[tuple[bool, range]], widened: tuple[int, int]) -> None:
    """Odd strides through thousands of tasks: bitmaps and progressions mean the same as plain sets."""
    ranges, ids = Ranges((first,)), set(first)
    for adding, part in parts:
        assert list(ranges & Ranges((part,))) == sorted(ids & set(part))
        ranges = ranges | Ranges((part,)) if adding else ranges - Ranges((part,))
        ids = ids | set(part) if adding else ids - set(part)
        assert list(ranges) == sorted(ids) and len(ranges) == len(ids)
        assert ranges == Ranges.load(ranges.dump()) == Ranges.parse(str(ranges)) if ids else not ranges
        assert all((i in ranges) == (i in ids) for i in (part.start, part[-1], part.start + 1))
    below, above = widened
    assert list(ranges.widened(below, above)) == sorted({i + d for i in ids for d in range(-below, above + 1)})
    assert list(ranges.take(1500)) == sorted(ids)[:1500]
    assert sum(len(run.dump()) if isinstance(run, Bitmap) else 40 for run in ranges.runs) < 50_000


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=6))
def test_slot_ranges_read_the_same(pairs: list[tuple[int, int]]) -> None:
    parsed = parse_slot_ranges(",".join(f"{low}-{high}" for low, high in pairs))
    assert parse_slot_ranges(format_slot_ranges(parsed)) == parsed


READERS: list[Callable[[str], object]] = [
    parse_time,
    parse_memory,
    parse_quantity,
    parse_number,
    parse_double,
    parse_bool,
    lambda text: parse_date_time(text, 0.0),
    Ranges.parse,
    parse_slot_ranges,
    compile_expression,
    QueueExpressions.parse,
    Overrides.parse,
    parse_requests,
    split_pairs,
    parse_subordinates,
    parse_load_formula,
    parse_rule,
    parse_week,
    parse_year,
]


@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("reader", READERS)
@given(text=st.one_of(st.text(max_size=20), st.text("ab01.-+:,=@[](){}!&|*?\\$ slotnefrk", max_size=30)))
def test_readers_refuse_with_a_reason_or_not_at_all(reader: Callable[[str], object], text: str) -> None:
    try:
        reader(text)
    except InvalidValueError as fault:
        assert str(fault)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text("ab,'=|* ", min_size=1, max_size=8), min_size=1
    )
)
def test_requests_read_the_same(requests: dict[str, str]) -> None:
    pairs = list(requests.items())
    assert parse_requests(format_requests(pairs)) == pairs


HOURS = st.tuples(st.integers(0, 23), st.integers(0, 24)).filter(lambda pair: pair[0] != pair[1])
WEEK_ENTRY = st.builds(
    lambda days, hours, state: "=".join(part for part in (days, f"{hours[0]}-{hours[1]}", state) if part),
    st.sampled_from(["", "mon", "tue-thu", "sat-mon", "wed,fri"]),
    HOURS,
    st.sampled_from(["", "on", "off", "suspended"]),
)
YEAR_ENTRY = st.builds(
    lambda first, length, state: f"{first}.3.2026-{first + length}.3.2026{state}",
    st.integers(1, 10),
    st.integers(0, 8),
    st.sampled_from(["", "=on", "=12-11=off", "=8-9=suspended"]),
)


@pytest.mark.statement("CA-7")
@settings(max_examples=60, deadline=None)
@given(
    week=st.lists(WEEK_ENTRY, max_size=3),
    year=st.lists(YEAR_ENTRY, max_size=2),
    start=st.integers(0, 20 * 24 * 2).map(lambda halves: datetime(2026, 2, 27) + timedelta(minutes=30 * halves)),
)
def test_the_next_change_is_the_first_moment_with_another_state(
    week: list[str], year: list[str], start: datetime
) -> None:
    calendar = parse_calendar(" ".join(year) or "NONE", " ".join(week) or "NONE")
    current = state_at(calendar, start)
    moments = (start + timedelta(minutes=30 * number) for number in range(1, 30 * 24 * 2))
    expected = next(((at, state_at(calendar, at)) for at in moments if state_at(calendar, at) != current), None)
    assert next_change(calendar, start) == expected
