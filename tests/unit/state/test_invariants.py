"""The invariants of the state: each violation is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gridengine.state.bookings import CLUSTER
from gridengine.state.invariants import invariants
from gridengine.state.machines import task as task_machine
from gridengine.state.slaves import SlaveTask
from gridengine.state.state import State
from gridengine.values.ranges import Ranges
from tests.harness import Cell


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """One running job, and one that depends on it."""
    made = Cell(tmp_path)
    first = made.submit()
    made.submit(hold_jid=[str(first)])
    made.cycle()
    return made


BREAKS: dict[str, Callable[[State], object]] = {
    "are pending ranges and task objects": lambda state: setattr(state.jobs[1], "pending", Ranges.of([1])),
    "is pending with the grants": lambda state: setattr(state.jobs[1].tasks[1], "status", "pending"),
    "without an attempt": lambda state: setattr(state.jobs[1].tasks[1], "attempt", 0),
    "no tasks left": lambda state: setattr(state.jobs[2], "pending", Ranges()),
    "where its master has no grant": lambda state: state.jobs[1].tasks[1].slaves.update({1: SlaveTask(1, "all.q@h9")}),
    "jobs that wait for job 1": lambda state: state.dependents.clear(),
    "doomed are": lambda state: state.doomed.add(2),
    "priorities of jobs": lambda state: state.priorities.update({7: (0.0, 0.0, 0.0, 0.0)}),
    "tasks on host": lambda state: state.tasks_on.clear(),
    "tasks in": lambda state: state.tasks_in.clear(),
    "bookings of": lambda state: state.bookings[CLUSTER].update(slots=2),
    "requests reservation": lambda state: setattr(state.jobs[2], "ar", 3),
    "instances of queue": lambda state: state.instances_of.clear(),
    "without configuration": lambda state: state.configs.clear(),
    "were not updated": lambda state: setattr(state.unreconciled, "groups", True),
}


@pytest.mark.parametrize("law", BREAKS)
def test_each_violation_is_reported(cell: Cell, law: str) -> None:
    assert invariants(cell.state) == []
    BREAKS[law](cell.state)
    assert any(law in fault for fault in invariants(cell.state)), invariants(cell.state)


def test_a_planted_bug_is_seen_by_the_next_step(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends of tasks that give no slot back."""
    monkeypatch.setattr(task_machine, "unplace", lambda *_: None)
    with pytest.raises(AssertionError, match="bookings of"):
        cell.end(1)
