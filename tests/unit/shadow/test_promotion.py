"""With which spool a host becomes the master, and what it leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.shadow import promotion
from daemons.qmaster.spooling import spool_file
from daemons.runtime.cell import Cell, CellError, read_cell

CELL_ID = "c" * 32


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """A cell of two hosts, m and s; this is s, with keys of its own as an exec host."""
    common = tmp_path / "c" / "common"
    common.mkdir(parents=True)
    (common / "act_qmaster").write_text("m\n")
    (common / "cell_id").write_text(f"cell_id {CELL_ID}\nfirst_start 2026-01-01T00:00:00+00:00\n")
    (common / "bootstrap").write_text(
        f"admin_user root\nqmaster_spool_dir {tmp_path}/q\nexecd_spool_dir {tmp_path}/e\nrun_dir {tmp_path}/run\n"
        "qmaster_port 1\nray_port 2\n"
    )
    keys = tmp_path / "e" / "s" / "keys"
    keys.mkdir(parents=True)
    (keys / "gdi_key").write_text("key of s")
    return read_cell({"SGE_ROOT": str(tmp_path), "SGE_CELL": "c"})


def spool(path: Path, incarnation: int, commit: int, **facts: str) -> None:
    """A spool at a position."""
    db = spool_file.connect(path)
    db.execute("create table journal(revision); insert into journal values(1)")
    for key, value in {"cell": CELL_ID, "incarnation": str(incarnation), "commit": str(commit), **facts}.items():
        spool_file.remember(db, key, value)
    db.close()


def copy_of(cell: Cell) -> Path:
    return promotion.shadow_directory(cell) / "spool.db"


@pytest.mark.statement("SH-2")
def test_the_replica_replaces_an_older_spool(cell: Cell) -> None:
    spool(cell.spool, 5, 120)
    spool(copy_of(cell), 6, 3, voters='[["h1","m","s"]]')
    assert promotion.voters(cell) == (frozenset(("h1", "m", "s")),)
    promotion.become_leader(cell, "s")
    assert spool_file.position(cell.spool) == (6, 3)
    assert not copy_of(cell).exists()
    assert spool_file.position(cell.qmaster_spool_dir / "superseded" / "spool.db") == (5, 120)
    assert cell.master_host() == "s"
    assert (cell.qmaster_spool_dir / "keys" / "gdi_key").read_text() == "key of s"


@pytest.mark.parametrize(("own", "copied"), [((6, 4), (6, 3)), ((7, 0), (6, 3)), ((6, 3), (6, 3))])
def test_a_spool_that_is_not_older_stays(cell: Cell, own: tuple[int, int], copied: tuple[int, int]) -> None:
    spool(cell.spool, *own)
    spool(copy_of(cell), *copied)
    promotion.become_leader(cell, "s")
    assert spool_file.position(cell.spool) == own
    assert not (cell.qmaster_spool_dir / "superseded").exists()


def test_a_promotion_killed_between_its_renames_is_completed_by_the_next(cell: Cell) -> None:
    spool(copy_of(cell), 6, 3)  # the older spool has moved already
    promotion.become_leader(cell, "s")
    assert spool_file.position(cell.spool) == (6, 3)


def test_a_replica_of_another_cell_is_refused(cell: Cell) -> None:
    spool(copy_of(cell), 6, 3, cell="d" * 32)
    with pytest.raises(CellError, match="of another cell"):
        promotion.become_leader(cell, "s")
    assert cell.master_host() == "m"


def test_a_host_without_a_spool_has_no_voters(cell: Cell) -> None:
    assert promotion.voters(cell) == ()
    assert promotion.position(cell) == (0, 0)
