"""An exec host belongs to the cell that it joined first."""

from __future__ import annotations

from pathlib import Path

from daemons.execd.site import join_cell, read_cell_id

ID, OTHER = "5f" * 16, "07" * 16


def test_a_host_joins_no_master_of_another_cell(tmp_path: Path) -> None:
    assert join_cell(tmp_path, ID) == ""
    assert read_cell_id(tmp_path) == ID
    refusal = join_cell(tmp_path, OTHER)
    assert f"of the cell {OTHER}, this host belongs to {ID}" in refusal
    assert str(tmp_path / "cell_id") in refusal, "it says how to give the host away"
    assert "without an id" in join_cell(tmp_path, "")
    assert read_cell_id(tmp_path) == ID
    assert join_cell(tmp_path, ID) == ""


def test_a_host_that_never_joined_belongs_to_no_cell(tmp_path: Path) -> None:
    assert join_cell(tmp_path, "") == ""
    assert read_cell_id(tmp_path) == ""
