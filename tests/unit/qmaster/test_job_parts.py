"""The jobs of snapshots: each snapshot writes the changes since the previous one, and together they equal the state."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from daemons.qmaster.spooling.job_parts import JOBS_A_PART
from daemons.qmaster.spooling.spool import Spool
from gridengine.state.jobs import Job
from gridengine.state.machines.job import HoldsChanged, JobSubmitted
from gridengine.state.parts import Assembly
from gridengine.values.ranges import Ranges
from tests.harness import Cell
from tests.past.play import perform


def filled(cell: Cell, jobs: int) -> None:
    """Pending jobs from number 1 on, in a snapshot."""
    hard = {"h_rt": "3600"}
    events = [
        JobSubmitted(Job(number, "job", "alice", 1001, "users", 100, 1.8e9, hard=hard, pending=Ranges.of([1])))
        for number in range(1, jobs + 1)
    ]
    cell.master.record(Decision(events=list(events)), DAEMON)
    cell.master.flush()
    cell.master.spool.snapshot(cell.state)


def rewritten(cell: Cell) -> int:
    """Rows that the next snapshot writes or removes."""
    counted = "select total_changes()"
    db = cell.master.spool._db
    before = db.execute(counted).fetchall()[0][0]
    cell.master.spool._jobs.write(cell.state.jobs)
    return int(db.execute(counted).fetchall()[0][0]) - int(before)


def reread(cell: Cell) -> bytes:
    """The state as the file has it."""
    return Spool(cell.directory / "spool.db").load().snapshot()


@pytest.mark.parametrize("parts", [4, 40])
def test_a_snapshot_writes_what_changed_however_many_jobs_there_are(cell: Cell, parts: int) -> None:
    filled(cell, parts * JOBS_A_PART)
    assert rewritten(cell) == 0
    cell.master.record(Decision(events=[HoldsChanged(n, Ranges.of([1]), 1) for n in (7, 8, 2 * JOBS_A_PART)]), DAEMON)
    cell.master.flush()
    assert rewritten(cell) == 2


def test_a_part_without_jobs_is_gone(cell: Cell) -> None:
    filled(cell, 2 * JOBS_A_PART)
    cell.ask("delete_jobs", "root", targets=[str(number) for number in range(JOBS_A_PART, 2 * JOBS_A_PART + 1)])
    cell.master.spool.snapshot(cell.state)
    assert len(list(cell.master.spool._jobs.read())) == 1
    cell.restart()
    assert list(cell.state.jobs) == list(range(1, JOBS_A_PART))


def test_many_snapshots_equal_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a snapshot after every few transactions of a play that brings about all that can be: nothing of it is forgotten."""
    monkeypatch.setattr("daemons.qmaster.spooling.spool.KEEP_JOURNAL", 3)
    flush = Cell._flush

    def compacted(cell: Cell) -> None:
        flush(cell)
        cell.master.compact()

    monkeypatch.setattr(Cell, "_flush", compacted)
    cell = perform(tmp_path)
    cell.master.spool.snapshot(cell.state)
    kept = reread(cell)
    for host in cell.state.hosts.values():
        host.forget()
    assert kept == cell.state.snapshot()


@pytest.mark.parametrize("snapshot", [True, False])
def test_a_mirror_is_given_the_state_of_now(cell: Cell, snapshot: bool) -> None:
    filled(cell, 3 * JOBS_A_PART)
    cell.master.record(Decision(events=[HoldsChanged(70, Ranges.of([1]), 1)]), DAEMON)
    cell.submit()
    cell.ask("delete_jobs", "root", targets=[str(number) for number in range(1, JOBS_A_PART)])
    if snapshot:
        cell.master.spool.snapshot(cell.state)
    first, *others = cell.master.spool.parts(cell.state)
    assembly = Assembly(first)
    assembly.add(others)
    assert assembly.whole().snapshot() == cell.state.snapshot()
