"""The table of the peers says how many times better this system is, the way round that fits each figure, and what is missing."""

from __future__ import annotations

import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from bench.peers.report import BEGIN, END, PANELS, TITLES, in_page, medians, plot, ratio, table
from bench.peers.resources import spent
from bench.peers.trial import Sizes, reason_of

SIZES = asdict(Sizes(array=1000, large=10_000, tiny=100_000))
FIGURES = {
    "this system": dict.fromkeys(TITLES, 40.0) | {"submit_ms": 25.0, "missing": 0},
    "other": {"submit_ms": 10.0, "sync_ms": 1000.0, "array_per_s": 20.0, "master_mb": 80.0, "missing": 3},
}
NONE = "It lists no jobs."
NOTES = {
    "this system": {},
    "other": dict.fromkeys(TITLES.keys() - FIGURES["other"].keys(), "Not measured: no time.")
    | {"list_ms": NONE, "sync_ms": "Slow."},
}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def rows_of(found: str) -> dict[str, list[str]]:
    """Of each figure, the cells after the title."""
    lines = [cells(line) for line in found.splitlines() if line.startswith("|")][2:]
    return {name: line[1:] for name, line in zip(TITLES, lines, strict=True)}


def test_a_time_is_the_better_the_smaller_and_a_rate_the_larger() -> None:
    assert ratio("sync_ms", 40, 1000) == "25.0 ×"
    assert ratio("array_per_s", 120, 40) == "3.0 ×"
    assert ratio("master_mb", 100, 50) == "0.5 ×"
    assert ratio("missing", 0, 3) == ratio("array_per_s", 120, 0) == ratio("list_ms", 1, None) == ""


def test_the_table_has_a_row_a_figure_and_a_column_a_system() -> None:
    found = table(FIGURES, NOTES, SIZES)
    head, rule, *rows = (cells(line) for line in found.splitlines() if line.startswith("|"))
    assert head == ["", "this system", "other", "better than other"] and len(rule) == len(head)
    assert [row[0] for row in rows] == [title.format_map(SIZES) for title in TITLES.values()]
    assert "array of 10,000 (tasks/s)" in found
    assert rows_of(found)["submit_ms"] == ["25.0", "10.0", "0.4 ×"] and rows_of(found)["missing"] == ["0", "3", ""]


def test_a_figure_that_is_missing_is_an_empty_cell_with_a_footnote_and_no_zero() -> None:
    found = table(FIGURES, NOTES, SIZES)
    assert rows_of(found)["list_ms"] == ["40.0", "<sup>1</sup>", ""]
    assert found.splitlines()[-3:] == [f"1. {NONE}", "2. Slow.", "3. Not measured: no time."]


def test_figures_with_the_same_note_share_a_footnote_and_a_value_can_have_a_note() -> None:
    rows = rows_of(table(FIGURES, NOTES, SIZES))
    assert rows["sync_ms"] == ["40.0", "1000.0 <sup>2</sup>", "25.0 ×"]
    assert rows["large_per_s"] == rows["tiny_per_s"] == ["40.0", "<sup>3</sup>", ""]


def test_a_table_without_notes_has_no_footnotes() -> None:
    found = table({"this system": FIGURES["this system"]}, {"this system": {}}, SIZES)
    assert all(line.startswith("|") for line in found.splitlines())


def test_a_figure_is_the_median_of_the_trials_that_have_it() -> None:
    trials = [({"sync_ms": 1.0}, {}), ({}, {"sync_ms": "Not measured."}), ({"sync_ms": 4.0}, {"sync_ms": "Slow."})]
    assert medians(trials) == ({"sync_ms": 2.5}, {"sync_ms": "Slow."})
    assert medians(trials[1:2]) == ({}, {"sync_ms": "Not measured."})


def test_each_figure_but_the_missing_tasks_is_in_the_plot() -> None:
    assert [name for names in PANELS.values() for name in names] == [name for name in TITLES if name != "missing"]


def test_the_plot_is_a_picture_also_of_missing_figures(tmp_path: Path) -> None:
    plot(FIGURES | {"third": {}}, SIZES, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_the_reason_of_a_failed_command_is_its_last_line() -> None:
    assert reason_of(subprocess.CalledProcessError(2, ["x"], "out\n", "a\ncell: no host\n")) == "cell: no host"
    assert reason_of(subprocess.CalledProcessError(2, ["x"], "", "")) == "a command ended with 2"
    assert reason_of(subprocess.TimeoutExpired(["x"], 60.4)) == "a command had not ended after 60 s"
    assert reason_of(TimeoutError("jobs have not ended")) == "jobs have not ended"


def test_processor_time_counts_processes_that_come_and_not_those_that_end() -> None:
    assert spent({1: 5.0, 2: 7.0}, {1: 6.5, 3: 0.5}) == 2.0


def test_a_new_report_replaces_the_old_report_in_the_page() -> None:
    page = f"# A\n\n{BEGIN}\nold\n{END}\n\n## B\n"
    assert in_page(page, "new") == page.replace("old", "new") == in_page(in_page(page, "1"), "new")
    with pytest.raises(ValueError, match="no lines"):
        in_page("# A\n", "new")


def test_the_page_has_the_place() -> None:
    page = (Path(__file__).parents[3] / "docs" / "performance.md").read_text()
    assert "new" in in_page(page, "new")
