"""The tables of the machines: valid events by state, and the refusal of invalid ones."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.qmaster.transaction import Transaction
from gridengine.state.apply import CHECKS, HANDLERS, apply
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Grant
from gridengine.state.machines import task
from gridengine.state.machines.event import Event, InvalidTransitionError
from gridengine.state.machines.job import HoldsChanged, PendingTasksDeleted
from gridengine.state.machines.reservation import ReservationStarted
from gridengine.state.machines.slave import SlaveRequested
from gridengine.state.machines.task import MasterEnded, TaskDeletionRequested, TaskDispatched, TaskEnded, TaskErrorCleared
from gridengine.state.slaves import MasterEnd, SlaveTask
from gridengine.values.ranges import Ranges
from tests.harness import Cell

EVENTS = get_args(AnyEvent)
NOW = 1_800_000_100.0


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_each_event_has_a_handler_and_a_name_in_the_journal(event: type[Event]) -> None:
    assert event in HANDLERS
    assert event.__doc__ or event.__struct_fields__
    assert event.__struct_config__.tag_field == "event"


def test_each_event_of_a_task_or_reservation_has_rows() -> None:
    """Events about one task, slave task, job or reservation depend on its state; none is forgotten."""
    about_one = {event for event in EVENTS if {"job_id", "job", "ar_id", "reservation"} & set(event.__struct_fields__)}
    assert about_one == set(CHECKS)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


def running(cell: Cell) -> int:
    job = cell.submit()
    cell.cycle()
    return job


def refused(cell: Cell, event: AnyEvent) -> str:
    """The event is refused, and the state is as before."""
    before = cell.state.snapshot()
    with pytest.raises(InvalidTransitionError) as raised:
        apply(cell.state, event)
    assert cell.state.snapshot() == before
    return raised.value.was


def test_invalid_events_are_refused(cell: Cell) -> None:
    job, waiting = running(cell), cell.submit(holds="u")
    place = [Grant("all.q@h2", 1)]
    assert refused(cell, TaskDispatched(job, 1, 2, place, NOW)) == "running"
    assert refused(cell, TaskDispatched(job, 2, 1, place, NOW)) == "over"
    assert refused(cell, TaskEnded(waiting, 1, 1, NOW)) == "waiting"
    assert refused(cell, TaskErrorCleared(job, 1)) == "running"
    assert refused(cell, TaskDeletionRequested(waiting, 1, "alice")) == "waiting"
    assert refused(cell, TaskEnded(job, 1, 0, NOW)) == "over"
    assert refused(cell, HoldsChanged(99, Ranges.of([1]), 1)) == "none"
    assert refused(cell, PendingTasksDeleted(99, Ranges.of([1]), "alice", NOW)) == "none"
    assert refused(cell, ReservationStarted(1, NOW)) == "none"
    cell.master.record(Decision(events=[SlaveRequested(job, 1, 1, SlaveTask(1, "all.q@h1", "id"))]), DAEMON)
    assert refused(cell, SlaveRequested(job, 1, 1, SlaveTask(1, "all.q@h1", "id"))) == "requested"
    cell.master.record(Decision(events=[MasterEnded(job, 1, 1, MasterEnd())]), DAEMON)
    assert refused(cell, MasterEnded(job, 1, 1, MasterEnd())) == "ending"


def test_a_journal_that_cannot_be_is_refused_with_its_place(tmp_path: Path) -> None:
    """The qmaster does not start by it, and changes nothing of it."""
    spool = Spool(tmp_path / "spool.db")
    spool.commit([Transaction(1, NOW, "root", "master", [HoldsChanged(7, Ranges.of([1]), 1)])])
    with pytest.raises(SpoolError, match=r"spool .*spool.db, revision 1 of the journal: HoldsChanged cannot happen"):
        spool.load()
    with pytest.raises(SpoolError):
        spool.load()


def test_the_drawing_of_a_task_has_the_moves_of_the_table() -> None:
    """docs/architecture.md: each event that moves a task, and each state."""
    page = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()
    drawing = page.partition("### 1.1")[2].partition("## 2.")[0]
    moves = {event.__name__ for event, rows in task.TRANSITIONS.items() if any(was != now for was, now in rows.items())}
    assert moves == {"TaskDispatched", "TaskStarted", "MasterEnded", "TaskEnded", "TaskRequeued"}
    states = {state for rows in task.TRANSITIONS.values() for state in (*rows, *rows.values())}
    assert all(name in drawing for name in (*moves, *states))
