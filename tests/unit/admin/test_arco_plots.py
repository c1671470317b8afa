"""Plots of `gridengine arco` show the values of the answer. DB-22."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest

from clients.admin.arco.dbwriter_client import Answer
from clients.admin.arco.plots import draw, save
from clients.admin.errors import AdminError

MONTHS = ["2026-01-01", "2026-02-01"]
PROJECTS = [("astro", 7200.0), ("bio", 3600.0)]
PER_PROJECT = Answer(
    ["time", "project", "cpu"],
    ["date", "text", "number"],
    [[month, name, value * number] for number, month in enumerate(MONTHS, start=1) for name, value in PROJECTS],
    False,
    {},
)
HOURS = {"x": "time", "y": "cpu", "series": "project", "y_label": "processor time (h)", "y_scale": 3600}


def heights(axes) -> dict[str, list[float]]:
    return {bars.get_label(): [bar.get_height() for bar in bars] for bars in axes.containers}


def labels(axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


@pytest.mark.statement("DB-22")
def test_bars_of_series_stand_beside_each_other_over_months() -> None:
    axes = draw(PER_PROJECT, "Accounting", {"kind": "bars", **HOURS}).axes[0]
    assert heights(axes) == {"astro": [2.0, 4.0], "bio": [1.0, 2.0]}
    assert labels(axes) == ["2026-01", "2026-02"]
    assert axes.get_ylabel() == "processor time (h)"
    lefts = [[bar.get_x() for bar in bars] for bars in axes.containers]
    assert lefts[0][0] < lefts[1][0] < lefts[0][1]


def test_stacked_bars_begin_where_those_below_end() -> None:
    axes = draw(PER_PROJECT, "Accounting", {"kind": "stacked", **HOURS}).axes[0]
    assert [[bar.get_y() for bar in bars] for bars in axes.containers] == [[0.0, 0.0], [2.0, 4.0]]


def test_more_series_than_colours_become_one_and_the_largest_are_shown() -> None:
    rows = [["2026-01-01", f"p{number:02}", float(number)] for number in range(1, 11)]
    answer = Answer(PER_PROJECT.columns, PER_PROJECT.types, rows, False, {})
    axes = draw(answer, "Accounting", {"kind": "bars", "x": "time", "y": "cpu", "series": "project"}).axes[0]
    assert list(heights(axes)) == ["p10", "p09", "p08", "p07", "p06", "p05", "p04", "others"]
    assert heights(axes)["others"] == [6.0]


def test_columns_can_be_series_and_the_first_values_are_kept() -> None:
    rows = [[number, float(number), 1.0] for number in range(9, 0, -1)]
    answer = Answer(["ar", "used", "idle"], ["number"] * 3, rows, False, {})
    axes = draw(answer, "Use", {"kind": "stacked", "x": "ar", "y": ["used", "idle"], "most": 3}).axes[0]
    assert heights(axes) == {"used": [9.0, 8.0, 7.0], "idle": [1.0, 1.0, 1.0]}
    assert labels(axes) == ["9", "8", "7"]


def test_a_ranking_has_the_longest_on_top() -> None:
    answer = Answer(["host", "jobs"], ["text", "number"], [["h1", 3], ["h2", 9], ["h3", 5]], False, {})
    axes = draw(answer, "Failures", {"kind": "ranking", "x": "host", "y": "jobs", "most": 2}).axes[0]
    assert [bar.get_width() for bar in axes.containers[0]] == [5.0, 9.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["h3", "h2"]


def test_lines_have_a_point_at_each_time_and_limits() -> None:
    rows = [["2026-11-10T02:00:00+00:00", "all.q", 50.0], ["2026-11-10T01:00:00+00:00", "all.q", 25.0]]
    answer = Answer(["time", "qname", "used"], ["time", "text", "number"], rows, False, {})
    plot = {"kind": "lines", "x": "time", "y": "used", "series": "qname", "y_least": 0, "y_most": 100}
    axes = draw(answer, "Use", plot).axes[0]
    assert list(axes.lines[0].get_ydata()) == [25.0, 50.0]
    assert axes.get_ylim() == (0.0, 100.0)


def test_lines_of_the_smaller_series_are_left_out_since_loads_have_no_sum() -> None:
    rows = [["2026-11-10T01:00:00+00:00", f"h{number}", float(number)] for number in range(1, 11)]
    answer = Answer(["time", "hostname", "load"], ["time", "text", "number"], rows, False, {})
    axes = draw(answer, "Load", {"kind": "lines", "x": "time", "y": "load", "series": "hostname"}).axes[0]
    assert [line.get_label() for line in axes.lines] == ["h10", "h9", "h8", "h7", "h6", "h5", "h4"]
    assert axes.get_legend().get_title().get_text() == "hostname\n(the highest of 10)"


def test_an_empty_bar_does_not_shrink_the_highest() -> None:
    answer = Answer(["ar", "used", "idle"], ["number"] * 3, [[1, 100.0, 0.0], [2, 5.0, 5.0]], False, {})
    axes = draw(answer, "Use", {"kind": "stacked", "x": "ar", "y": ["used", "idle"]}).axes[0]
    assert axes.get_ylim()[1] > 100


def test_points_leave_out_rows_without_a_value() -> None:
    answer = Answer(["asked", "used"], ["number", "number"], [[2.0, 1.0], [None, 1.0], [4.0, 4.0]], False, {})
    plot = {"kind": "scatter", "x": "asked", "y": "used", "x_scale": 2, "diagonal": "all of it"}
    axes = draw(answer, "Memory", plot).axes[0]
    assert axes.collections[0].get_offsets().tolist() == [[1.0, 1.0], [2.0, 4.0]]
    assert [text.get_text() for text in axes.texts] == ["all of it"]


def test_each_value_of_a_column_can_have_a_panel_of_its_own() -> None:
    rows = [["2026-11-10T01:00:00+00:00", "cpu", 1.0], ["2026-11-10T01:00:00+00:00", "load", 2.0]]
    answer = Answer(["time", "variable", "value"], ["time", "text", "number"], rows, False, {})
    figure = draw(answer, "Hosts", {"kind": "lines", "x": "time", "y": "value", "panels": "variable"})
    assert [axes.get_ylabel() for axes in figure.axes] == ["cpu", "load"]


@pytest.mark.statement("DB-22")
@pytest.mark.parametrize(("name", "begin"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml")])
def test_pictures_are_written_as_png_and_svg(tmp_path: Path, name: str, begin: bytes) -> None:
    save(draw(PER_PROJECT, "Accounting per Project", {"kind": "bars", **HOURS}), tmp_path / name)
    written = (tmp_path / name).read_bytes()
    assert written.startswith(begin)
    assert name == "p.png" or b"Accounting per Project" in written


@pytest.mark.parametrize(
    ("plot", "rows", "reason"),
    [
        ({}, [[MONTHS[0], "astro", 1.0]], '"Accounting" has no plot'),
        ({"kind": "bars", "x": "time", "y": "cpu"}, [], "has no rows: there is nothing to draw"),
        ({"kind": "bars", "x": "day", "y": "cpu"}, [[MONTHS[0], "astro", 1.0]], "the plot needs a column day"),
    ],
)
def test_an_answer_that_cannot_be_drawn_is_refused(plot: dict[str, object], rows: list[list[object]], reason: str) -> None:
    with pytest.raises(AdminError, match=reason):
        draw(Answer(PER_PROJECT.columns, PER_PROJECT.types, rows, False, {}), "Accounting", plot)


@pytest.mark.parametrize(("name", "reason"), [("p.pdf", "a plot is written as .png or .svg"), ("no/p.png", "cannot write")])
def test_an_unwritable_file_is_reported(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(AdminError, match=reason):
        save(draw(PER_PROJECT, "x", {"kind": "bars", **HOURS}), tmp_path / name)


def test_a_foreign_matplotlibrc_is_ignored(tmp_path: Path) -> None:
    """matplotlib reads `matplotlibrc` there: LaTeX would read and write files as the caller."""
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nfont.size: 40\n")
    with matplotlib.rc_context(fname=tmp_path / "matplotlibrc"):
        assert matplotlib.rcParams["text.usetex"]
        figure = draw(PER_PROJECT, "Accounting", {"kind": "bars", **HOURS})
        save(figure, tmp_path / "plot.svg")
    texts = figure.findobj(matplotlib.text.Text)
    assert len(texts) > 3 and not any(each.get_usetex() or each.get_size() == 40 for each in texts)
