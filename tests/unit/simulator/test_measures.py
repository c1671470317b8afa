"""Measures of an outcome, on numbers that can be computed by hand."""

from __future__ import annotations

import pytest

from daemons.simulator.measures import jain, measures, percentile, shares, slowdown
from daemons.simulator.replay import ReplayedTask, ReplayOutcome
from daemons.simulator.trace import TraceFaults


def run(owner: str, submit: float, start: float, end: float, slots: int = 1) -> ReplayedTask:
    return ReplayedTask(1, 0, owner, "p", slots, submit, start, end, "all.q@h1")


RUNS = [run("a", 0, 0, 100), run("a", 0, 50, 100), run("b", 0, 100, 200, 2), run("b", 0, 4, 5)]


def test_measures_of_four_tasks() -> None:
    found = measures(ReplayOutcome(RUNS, 4, TraceFaults(), 0, 0))
    assert (found.tasks, found.makespan) == (4, 200)
    assert (found.wait_mean, found.wait_median, found.wait_90) == (38.5, 27, 100)
    # slowdowns: 1, 100/50, 200/100, and 5/10, at least 1
    assert (found.slowdown_mean, found.slowdown_median, found.slowdown_90) == (1.5, 1.5, 2)
    assert found.utilisation == pytest.approx((100 + 50 + 200 + 1) / 800)
    assert found.fairness == 1


def test_measures_of_nothing_are_zeros() -> None:
    assert measures(ReplayOutcome([], 4, TraceFaults(), 0, 0)).tasks == 0


def test_a_short_task_counts_as_ten_seconds() -> None:
    assert slowdown(run("a", 0, 99, 100)) == 10


@pytest.mark.parametrize(("part", "value"), [(0.0, 1), (0.5, 5), (0.9, 9), (0.91, 10), (1.0, 10)])
def test_percentiles_are_values_that_occur(part: float, value: float) -> None:
    assert percentile(list(range(1, 11)), part) == value


def test_index_of_fairness() -> None:
    assert jain([3, 3, 3]) == 1
    assert jain([1, 0, 0, 0]) == 0.25


def test_shares_of_users() -> None:
    first, second = shares(RUNS, lambda each: each.owner)
    assert (first.name, first.tasks, first.used, first.wait_mean) == ("b", 2, 201, 52)
    assert first.share + second.share == 1
