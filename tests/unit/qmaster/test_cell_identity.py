"""A master starts with the spool of its own cell, and never silently with an empty spool if the cell has run before."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.spooling.cell_identity import CellIdentity, claim_spool, read_identity
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError, merge_log
from daemons.runtime.cell import Cell, CellError
from tests.harness import Cell as RunningCell

NOW = 1_800_000_000.0
ID, OTHER = "5f" * 16, "07" * 16


def make(directory: Path, cell_id: str = ID) -> Cell:
    """A cell as `gridengine init` creates it, or a cell of an earlier version, without an id."""
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
    """Start the cell, submit a job and stop the cell; returns the job number."""
    claim_spool(cell, fresh, NOW)
    running = RunningCell(cell.qmaster_spool_dir)
    assert running.master.spool.recall("cell") == read_identity(cell).id
    job = running.submit()
    running.master.spool.close()
    merge_log(cell.spool)
    return job


def kept(cell: Cell) -> set[int]:
    """The jobs in the spool."""
    return set(Spool(cell.spool, read_identity(cell).id).load().jobs)


def test_the_first_start_creates_the_spool_and_later_starts_use_it(cell: Cell) -> None:
    job = run(cell)
    assert read_identity(cell) == CellIdentity(ID, "2027-01-15T08:00:00+00:00")
    claim_spool(cell, False, NOW + 100)
    assert kept(cell) == {job}
    assert read_identity(cell).first_start == "2027-01-15T08:00:00+00:00"


@pytest.mark.parametrize("how", ["missing", "empty", "without tables"])
def test_a_lost_spool_is_not_silently_replaced_by_an_empty_spool(cell: Cell, how: str) -> None:
    run(cell)
    cell.spool.unlink()
    if how == "empty":
        cell.spool.touch()
    elif how == "without tables":
        Spool(cell.spool)
    with pytest.raises(CellError, match=r"but this cell has run before \(since 2027-01-15T08.*--fresh"):
        claim_spool(cell, False, NOW)
    assert run(cell, fresh=True) == 1, "an administrator may begin anew"


def test_a_restored_spool_of_the_cell_is_accepted(cell: Cell) -> None:
    job = run(cell)
    backup = cell.spool.with_name("backup")
    cell.spool.rename(backup)
    with pytest.raises(CellError, match="missing"):
        claim_spool(cell, False, NOW)
    backup.rename(cell.spool)
    claim_spool(cell, False, NOW)
    assert kept(cell) == {job}


def test_a_foreign_spool_is_refused_and_not_changed(cell: Cell, tmp_path: Path) -> None:
    other = make(tmp_path / "two", OTHER)
    run(cell), run(other)
    other.spool.rename(cell.spool)
    before = cell.spool.read_bytes()
    for fresh in (False, True):
        with pytest.raises(CellError, match=f"of another cell \\({OTHER}, this one is {ID}\\)"):
            claim_spool(cell, fresh, NOW)
    assert cell.spool.read_bytes() == before


def test_fresh_empties_nothing(cell: Cell) -> None:
    job = run(cell)
    with pytest.raises(CellError, match="move it away before you start with --fresh"):
        claim_spool(cell, True, NOW)
    assert kept(cell) == {job}


def test_the_log_of_a_missing_spool_is_not_used_with_the_next_spool(cell: Cell) -> None:
    run(cell)
    cell.spool.unlink()
    cell.spool.with_name("spool.db-wal").write_bytes(b"old")
    with pytest.raises(CellError, match="spool.db-wal is left of a spool that is gone"):
        claim_spool(cell, True, NOW)


def test_a_start_that_died_between_its_steps_can_be_repeated(cell: Cell) -> None:
    """The spool has its mark, perhaps also the time of the first start, but no transaction."""
    claim_spool(cell, False, NOW)
    claim_spool(cell, False, NOW)
    assert run(cell) == 1


def test_cells_of_earlier_versions_get_an_id(tmp_path: Path) -> None:
    old = make(tmp_path / "old", "")
    RunningCell(old.qmaster_spool_dir).submit()
    claim_spool(old, False, NOW)
    identity = read_identity(old)
    assert len(identity.id) == 32 and identity.first_start
    assert kept(old) == {1}
    claim_spool(old, False, NOW)
    assert read_identity(old) == identity


def test_a_new_common_directory_gets_the_cell_id_of_the_spool(cell: Cell) -> None:
    job = run(cell)
    cell.cell_id_file.unlink()
    claim_spool(cell, False, NOW)
    assert read_identity(cell).id == ID
    assert kept(cell) == {job}


def test_a_cell_of_an_earlier_version_with_accounting_records_has_run(tmp_path: Path) -> None:
    old = make(tmp_path / "old", "")
    (old.common / "accounting").touch()
    with pytest.raises(CellError, match="it has accounting records"):
        claim_spool(old, False, NOW)


def test_a_restarted_master_accepts_no_other_spool(cell: Cell, tmp_path: Path) -> None:
    """Ray restarts the actor by itself: if the spool was removed or exchanged meanwhile, the actor refuses to start."""
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
    with pytest.raises(CellError, match="lacks cell_id"):
        claim_spool(cell, False, NOW)
