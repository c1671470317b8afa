"""The changes of each commit of the spool arrive in a replica; if patches do not suffice, it is transferred again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from daemons.qmaster.decision import Receipt
from daemons.qmaster.shadow.replica import OutOfStepError, Replica
from daemons.qmaster.spooling import spool_file, spool_versions
from daemons.qmaster.spooling.answer_table import KEEP_S
from daemons.qmaster.spooling.followed_file import NOTE_S
from daemons.qmaster.spooling.history_table import AT_ONCE
from daemons.qmaster.spooling.patches import MalformedFramesError, Patch, RecentPatches, decode_frames, encode_frames
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError, SpoolPosition
from daemons.qmaster.transaction import Transaction
from gridengine.protocols.gdi.requests import Caller, decode_request
from gridengine.state.machines.job import HoldsChanged
from gridengine.state.state import State
from gridengine.values.ranges import Ranges
from tests.unit.shadow.replicated_cell import ReplicatedCell, tables

FULL = 4000
"""Transactions in a journal that a snapshot is to replace."""


def run_job(cell: ReplicatedCell) -> None:
    """A script with an environment, to its end: journal, payload, accounting, reporting."""
    job = cell.submit(binary=False, script=b"#!/bin/sh\n" + bytes(range(256)), environment={"A": "\u00e4\n"})
    cell.cycle()
    cell.end(job)


def configure(cell: ReplicatedCell) -> None:
    """The history of the configuration; from then on lines for the reporting file."""
    cell.configure("configuration", "global", reporting_params="reporting=true joblog=true")


def write_and_forget_lines(cell: ReplicatedCell) -> None:
    configure(cell)
    run_job(cell)
    assert cell.master.spool.last_record()
    for _ in range(3):
        cell.pass_time(NOTE_S + 1)
    assert not list(cell.master.spool.records(0)), "they are in the file and forgotten"


def write_histories(cell: ReplicatedCell) -> None:
    for _ in range(AT_ONCE):
        cell.submit()
    assert tables(cell.master.spool.path)["story"]


def reserve(cell: ReplicatedCell) -> None:
    answer = cell.admin("reserve", start_time=cell.now + 10, end_time=cell.now + 60)
    assert answer.status == 0, answer.answers
    assert tables(cell.master.spool.path)["held_slots"]


def make_snapshots(cell: ReplicatedCell) -> None:
    for _ in range(2):
        cell.submit()
        cell.master.spool.snapshot(cell.state)
    assert not tables(cell.master.spool.path)["journal"]


def remember_facts(cell: ReplicatedCell) -> None:
    for value in ("1", "", "2"):
        cell.master.spool.remember("fact", value)


def answer_under_keys(cell: ReplicatedCell) -> None:
    """And forget the answers when they are old."""
    for number in range(3):
        request = decode_request("submit", b'{"binary":true,"script_file":"/bin/true"}')
        caller = Caller("alice", 1001, "users", 1001, "h1")
        decision = cell.master.decide("submit", request, caller)
        decision.receipt = Receipt("alice", f"key{number}", b"\0request", b"")
        cell.master.record(decision, caller)
        cell.master.flush()
        cell.now += KEEP_S / 2
    assert len(tables(cell.master.spool.path)["answered"]) == 3
    cell.master.spool.begin(int(cell.now * 1000))
    assert len(tables(cell.master.spool.path)["answered"]) == 1


def start_again(cell: ReplicatedCell) -> None:
    """A new qmaster on the same spool continues at the position of the earlier one, and so do the replicas."""
    before = cell.patches.last
    cell.restart()
    assert cell.patches.base == before
    assert cell.patches.last.incarnation > before.incarnation


WRITES = [
    run_job, configure, write_and_forget_lines, write_histories, reserve, make_snapshots, remember_facts,
    answer_under_keys, start_again,
]


@pytest.mark.statement("SH-2")
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_all_that_is_written_arrives(cell: ReplicatedCell, replica: Replica, write: Callable[[ReplicatedCell], None]) -> None:
    cell.whole(replica)
    before = replica.position()
    write(cell)
    cell.bring_up(replica)
    assert replica.position() == cell.master.spool.position > before
    assert tables(replica.path) == tables(cell.master.spool.path)
    replica.close()
    taken_over = Spool(replica.path, "5f")
    assert taken_over.load().snapshot() == cell.master.spool.load().snapshot()
    assert taken_over.last_record() == cell.master.spool.last_record()


def test_a_full_journal_that_a_snapshot_replaces_is_a_small_patch(tmp_path: Path, replica: Replica) -> None:
    path = tmp_path / "spool.db"
    spool_file.mark(path, "5f")
    spool = Spool(path, keep_journal=FULL)
    patches = RecentPatches(spool.position)
    spool.follow(patches.add)
    events = [HoldsChanged(7, Ranges.of([1]), 1)]
    spool.commit([Transaction(number, 1.0, "alice", "h1", list(events)) for number in range(1, FULL + 1)])
    draft = replica.draft()
    spool_file.copy(path, draft)
    position = replica.install(draft)
    assert position == spool.position
    assert spool.is_snapshot_due
    state = State()
    state.revision = FULL
    spool.snapshot(state)
    found = patches.after(position, 1)
    assert found is not None and len(found[1]) == 1
    assert len(found[1][0].patchset) < 20 * FULL
    replica.apply(position.incarnation, found[1])
    assert tables(replica.path) == tables(path)
    assert not tables(path)["journal"]


def test_a_follower_receives_only_commits(tmp_path: Path) -> None:
    """No failed commit, and none without a change; the commits are numbered without a gap."""
    spool = Spool(tmp_path / "spool.db")
    heard: list[SpoolPosition] = []
    spool.remember("fact", "1")
    assert spool.position == (0, 0), "without a listener nothing is counted"
    spool.follow(lambda position, patchset: heard.append(position))
    spool.commit([Transaction(1, 1.0, "alice", "h1", [])])
    with pytest.raises(SpoolError):
        spool.commit([Transaction(2, 1.0, "alice", "h1", []), Transaction(1, 1.0, "alice", "h1", [])])
    spool.forget_records(5)
    spool.remember("fact", "2")
    assert heard == [(0, 1), (0, 2)]
    assert spool.position == (0, 2)
    assert spool_file.position(spool.path) == (0, 2)


def test_no_patches_lead_over_a_change_of_the_tables(cell: ReplicatedCell, replica: Replica) -> None:
    """A later release changes the tables or the version of their contents: older replicas are transferred again."""
    cell.whole(replica)
    position = replica.position()
    for change in ("drop table history", f"update meta set value='1' where key='{spool_versions.KEY}'"):
        cell.master.spool.close()
        db = spool_file.connect(cell.master.spool.path)
        db.execute(change)
        db.close()
        cell.start()
        assert cell.patches.base == (position.incarnation, position.commit + 1)
        assert cell.patches.after(position, 1) is None
        with pytest.raises(OutOfStepError):
            replica.apply(position.incarnation, cell.patches.after(cell.patches.base, 1)[1])  # type: ignore[index]
        position = cell.patches.last


def test_a_master_that_was_not_followed_leaves_no_way_from_before_it(cell: ReplicatedCell, replica: Replica) -> None:
    cell.whole(replica)
    before = cell.master.spool.position
    cell.master.spool.close()
    spool = Spool(cell.master.spool.path)
    spool.begin(before.incarnation)
    spool.remember("fact", "which nobody hears of")
    spool.close()
    cell.start()
    assert cell.patches.base.commit == before.commit
    assert cell.patches.after(before, 1) is None


def test_recent_patches_are_dropped_from_the_oldest_on() -> None:
    patches = RecentPatches(SpoolPosition(5, 10), most_bytes=100)
    for number in range(11, 16):
        patches.add(SpoolPosition(5, number), b"x" * 40)
    assert (patches.base, patches.last) == ((5, 13), (5, 15))
    assert patches.after(SpoolPosition(5, 12), 1) is None
    assert patches.after(SpoolPosition(4, 13), 1) is None
    assert patches.after(SpoolPosition(5, 16), 1) is None
    assert patches.after(SpoolPosition(5, 13), 1) == ((5, 14), [Patch(14, b"x" * 40)])
    assert patches.after(SpoolPosition(5, 13), 80) == ((5, 15), [Patch(14, b"x" * 40), Patch(15, b"x" * 40)])
    assert patches.after(SpoolPosition(5, 15), 80) == ((5, 15), [])
    patches.add(SpoolPosition(5, 16), b"y" * 1000)
    assert patches.after(SpoolPosition(5, 15), 1) == ((5, 16), [Patch(16, b"y" * 1000)]), "the newest is kept whatever its size"


def test_frames_are_read_back_and_a_torn_one_is_refused() -> None:
    patches = [Patch(1, b""), Patch(2**40, b"\0" * 300)]
    frames = encode_frames(patches)
    assert decode_frames(frames) == patches
    for length in (5, 20, len(frames) - 1):
        with pytest.raises(MalformedFramesError):
            decode_frames(frames[:length])


def test_a_copy_is_consistent_while_the_master_writes(
    cell: ReplicatedCell, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit made while pages are copied is not in the copy, and follows as a patch."""
    cell.submit()
    at = cell.master.spool.position
    monkeypatch.setattr(spool_file, "BACKUP_PAGES", 1)
    step = apsw.Backup.step

    class Copying(apsw.Connection):
        """Lets a commit happen in the middle of a backup."""

        def backup(self, *arguments: str) -> apsw.Backup:  # type: ignore[override]
            backup = super().backup(*arguments)  # type: ignore[arg-type]
            step(backup, 1)
            cell.submit()
            return backup

    monkeypatch.setattr(apsw, "Connection", Copying)
    cell.whole(replica)
    monkeypatch.undo()
    assert replica.position() == at < cell.master.spool.position
    cell.bring_up(replica)
    assert tables(replica.path) == tables(cell.master.spool.path)
