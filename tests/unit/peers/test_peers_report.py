"""The table of the peers says how many times quicker this system is, the way round that fits each figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.peers.report import BEGIN, END, TITLES, in_page, plot, ratio, table

FIGURES = {
    "this system": {"submit_ms": 25.0, "list_ms": 20, "sync_ms": 40.0, "array_per_s": 120.0, "single_per_s": 60.0, "missing": 0},
    "other": {"submit_ms": 10.0, "list_ms": 30.0, "sync_ms": 1000.0, "array_per_s": 40.0, "single_per_s": 30.0, "missing": 3},
}


def test_a_time_is_the_better_the_smaller_and_a_rate_the_larger() -> None:
    assert ratio("sync_ms", 40, 1000) == "25.0 ×"
    assert ratio("array_per_s", 120, 40) == "3.0 ×"
    assert ratio("missing", 0, 3) == ratio("array_per_s", 120, 0) == ""


def test_the_table_has_a_row_a_figure_and_a_column_a_system() -> None:
    head, rule, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table(FIGURES).splitlines())
    assert head == ["", "this system", "other", "quicker than other"] and len(rule) == len(head)
    assert [row[0] for row in rows] == list(TITLES.values())
    assert rows[0][1:] == ["25.0", "10.0", "0.4 ×"] and rows[-1][1:] == ["0", "3", ""]


def test_the_plot_is_a_picture(tmp_path: Path) -> None:
    plot(FIGURES, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_a_new_report_replaces_the_old_report_in_the_page() -> None:
    page = f"# A\n\n{BEGIN}\nold\n{END}\n\n## B\n"
    assert in_page(page, "new") == page.replace("old", "new") == in_page(in_page(page, "1"), "new")
    with pytest.raises(ValueError, match="no lines"):
        in_page("# A\n", "new")


def test_the_page_has_the_place() -> None:
    page = (Path(__file__).parents[3] / "docs" / "performance.md").read_text()
    assert "new" in in_page(page, "new")
