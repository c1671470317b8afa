"""A replica takes the patches that follow its position, once and in order, and nothing else; it never goes back."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from daemons.qmaster.shadow.replica import OutOfStepError, Replica
from daemons.qmaster.spooling import ended_payloads, spool_file
from daemons.qmaster.spooling.patches import Patch
from daemons.qmaster.spooling.spool_file import SpoolError, SpoolPosition
from tests.unit.shadow.replicated_cell import CELL_ID, ReplicatedCell, tables


def four_patches(cell: ReplicatedCell, replica: Replica) -> tuple[SpoolPosition, list[Patch]]:
    """The position of a replica, and the patches that follow it."""
    cell.whole(replica)
    position = replica.position()
    for _ in range(4):
        cell.submit()
    found = cell.patches.after(position, 2**20)
    assert found is not None and len(found[1]) == 4
    return position, found[1]


def test_at_first_there_is_no_replica(replica: Replica) -> None:
    assert replica.position() == (0, 0)
    with pytest.raises(OutOfStepError):
        replica.apply(0, [Patch(1, b"")])


def test_patches_that_are_there_already_are_skipped(cell: ReplicatedCell, replica: Replica) -> None:
    position, patches = four_patches(cell, replica)
    assert replica.apply(position.incarnation, patches[:3]).commit == position.commit + 3
    assert replica.apply(position.incarnation, patches[:2]).commit == position.commit + 3
    assert replica.apply(position.incarnation, patches[1:]) == cell.master.spool.position
    assert replica.apply(position.incarnation, []) == cell.master.spool.position
    assert tables(replica.path) == tables(cell.master.spool.path)


def test_gaps_and_patches_out_of_order_and_of_another_master_are_refused(cell: ReplicatedCell, replica: Replica) -> None:
    position, patches = four_patches(cell, replica)
    before = tables(replica.path)
    for incarnation, wrong in (
        (position.incarnation, patches[1:]),
        (position.incarnation, [patches[0], patches[2]]),
        (position.incarnation, [patches[1], patches[0]]),
        (position.incarnation, [patches[0], patches[0]]),
        (position.incarnation - 1, patches),
        (position.incarnation + 1, patches),
    ):
        with pytest.raises(OutOfStepError):
            replica.apply(incarnation, wrong)
        assert replica.position() == position
    assert tables(replica.path) == before


def test_patches_are_written_all_or_none(cell: ReplicatedCell, replica: Replica) -> None:
    """A full disk does not mean that the replica is damaged."""
    position, patches = four_patches(cell, replica)
    cell.submit(binary=False, script="x" * 100_000)
    found = cell.patches.after(position, 2**20)
    assert found is not None and len(found[1]) == 5
    before = tables(replica.path)
    assert replica._db is not None
    (pages,) = replica._db.execute("pragma page_count").fetchall()[0]
    replica._db.execute(f"pragma max_page_count={pages + 5}")
    with pytest.raises(SpoolError):
        replica.apply(position.incarnation, found[1])
    assert (replica.position(), tables(replica.path)) == (position, before)
    assert replica.apply(position.incarnation, patches).commit == position.commit + 4
    replica._db.execute("pragma max_page_count=1000000")
    assert replica.apply(position.incarnation, found[1]) == cell.master.spool.position


@pytest.mark.parametrize(
    "change", ["delete from payload", "insert into journal select max(revision) + 2, 0, '', '', '' from journal"]
)
def test_a_replica_that_differs_from_the_spool_is_removed(
    cell: ReplicatedCell, replica: Replica, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program has written to it: patches meet rows that they do not expect."""
    monkeypatch.setattr(ended_payloads, "KEPT_JOBS", 0)  # the payload of an ended job goes at once
    job = cell.submit()
    position, _ = four_patches(cell, replica)
    foreign = apsw.Connection(str(replica.path))
    foreign.execute(change)
    foreign.close()
    cell.ask("delete_jobs", targets=[str(job)])
    found = cell.patches.after(position, 2**20)
    assert found is not None
    with pytest.raises(OutOfStepError):
        replica.apply(position.incarnation, found[1])
    assert replica.position() == (0, 0)
    assert not any(replica.path.parent.iterdir())
    cell.whole(replica)
    assert tables(replica.path) == tables(cell.master.spool.path)


def test_acknowledged_commits_outlive_the_process(cell: ReplicatedCell, replica: Replica, tmp_path: Path) -> None:
    position, patches = four_patches(cell, replica)
    reached = replica.apply(position.incarnation, patches)
    killed = tmp_path / "killed"
    shutil.copytree(replica.path.parent, killed)
    assert Replica(killed, CELL_ID).position() == reached
    assert tables(killed / "spool.db") == tables(cell.master.spool.path)


@pytest.mark.parametrize("readable", [True, False])
def test_a_whole_copy_replaces_a_replica_with_side_files(cell: ReplicatedCell, replica: Replica, readable: bool) -> None:
    """The side files of a killed daemon belong to the old replica only, also if that cannot be read."""
    position, patches = four_patches(cell, replica)
    replica.apply(position.incarnation, patches[:1])
    sides = [replica.path.with_name(f"{replica.path.name}{side}") for side in ("-wal", "-shm")]
    kept = [side.read_bytes() for side in sides]
    replica._disconnect()
    for side, data in zip(sides, kept, strict=True):
        side.write_bytes(data)
    if not readable:
        replica.path.write_bytes(b"x" * 5000)
    cell.submit()
    cell.whole(replica)
    assert replica.position() == cell.master.spool.position
    assert tables(replica.path) == tables(cell.master.spool.path)
    assert not spool_file.find_damage(replica.path)


def test_a_transfer_that_is_cut_off_leaves_the_replica_unchanged(cell: ReplicatedCell, replica: Replica) -> None:
    position, _ = four_patches(cell, replica)
    before = tables(replica.path)
    whole = cell.directory / "whole"
    spool_file.copy(cell.master.spool.path, whole)
    data = whole.read_bytes()
    for length in (0, 50, 4096, 5000, len(data) - 4096, len(data) - 1):
        draft = replica.draft()
        draft.write_bytes(data[:length])
        with pytest.raises(SpoolError):
            replica.install(draft)
        assert (replica.position(), tables(replica.path)) == (position, before)
    draft = replica.draft()
    assert not draft.exists()
    draft.write_bytes(data)
    assert replica.install(draft) == cell.master.spool.position


def test_an_older_spool_and_one_of_another_cell_are_refused(cell: ReplicatedCell, replica: Replica, tmp_path: Path) -> None:
    """The older one comes from a former master that does not know it yet."""
    cell.whole(replica)
    older = replica.draft()
    spool_file.copy(cell.master.spool.path, older)
    data = older.read_bytes()
    cell.restart()
    cell.bring_up(replica)
    position = replica.position()
    replica.draft().write_bytes(data)
    with pytest.raises(OutOfStepError):
        replica.install(older)
    assert replica.position() == position
    other = Replica(tmp_path / "other", "07")
    with pytest.raises(SpoolError):
        cell.whole(other)
    assert other.position() == (0, 0)


def test_a_closed_replica_is_one_file_and_accepts_no_change(cell: ReplicatedCell, replica: Replica) -> None:
    position, patches = four_patches(cell, replica)
    replica.apply(position.incarnation, patches[:1])
    replica.close()
    assert [path.name for path in replica.path.parent.iterdir()] == ["spool.db"]
    with pytest.raises(SpoolError):
        replica.apply(position.incarnation, patches[1:])
    with pytest.raises(SpoolError):
        cell.whole(replica)
    assert spool_file.position(replica.path).commit == position.commit + 1
