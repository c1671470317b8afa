"""A master begins with the spool of its own cell, and never in silence with an empty one where the cell has run before."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.spooling.cell_identity import CellIdentity, read_identity, settle
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError, make_whole
from daemons.runtime.cell import Cell, CellFault
from tests.harness import Cell as RunningCell

NOW = 1_800_000_000.0
ID, OTHER = "5f" * 16, "07" * 16


def make(directory: Path, cell_id: str = ID) -> Cell:
    """A cell as `gridengine init` leaves it, or one of an earlier version, without an id."""
    spool = directory / "spool"
    cell = Cell(directory, "cell", "root", spool, directory / "execd", directory / "run", 6444, 6446)
    cell.common.mkdir(parents=True)
    spool.mkdir()
    if cell_id:
        cell.cell_id_file.write_text(f"cell_id {cell_id}\n")
    return cell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return make(tmp_path / "one")


def run(cell: Cell, fresh: bool = False) -> int:
    """Start the cell, submit a job and stop it; the job's number."""
    settle(cell, fresh, NOW)
    running = RunningCell(cell.qmaster_spool_dir)
    assert running.master.spool.recall("cell") == read_identity(cell).id
    job = running.submit()
    running.master.spool.close()
    make_whole(cell.spool)
    return job


def kept(cell: Cell) -> set[int]:
    """The jobs in the spool."""
    return set(Spool(cell.spool, read_identity(cell).id).load().jobs)


def test_the_first_start_makes_the_spool_and_the_next_ones_take_it(cell: Cell) -> None:
    job = run(cell)
    assert read_identity(cell) == CellIdentity(ID, "2027-01-15T08:00:00+00:00")
    settle(cell, False, NOW + 100)
    assert kept(cell) == {job}
    assert read_identity(cell).first_start == "2027-01-15T08:00:00+00:00"


@pytest.mark.parametrize("how", ["missing", "empty", "without tables"])
def test_a_lost_spool_is_not_begun_anew_in_silence(cell: Cell, how: str) -> None:
    run(cell)
    cell.spool.unlink()
    if how == "empty":
        cell.spool.touch()
    elif how == "without tables":
        Spool(cell.spool)
    with pytest.raises(CellFault, match=r"but this cell has run before \(since 2027-01-15T08.*--fresh"):
        settle(cell, False, NOW)
    assert run(cell, fresh=True) == 1, "an administrator may begin anew"


def test_the_own_spool_put_back_is_taken(cell: Cell) -> None:
    job = run(cell)
    backup = cell.spool.with_name("backup")
    cell.spool.rename(backup)
    with pytest.raises(CellFault, match="missing"):
        settle(cell, False, NOW)
    backup.rename(cell.spool)
    settle(cell, False, NOW)
    assert kept(cell) == {job}


def test_a_foreign_spool_is_refused_and_left_alone(cell: Cell, tmp_path: Path) -> None:
    other = make(tmp_path / "two", OTHER)
    run(cell), run(other)
    other.spool.rename(cell.spool)
    before = cell.spool.read_bytes()
    for fresh in (False, True):
        with pytest.raises(CellFault, match=f"of another cell \\({OTHER}, this one is {ID}\\)"):
            settle(cell, fresh, NOW)
    assert cell.spool.read_bytes() == before


def test_fresh_empties_nothing(cell: Cell) -> None:
    job = run(cell)
    with pytest.raises(CellFault, match="move it away before you start with --fresh"):
        settle(cell, True, NOW)
    assert kept(cell) == {job}


def test_the_log_of_a_spool_that_is_gone_does_not_get_into_the_next(cell: Cell) -> None:
    run(cell)
    cell.spool.unlink()
    cell.spool.with_name("spool.db-wal").write_bytes(b"old")
    with pytest.raises(CellFault, match="spool.db-wal is left of a spool that is gone"):
        settle(cell, True, NOW)


def test_a_start_that_died_between_its_steps_is_just_repeated(cell: Cell) -> None:
    """The spool was marked, perhaps the first start noted, but no transaction was made."""
    settle(cell, False, NOW)
    settle(cell, False, NOW)
    assert run(cell) == 1


def test_cells_of_earlier_versions_get_an_id_without_fuss(tmp_path: Path) -> None:
    old = make(tmp_path / "old", "")
    RunningCell(old.qmaster_spool_dir).submit()
    settle(old, False, NOW)
    identity = read_identity(old)
    assert len(identity.id) == 32 and identity.first_start
    assert kept(old) == {1}
    settle(old, False, NOW)
    assert read_identity(old) == identity


def test_the_spool_tells_a_cell_whose_common_directory_was_made_again_its_id(cell: Cell) -> None:
    job = run(cell)
    cell.cell_id_file.unlink()
    settle(cell, False, NOW)
    assert read_identity(cell).id == ID
    assert kept(cell) == {job}


def test_an_earlier_version_that_has_accounting_records_has_run(tmp_path: Path) -> None:
    old = make(tmp_path / "old", "")
    (old.common / "accounting").touch()
    with pytest.raises(CellFault, match="it has accounting records"):
        settle(old, False, NOW)


def test_a_master_that_is_started_again_takes_no_other_spool(cell: Cell, tmp_path: Path) -> None:
    """Ray starts the actor again by itself: what was taken away or exchanged meanwhile ends in a refusal, not in a new cell."""
    run(cell)
    cell.spool.unlink()
    with pytest.raises(SpoolError, match="is gone"):
        Spool(cell.spool, ID)
    assert not cell.spool.exists()
    run(other := make(tmp_path / "two", OTHER))
    with pytest.raises(SpoolError, match=f"is not of the cell {ID}"):
        Spool(other.spool, ID)


def test_an_unreadable_id_is_named(cell: Cell) -> None:
    cell.cell_id_file.write_text("first_start never\n")
    with pytest.raises(CellFault, match="does not say cell_id"):
        settle(cell, False, NOW)
