"""The stories of jobs in the spool: written many at once, whole after any restart, and removed some time after their jobs."""

from __future__ import annotations

import apsw
import pytest
from msgspec import structs

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from daemons.qmaster.spooling import history_table
from gridengine.state.machines.event import InvalidTransitionError
from gridengine.state.machines.job import HoldsChanged, JobSubmitted
from gridengine.values.ranges import Ranges
from tests.harness import Cell

DAY_S = 86400.0


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transaction is enough to write."""
    monkeypatch.setattr(history_table, "AT_ONCE", 1)


def rows(cell: Cell) -> list[int]:
    """The jobs of the lines that are in the table."""
    query = "select job_id from story order by job_id, revision, number"
    return [job_id for (job_id,) in cell.master.spool._db.execute(query)]


def history(cell: Cell, number: int) -> list[str]:
    return [line.event for line in cell.master.job_history(number, 1000)]


def ended(cell: Cell) -> int:
    number = cell.submit()
    cell.cycle()
    cell.end(number)
    return number


def something_happens(cell: Cell) -> None:
    held = cell.submit(holds="u")
    cell.master.record(Decision(events=[HoldsChanged(held, Ranges.of([1]), cleared=1)]), DAEMON)
    cell.ask("delete_jobs", targets=[str(held)])


LIFE = ["JobSubmitted", "TaskDispatched", "TaskStarted", "TaskEnded"]


def test_lines_are_written_for_many_transactions_at_once(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_table, "AT_ONCE", 12)
    first = ended(cell)
    assert rows(cell) == [] and history(cell, first) == LIFE
    while not rows(cell):
        last = ended(cell)
    assert rows(cell)[:8] == [first] * 4 + [first + 1] * 4
    assert [history(cell, number) for number in range(first, last + 1)] == [LIFE] * (last + 1 - first)


@pytest.mark.statement("SP-3")
def test_unwritten_lines_are_computed_from_the_journal(cell: Cell) -> None:
    number = ended(cell)
    cell.restart()
    assert rows(cell) == [] and history(cell, number) == LIFE
    cell.master.spool.snapshot(cell.state)
    assert rows(cell) == [number] * 4 and history(cell, number) == LIFE
    cell.restart()
    assert history(cell, number) == LIFE


def test_a_restart_records_nothing_twice(cell: Cell, at_once: None) -> None:
    number = ended(cell)
    cell.restart()
    later = cell.submit(holds="u")
    assert history(cell, number) == LIFE and history(cell, later) == ["JobSubmitted"]


def test_a_transaction_that_is_undone_records_nothing_twice(cell: Cell) -> None:
    number = ended(cell)
    with pytest.raises(InvalidTransitionError):
        cell.master.record(Decision(events=[HoldsChanged(4711, Ranges.of([1]), 1)]), DAEMON)
    assert history(cell, number) == LIFE


def test_a_story_is_removed_a_time_after_its_job_is_gone(cell: Cell, at_once: None) -> None:
    gone, waiting = ended(cell), cell.submit(holds="u")
    cell.now += 29 * DAY_S
    something_happens(cell)
    assert history(cell, gone) == LIFE
    cell.now += 2 * DAY_S
    something_happens(cell)
    assert history(cell, gone) == [] and rows(cell).count(gone) == 0
    assert history(cell, waiting) == ["JobSubmitted"]
    assert cell.records(gone)  # what it used is still known


@pytest.mark.parametrize(("given", "days", "there"), [("KEEP_STORY=48:0:0", 3, False), ("KEEP_STORY=INFINITY", 400, True)])
def test_the_configuration_has_the_retention(cell: Cell, at_once: None, given: str, days: int, there: bool) -> None:
    assert cell.configure("configuration", "global", qmaster_params=given).status == 0
    gone = ended(cell)
    cell.now += days * DAY_S
    something_happens(cell)
    assert (history(cell, gone) == LIFE) == there


def test_a_later_job_of_the_same_number_keeps_its_story(cell: Cell, at_once: None) -> None:
    number = ended(cell)
    cell.now += 29 * DAY_S
    cell.master.state.next_job_id = number
    assert cell.submit(holds="u") == number
    cell.now += 2 * DAY_S
    something_happens(cell)
    assert history(cell, number) == ["JobSubmitted"]


def test_a_commit_removes_a_limited_number_of_histories(cell: Cell, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_table, "MOST_REMOVED", 2)
    old = [ended(cell) for _ in range(5)]
    cell.now += 31 * DAY_S
    counts = []
    for _ in range(3):
        cell.submit(holds="u")
        counts.append(sum(bool(history(cell, number)) for number in old))
    assert counts == [3, 1, 0]


def test_stories_that_were_written_before_are_removed_as_well(cell: Cell, at_once: None) -> None:
    """A spool of a program that wrote each line with its transaction, did not know when a story was over, and kept no payload of
    a job that had ended."""
    gone, waiting = ended(cell), cell.submit(holds="u")
    db = cell.master.spool._db
    db.execute("delete from payload where job_id=?", (gone,))
    db.execute("delete from story_end")
    db.execute("delete from meta where key='told'")
    cell.restart()
    assert history(cell, gone) == LIFE
    cell.now += 31 * DAY_S
    something_happens(cell)
    assert history(cell, gone) == [] and history(cell, waiting) == ["JobSubmitted"]


def test_a_transaction_may_be_about_more_jobs_than_sqlite_takes_parameters(cell: Cell, at_once: None) -> None:
    """SQLite permits 32,766 parameters; the test permits as many as no other statement needs."""
    cell.master.spool._db.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, 32)
    ended(cell)
    cell.submit(holds="u")
    job = cell.state.jobs[2]
    events = [JobSubmitted(structs.replace(job, id=number)) for number in range(3, 100)]
    cell.master.record(Decision(events=events), DAEMON)
    cell.master.flush()
    assert history(cell, 99) == ["JobSubmitted"]
