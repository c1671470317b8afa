"""Task ranges and slot ranges."""

import sys

import pytest

from gridengine.errors import InvalidValueError
from gridengine.values.ranges import MAX_SLOTS, Ranges, format_slot_ranges, parse_slot_ranges


@pytest.mark.statement("AJ-1")
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("5", [5]),
        ("1-4", [1, 2, 3, 4]),
        ("1:4", [1, 2, 3, 4]),
        ("2-8:2", [2, 4, 6, 8]),
        ("1-95:100", [1]),
        ("1-4,7,9-20:2", [1, 2, 3, 4, 7, 9, 11, 13, 15, 17, 19]),
        ("1-2 4 6-7", [1, 2, 4, 6, 7]),
        ("3,1,2", [1, 2, 3]),
        ("1-10:2,5-8", [1, 3, 5, 6, 7, 8, 9]),
    ],
)
def test_reading(text: str, ids: list[int]) -> None:
    ranges = Ranges.parse(text)
    assert list(ranges) == ids
    assert len(ranges) == len(ids)
    assert all(i in ranges for i in ids) and 0 not in ranges and max(ids) + 1 not in ranges


@pytest.mark.parametrize(
    "text", ["", ",", "1,", ",1", "1,,2", "0-3", "1-2:0", "1-2:-1", "1-2:xx", "abc", "3-1", "1-", "-3", "5:1:1"]
)
def test_wrong_ranges_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="range"):
        Ranges.parse(text)


def test_print_form_after_removals_is_that_of_qstat() -> None:
    ranges = Ranges.parse("1-10")
    printed = []
    for gone in ("2,5", "7-9", "3"):
        ranges -= Ranges.parse(gone)
        printed.append(str(ranges))
    assert printed == ["1,3,4,6-10:1", "1,3,4,6,10", "1,4,6,10"]


def test_steps_survive_removals() -> None:
    ranges = Ranges.parse("1-20:3")
    assert str(ranges) == "1-19:3"
    assert str(ranges.minus(7)) == "1,4,10-19:3"
    assert str(ranges.minus(7).minus(13)) == "1,4,10,16,19"


def test_single_numbers_become_a_progression() -> None:
    assert str(Ranges.parse("1,3,5,7")) == "1-7:2"
    assert Ranges.of([5, 3, 1]) == Ranges.parse("1-5:2")
    assert Ranges.parse("1-5:2").step == 2


def test_arithmetic() -> None:
    left, right = Ranges.parse("1-6"), Ranges.parse("4-9")
    assert list(left | right) == list(range(1, 10))
    assert list(left - right) == [1, 2, 3]
    assert list(left & right) == [4, 5, 6]
    assert list(left.union(7)) == [1, 2, 3, 4, 5, 6, 7]
    assert (left.first, left.last) == (1, 6)
    assert list(left.take(2)) == [1, 2]
    assert not (left - left)


def test_a_million_ids_need_little_memory() -> None:
    ranges = Ranges.parse("1-1000000")
    for i in range(1, 200, 2):
        ranges = ranges.minus(i)
    assert len(ranges) == 1000000 - 100
    assert sum(map(sys.getsizeof, ranges.runs)) < 20000


@pytest.mark.parametrize(
    ("text", "pairs", "printed"),
    [
        ("4", ((4, 4),), "4"),
        ("2-8", ((2, 8),), "2-8"),
        ("-8", ((1, 8),), "1-8"),
        ("4-", ((4, MAX_SLOTS),), "4-9999999"),
        ("2,4,6-8", ((2, 2), (4, 4), (6, 8)), "2,4,6-8"),
        ("8-4", ((4, 8),), "4-8"),
        ("2-4,3-6", ((2, 6),), "2-6"),
        ("6,2", ((2, 2), (6, 6)), "2,6"),
    ],
)
def test_slot_ranges(text: str, pairs: tuple[tuple[int, int], ...], printed: str) -> None:
    assert parse_slot_ranges(text) == pairs
    assert format_slot_ranges(pairs) == printed


@pytest.mark.parametrize("text", ["", "-", "0", "x", "1-4:2", "2,,4", "10000000", "0-4"])
def test_wrong_slot_ranges_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        parse_slot_ranges(text)


def test_many_runs_that_interleave() -> None:
    """Large sets go other ways than small ones; both mean the same."""
    every = set(range(1, 3001))
    third, seventh, pairs = set(range(2, 3001, 3)), set(range(5, 2901, 7)), {i for i in every if i % 5 < 2}
    for left in (every - third, every - seventh, pairs):
        for right in (third, seventh, pairs, every):
            one, other = Ranges.of(left), Ranges.of(right)
            assert set(one | other) == left | right
            assert set(one - other) == left - right
            assert set(one & other) == left & right
            assert set(Ranges.parse(str(one))) == left


@pytest.mark.parametrize("text", ["1-4000000000:2,5-4000000001:3", "1-1000:2,3-4294967295", "1-9:2,4000000000"])
def test_a_text_cannot_make_the_bits_of_an_unlimited_span(text: str) -> None:
    with pytest.raises(InvalidValueError, match="can be combined over 1048576 ids"):
        Ranges.parse(text)


def test_stored_ranges_may_be_wider_than_requested_ranges() -> None:
    wide = Ranges([range(1, 4_000_000, 2)]) - Ranges([range(9, 30)])
    assert Ranges.load(wide.dump()) == wide and len(wide.runs) > 1


def test_many_sets_are_united_by_their_runs() -> None:
    every, third, some = set(range(1, 3001)), set(range(2, 3001, 3)), {5, 17, 2999}
    sets = [Ranges.of(every - third), Ranges(), Ranges.of(some), Ranges.of(some), *map(Ranges.of, ([number] for number in third))]
    assert Ranges.union_of(sets) == Ranges.of(every)
    assert Ranges.union_of([]) == Ranges()
    billions = Ranges.parse("1-4000000001:2")
    assert Ranges.union_of([billions, billions]).runs == billions.runs
