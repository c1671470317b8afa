"""A copy takes what follows on it, once and in order, and nothing else; it is never less than it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from daemons.qmaster.shadow.replica import OutOfStep, Replica
from daemons.qmaster.spooling import ended_payloads, spool_file
from daemons.qmaster.spooling.patches import Patch
from daemons.qmaster.spooling.spool_file import SpoolError, SpoolPosition
from tests.unit.shadow.replicated_cell import CELL_ID, ReplicatedCell, tables


def four_patches(cell: ReplicatedCell, copy: Replica) -> tuple[SpoolPosition, list[Patch]]:
    """A copy, where it is, and what follows on it."""
    cell.whole(copy)
    position = copy.position()
    for _ in range(4):
        cell.submit()
    found = cell.patches.after(position, 2**20)
    assert found is not None and len(found[1]) == 4
    return position, found[1]


def test_there_is_nothing_at_first(copy: Replica) -> None:
    assert copy.position() == (0, 0)
    with pytest.raises(OutOfStep):
        copy.apply(0, [Patch(1, b"")])


def test_what_is_there_already_is_passed_over(cell: ReplicatedCell, copy: Replica) -> None:
    position, patches = four_patches(cell, copy)
    assert copy.apply(position.incarnation, patches[:3]).commit == position.commit + 3
    assert copy.apply(position.incarnation, patches[:2]).commit == position.commit + 3
    assert copy.apply(position.incarnation, patches[1:]) == cell.master.spool.position
    assert copy.apply(position.incarnation, []) == cell.master.spool.position
    assert tables(copy.path) == tables(cell.master.spool.path)


def test_gaps_and_patches_out_of_order_and_of_another_master_are_refused(cell: ReplicatedCell, copy: Replica) -> None:
    position, patches = four_patches(cell, copy)
    before = tables(copy.path)
    for incarnation, wrong in (
        (position.incarnation, patches[1:]),
        (position.incarnation, [patches[0], patches[2]]),
        (position.incarnation, [patches[1], patches[0]]),
        (position.incarnation, [patches[0], patches[0]]),
        (position.incarnation - 1, patches),
        (position.incarnation + 1, patches),
    ):
        with pytest.raises(OutOfStep):
            copy.apply(incarnation, wrong)
        assert copy.position() == position
    assert tables(copy.path) == before


def test_patches_are_written_all_or_none(cell: ReplicatedCell, copy: Replica) -> None:
    """A disk that is full says nothing against the copy."""
    position, patches = four_patches(cell, copy)
    cell.submit(binary=False, script="x" * 100_000)
    found = cell.patches.after(position, 2**20)
    assert found is not None and len(found[1]) == 5
    before = tables(copy.path)
    assert copy._db is not None
    (pages,) = copy._db.execute("pragma page_count").fetchall()[0]
    copy._db.execute(f"pragma max_page_count={pages + 5}")
    with pytest.raises(SpoolError):
        copy.apply(position.incarnation, found[1])
    assert (copy.position(), tables(copy.path)) == (position, before)
    assert copy.apply(position.incarnation, patches).commit == position.commit + 4
    copy._db.execute("pragma max_page_count=1000000")
    assert copy.apply(position.incarnation, found[1]) == cell.master.spool.position


@pytest.mark.parametrize(
    "change", ["delete from payload", "insert into journal select max(revision) + 2, 0, '', '', '' from journal"]
)
def test_a_copy_that_is_none_is_removed(
    cell: ReplicatedCell, copy: Replica, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has written into it: patches meet rows that they don't expect."""
    monkeypatch.setattr(ended_payloads, "KEPT_JOBS", 0)  # the payload of an ended job goes at once
    job = cell.submit()
    position, _ = four_patches(cell, copy)
    foreign = apsw.Connection(str(copy.path))
    foreign.execute(change)
    foreign.close()
    cell.ask("delete_jobs", targets=[str(job)])
    found = cell.patches.after(position, 2**20)
    assert found is not None
    with pytest.raises(OutOfStep):
        copy.apply(position.incarnation, found[1])
    assert copy.position() == (0, 0)
    assert not any(copy.path.parent.iterdir())
    cell.whole(copy)
    assert tables(copy.path) == tables(cell.master.spool.path)


def test_what_was_acknowledged_outlives_the_process(cell: ReplicatedCell, copy: Replica, tmp_path: Path) -> None:
    position, patches = four_patches(cell, copy)
    reached = copy.apply(position.incarnation, patches)
    killed = tmp_path / "killed"
    shutil.copytree(copy.path.parent, killed)
    assert Replica(killed, CELL_ID).position() == reached
    assert tables(killed / "spool.db") == tables(cell.master.spool.path)


@pytest.mark.parametrize("readable", [True, False])
def test_a_whole_copy_takes_the_place_of_one_with_side_files(cell: ReplicatedCell, copy: Replica, readable: bool) -> None:
    """What a killed daemon left in them belongs to the old one alone, also if that cannot be read."""
    position, patches = four_patches(cell, copy)
    copy.apply(position.incarnation, patches[:1])
    sides = [copy.path.with_name(f"{copy.path.name}{side}") for side in ("-wal", "-shm")]
    kept = [side.read_bytes() for side in sides]
    copy._disconnect()
    for side, data in zip(sides, kept, strict=True):
        side.write_bytes(data)
    if not readable:
        copy.path.write_bytes(b"x" * 5000)
    cell.submit()
    cell.whole(copy)
    assert copy.position() == cell.master.spool.position
    assert tables(copy.path) == tables(cell.master.spool.path)
    assert not spool_file.damage(copy.path)


def test_a_transfer_that_ends_in_the_middle_leaves_the_copy_as_it_was(cell: ReplicatedCell, copy: Replica) -> None:
    position, _ = four_patches(cell, copy)
    before = tables(copy.path)
    whole = cell.directory / "whole"
    spool_file.copy(cell.master.spool.path, whole)
    data = whole.read_bytes()
    for length in (0, 50, 4096, 5000, len(data) - 4096, len(data) - 1):
        draft = copy.draft()
        draft.write_bytes(data[:length])
        with pytest.raises(SpoolError):
            copy.install(draft)
        assert (copy.position(), tables(copy.path)) == (position, before)
    draft = copy.draft()
    assert not draft.exists()
    draft.write_bytes(data)
    assert copy.install(draft) == cell.master.spool.position


def test_an_older_spool_and_one_of_another_cell_are_refused(cell: ReplicatedCell, copy: Replica, tmp_path: Path) -> None:
    """The older one comes from a master that does not know yet that it is none."""
    cell.whole(copy)
    older = copy.draft()
    spool_file.copy(cell.master.spool.path, older)
    data = older.read_bytes()
    cell.restart()
    cell.bring_up(copy)
    position = copy.position()
    copy.draft().write_bytes(data)
    with pytest.raises(OutOfStep):
        copy.install(older)
    assert copy.position() == position
    other = Replica(tmp_path / "other", "07")
    with pytest.raises(SpoolError):
        cell.whole(other)
    assert other.position() == (0, 0)


def test_a_closed_copy_is_one_file_and_takes_nothing_more(cell: ReplicatedCell, copy: Replica) -> None:
    position, patches = four_patches(cell, copy)
    copy.apply(position.incarnation, patches[:1])
    copy.close()
    assert [path.name for path in copy.path.parent.iterdir()] == ["spool.db"]
    with pytest.raises(SpoolError):
        copy.apply(position.incarnation, patches[1:])
    with pytest.raises(SpoolError):
        cell.whole(copy)
    assert spool_file.position(copy.path).commit == position.commit + 1
