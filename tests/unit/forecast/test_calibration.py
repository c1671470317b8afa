"""Forecasts compared with the starts that followed."""

from __future__ import annotations

import pytest

from daemons.forecast.calibration import CLASSES_S, LEAST, LONGEST_S, MOST, SOFT_S, Calibration, Remembered

NOW = 1_000_000.0


def compared(*factors: float, expected: float = 1000.0, age: float = 100_000.0, **fields: float) -> list[Remembered]:
    """Forecasts of `age` seconds ago, whose jobs waited these factors times as long as expected."""
    asked = NOW - age
    return [
        Remembered(number, asked, expected, started=asked + factor * (expected + SOFT_S) - SOFT_S, **fields)
        for number, factor in enumerate(factors, 1)
    ]


def test_too_few_comparisons_give_no_range() -> None:
    assert Calibration(compared(*[1.0] * (LEAST - 1))).range(1000, False, NOW) is None
    assert Calibration(compared(*[1.0] * LEAST)).range(1000, False, NOW) == (pytest.approx(1000), pytest.approx(1000), LEAST)


def test_the_range_is_the_narrowest_that_held_enough_starts() -> None:
    factors = [0.5] + [1.0] * 19 + [1.5] * 17 + [9.0] * 3
    found = Calibration(compared(*factors)).range(2000, False, NOW)
    assert found is not None
    low, high, count = found
    assert (low, high, count) == (pytest.approx(2000), pytest.approx(1.5 * 2060 - 60), 40)


def test_jobs_that_still_wait_widen_the_range() -> None:
    done = compared(*[0.5] * 20, *[1.0] * 30)
    waiting = [Remembered(number, NOW - 600.0, 1000.0) for number in range(100, 140)]
    alone, both = Calibration(done).range(1000, False, NOW), Calibration([*done, *waiting]).range(1000, False, NOW)
    assert alone == (pytest.approx(470), pytest.approx(1000), 50)
    assert both == (pytest.approx(470), pytest.approx(1000), 90), "at most what is known"
    late = [Remembered(number, NOW - 9000.0, 1000.0) for number in range(100, 104)]
    slow = compared(*[8.0] * 10)
    found = Calibration([*done, *late, *slow]).range(1000, False, NOW)
    assert found is not None
    assert found[1] == pytest.approx(8 * 1060 - 60), "4 that wait and 10 of 64 are more than a tenth"


def test_jobs_that_newer_jobs_overtake_are_compared_with_such_jobs() -> None:
    others = [Remembered(each.job, each.asked, each.expected, True, started=each.started) for each in compared(*[3.0] * LEAST)]
    calibration = Calibration([*compared(*[1.0] * LEAST), *others])
    assert calibration.range(1000, False, NOW) == (pytest.approx(1000), pytest.approx(1000), LEAST)
    assert calibration.range(1000, True, NOW) == (pytest.approx(3 * 1060 - 60), pytest.approx(3 * 1060 - 60), LEAST)


def test_ranges_that_held_too_few_starts_become_wider() -> None:
    factors = [0.2] * 4 + [1.0] * 32 + [1.1] * 4
    wrong, right = compared(*factors, low=1.0, high=2.0), compared(*factors, low=0.0, high=9000.0)
    narrow, wide = Calibration(right).range(1000, False, NOW), Calibration(wrong).range(1000, False, NOW)
    assert narrow is not None
    assert wide is not None
    assert (narrow[0], narrow[1]) == (pytest.approx(1000), pytest.approx(1000))
    assert (wide[0], wide[1]) == (pytest.approx(0.2 * 1060 - 60), pytest.approx(1.1 * 1060 - 60))


def test_the_outcomes_of_a_class_widen_no_other_class() -> None:
    factors = [0.2] * 4 + [1.0] * 32 + [1.1] * 4
    right, wrong = compared(*factors, low=0.0, high=9000.0), compared(*[1.0] * LEAST, expected=90_000, low=1.0, high=2.0)
    found, alone = Calibration([*right, *wrong]).range(1000, False, NOW), Calibration(right).range(1000, False, NOW)
    assert found == alone
    assert found is not None
    assert (found[0], found[1]) == (pytest.approx(1000), pytest.approx(1000))
    few = Calibration([*compared(*factors), *wrong]).range(1000, False, NOW)
    assert few is not None
    assert few[0] == pytest.approx(0.2 * 1060 - 60), "without outcomes of its own those of all"


def test_a_class_with_few_comparisons_uses_those_of_all() -> None:
    near, far = compared(*[1.0] * LEAST, expected=100), compared(*[3.0] * LEAST, expected=90_000)
    calibration = Calibration([*near, *far])
    assert calibration.range(100, False, NOW) == (pytest.approx(100), pytest.approx(100), LEAST)
    found = calibration.range(5000, False, NOW)
    assert found is not None
    assert (found[0], found[1], found[2]) == (pytest.approx(5000), pytest.approx(3 * 5060 - 60), 2 * LEAST)


def test_starts_are_noted_and_forecasts_of_deleted_jobs_forgotten() -> None:
    calibration = Calibration([Remembered(number, NOW, 10.0) for number in (1, 2, 3)])
    assert calibration.waiting() == {1, 2, 3}
    calibration.note_starts({1: [NOW - 50, NOW + 7, NOW + 3]}, {2}, NOW + 10)
    assert [(each.job, each.started) for each in calibration.remembered] == [(1, NOW + 3), (2, 0)]
    calibration.note_starts({}, {2}, NOW + LONGEST_S)
    assert [each.job for each in calibration.remembered] == [1]


def test_the_number_of_forecasts_is_bounded_and_moments_are_apart() -> None:
    calibration = Calibration([])
    assert calibration.is_due(NOW)
    calibration.note([Remembered(number, NOW, 10.0) for number in range(MOST + 5)])
    assert (len(calibration.remembered), calibration.remembered[0].job) == (MOST, 5)
    assert not calibration.is_due(NOW + 599)
    assert calibration.is_due(NOW + 600)


def test_figures_by_the_expected_wait() -> None:
    near = compared(1.0, 0.1, 3.0, 1.0, expected=100, low=90, high=110)
    without_range = compared(1.0, expected=100)
    waiting = [Remembered(9, NOW, 100_000.0, False, 1.0, 2.0)]
    rows = Calibration([*near, *without_range, *waiting]).figures()
    assert [row["up_to"] for row in rows] == [*CLASSES_S[:-1], None]
    assert {name: rows[0][name] for name in ("count", "within", "early", "late", "width", "wait", "waiting")} == {
        "count": 4, "within": 0.5, "early": 0.25, "late": 0.25, "width": 20, "wait": 100, "waiting": 0,
    }  # fmt: skip
    assert (rows[-1]["count"], rows[-1]["waiting"]) == (0, 1)
