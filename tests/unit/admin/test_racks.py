"""The file `racks`: hosts move by `gridengine host add --rack`, and the comments of an administrator stay."""

from __future__ import annotations

import getpass
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clients.admin.cell import CellFiles, InstalledCell
from clients.admin.errors import AdminError
from clients.admin.racks import check_racks, checked_rack, place_in_rack, read_racks

WRITTEN = """\
# the left room
r7 h1 h2 h3
r8 h4  # beside the door

r7 h5
"""


@pytest.fixture
def cell(tmp_path: Path) -> InstalledCell:
    files = CellFiles(tmp_path, "c")
    files.common.mkdir(parents=True)
    (files.common / "racks").write_text(WRITTEN)
    return InstalledCell(files, {"admin_user": getpass.getuser()}, "m")


def text_of(cell: InstalledCell) -> str:
    return (cell.files.common / "racks").read_text()


def test_hosts_that_move_leave_all_other_lines_as_they_were(cell: InstalledCell) -> None:
    assert place_in_rack(cell, ["h2", "h4", "h9"], "r9") == ["h2", "h4", "h9"]
    assert text_of(cell) == "# the left room\nr7 h1 h3\n# beside the door\n\nr7 h5\nr9 h2 h4 h9\n"
    assert read_racks(cell) == {"r7": ["h1", "h3", "h5"], "r9": ["h2", "h4", "h9"]}


def test_a_host_that_is_in_the_rack_already_changes_nothing(cell: InstalledCell) -> None:
    before = (cell.files.common / "racks").stat().st_ino
    assert place_in_rack(cell, ["h1", "h5"], "r7") == []
    assert (cell.files.common / "racks").stat().st_ino == before


def test_no_rack_takes_hosts_out(cell: InstalledCell) -> None:
    assert place_in_rack(cell, ["h1", "h9"], "NONE") == ["h1"]
    assert read_racks(cell) == {"r7": ["h2", "h3", "h5"], "r8": ["h4"]}


def test_a_cell_without_the_file_gets_it_with_its_first_rack(cell: InstalledCell) -> None:
    (cell.files.common / "racks").unlink()
    assert read_racks(cell) == {} and place_in_rack(cell, ["h1"], "NONE") == []
    assert not (cell.files.common / "racks").exists()
    place_in_rack(cell, ["h1"], "r1")
    assert text_of(cell) == "r1 h1\n"


def test_hosts_that_join_at_the_same_time_are_all_in_their_rack(cell: InstalledCell) -> None:
    new = [f"n{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda host: place_in_rack(cell, [host], "r9"), new))
    assert sorted(read_racks(cell)["r9"]) == sorted(new)


def test_a_host_in_two_racks_is_refused_with_its_line_and_the_file_stays(cell: InstalledCell) -> None:
    (cell.files.common / "racks").write_text(twice := WRITTEN + "r8 h1\n")
    with pytest.raises(AdminError, match=r"racks, line 6: h1 is in rack r7 already"):
        place_in_rack(cell, ["h9"], "r8")
    assert text_of(cell) == twice


@pytest.mark.parametrize("name", ["", "NONE", "r7", "room-2.left_3", "a" * 64])
def test_these_are_names_of_racks(name: str) -> None:
    assert checked_rack(name) == name


@pytest.mark.parametrize("name", ["r 7", "#r", "-r", "a" * 65, "r/7", "r7\n"])
def test_these_are_no_names_of_racks(name: str) -> None:
    with pytest.raises(AdminError, match="a name has letters"):
        checked_rack(name)


def test_doctor_notes_a_rack_with_one_host(cell: InstalledCell) -> None:
    alone, all_racks = check_racks(cell)
    assert alone.what.startswith("rack r8 has one host, h4") and "--rack NONE" in alone.fix
    assert all_racks.what == "5 hosts in 2 racks share a Ray node a rack"
