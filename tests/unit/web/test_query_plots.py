"""Plots of stored queries on a page: lines over time, bars, points, a panel each."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.web.pages.query_plots import plots_of

MONTHS = (["time", "user", "cpu"], ["date", "text", "number"])
ROWS: list[list[Any]] = [["2026-01-01", "ann", 7200], ["2026-02-01", "ann", 3600]]
ROWS += [["2026-02-01", "bob", 36000], ["2026-02-01", None, 1]]
STACKED = {"kind": "stacked", "x": "time", "y": "cpu", "series": "user", "y_scale": 3600, "y_label": "cpu (h)"}


def test_values_over_time_become_lines_the_largest_first() -> None:
    (plot,) = plots_of(*MONTHS, ROWS, STACKED)
    assert plot.title == "cpu (h)"
    drawn: Any = plot
    assert drawn.times == sorted(drawn.times) and len(drawn.times) == 2
    assert drawn.lines[:2] == [{"label": "bob", "values": [None, 10.0]}, {"label": "ann", "values": [2.0, 1.0]}]
    assert drawn.lines[2]["label"] == "none"


@pytest.mark.parametrize(("kind", "names"), [("bars", ["low", "high"]), ("ranking", ["high", "low"])])
def test_values_by_name_become_bars_and_a_ranking_begins_with_the_longest(kind: str, names: list[str]) -> None:
    rows = [["low", 1], ["high", 4], ["nothing", None], [None, 9]]
    (plot,) = plots_of(["range", "jobs"], ["text", "number"], rows, {"kind": kind, "x": "range", "y": "jobs"})
    drawn: Any = plot
    assert [(name, part) for name, part, _ in drawn.bars] == [(name, {"low": 0.25, "high": 1.0}[name]) for name in names]


def test_points_of_one_measure_have_one_end_and_what_is_no_number_is_left_out() -> None:
    options = {"kind": "scatter", "x": "asked", "y": "used", "diagonal": "all", "x_scale": 2, "y_scale": 2}
    rows = [[8, 2], [None, 2], ["INFINITY", 1], ["many", 1], [4, -1]]
    (plot,) = plots_of(["asked", "used"], ["number", "number"], rows, options)
    drawn: Any = plot
    assert (drawn.points, drawn.x_end, drawn.y_end) == ([(1.0, 0.25)], 4.0, 4.0)


def test_panels_are_plots_of_their_own() -> None:
    rows = [["2026-01-01", "a", 1], ["2026-01-01", "b", 2]]
    plots = plots_of(*MONTHS, rows, {"kind": "lines", "x": "time", "y": "cpu", "panels": "user"})
    assert [plot.title for plot in plots] == ["a", "b"]


@pytest.mark.parametrize(
    "plot", [None, {}, *(STACKED | wrong for wrong in ({"x": "no"}, {"series": "no"}, {"y": ["cpu", "no"]}, {"panels": "no"}))]
)
def test_a_plot_without_its_columns_is_none(plot: dict[str, Any] | None) -> None:
    assert plots_of(*MONTHS, ROWS, plot) == []


def test_without_rows_there_is_no_plot() -> None:
    assert plots_of(*MONTHS, [], STACKED) == []
    assert plots_of(*MONTHS, [["2026-01-01", "ann", None]], STACKED) == []
