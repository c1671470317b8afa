"""The laws of the state: each is seen when something breaks it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gridengine.ranges import Ranges
from gridengine.state.bookings import CLUSTER
from gridengine.state.invariants import invariants
from gridengine.state.machines import task as task_machine
from gridengine.state.slaves import SlaveTask
from gridengine.state.state import State
from tests.harness import Cell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """One job runs, one waits for it."""
    made = Cell(tmp_path)
    first = made.submit()
    made.submit(hold_jid=[str(first)])
    made.cycle()
    return made


BREAKS: dict[str, Callable[[State], object]] = {
    "have begun, and have not": lambda state: setattr(state.jobs[1], "pending", Ranges.of([1])),
    "is pending with the places": lambda state: setattr(state.jobs[1].tasks[1], "status", "pending"),
    "without a try": lambda state: setattr(state.jobs[1].tasks[1], "attempt", 0),
    "no task left": lambda state: setattr(state.jobs[2], "pending", Ranges()),
    "where its master has no place": lambda state: state.jobs[1].tasks[1].slaves.update({1: SlaveTask(1, "all.q@h9")}),
    "jobs that wait for job 1": lambda state: state.dependents.clear(),
    "doomed are": lambda state: state.doomed.add(2),
    "priorities of jobs": lambda state: state.priorities.update({7: (0.0, 0.0, 0.0, 0.0)}),
    "tasks on host": lambda state: state.tasks_on.clear(),
    "tasks in": lambda state: state.tasks_in.clear(),
    "bookings of": lambda state: state.bookings[CLUSTER].update(slots=2),
    "asks for reservation": lambda state: setattr(state.jobs[2], "ar", 3),
    "instances of queue": lambda state: state.instances_of.clear(),
    "without configuration": lambda state: state.configs.clear(),
    "have not followed": lambda state: setattr(state.unreconciled, "groups", True),
}


@pytest.mark.parametrize("law", BREAKS)
def test_what_breaks_a_law_is_said(cell: Cell, law: str) -> None:
    assert invariants(cell.state) == []
    BREAKS[law](cell.state)
    assert any(law in fault for fault in invariants(cell.state)), invariants(cell.state)


def test_a_planted_bug_is_seen_by_the_next_step(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends of tasks that give no slot back."""
    monkeypatch.setattr(task_machine, "unplace", lambda *_: None)
    with pytest.raises(AssertionError, match="bookings of"):
        cell.end(1)
