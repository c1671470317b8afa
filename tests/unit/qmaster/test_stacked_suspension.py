"""Several causes suspend a job at once; the job goes on when the last cause is gone (EX-6, QI-6 to QI-8)."""

from __future__ import annotations

from itertools import permutations

import pytest

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from gridengine.state.events import AnyEvent
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.task import TaskSuspensionChanged
from gridengine.state.state_codes import running_state_codes
from tests.harness import Cell

CAUSES = {
    "user": "s",
    "threshold": "T",
    "subordinate": "S",
    "suspended": "S",
    "calendar_suspended": "S",
    "subordinated": "S",
}


def change(cell: Cell, job: int, cause: str, on: bool) -> None:
    """Set or take away one cause, and let the host hear of it."""
    event: AnyEvent
    if cause in ("user", "threshold", "subordinate"):
        event = TaskSuspensionChanged(job, 1, cause, on)
    else:
        event = InstanceFlagsChanged([cell.placed(job)[0][0]], {cause: on})
    cell.master.record(Decision(events=[event]), DAEMON)
    cell.master.flush()
    cell.deliver()


@pytest.mark.statement("EX-6", "QI-6", "QI-7", "QI-8", "QC-8", "QM-7", "SU-7")
def test_only_the_last_release_resumes(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    causes = list(CAUSES)
    for number, released in enumerate([causes, causes[::-1], *list(permutations(causes))[100:700:197]]):
        for cause in released[::-1] if number % 2 else released:
            change(cell, job, cause, True)
        assert [command for _, _, command in cell.signals] == ["suspend"], "the first cause alone is told"
        for cause in released[:-1]:
            change(cell, job, cause, False)
            assert len(cell.signals) == 1
        assert CAUSES[released[-1]] in running_state_codes(cell.state, cell.state.jobs[job], cell.state.task(job, 1))
        change(cell, job, released[-1], False)
        assert [command for _, _, command in cell.signals] == ["suspend", "run"]
        cell.signals.clear()


@pytest.mark.statement("EX-6", "QI-13")
def test_causes_survive_a_restart_of_the_master(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    change(cell, job, "user", True)
    change(cell, job, "threshold", True)
    cell.restart()
    change(cell, job, "user", False)
    assert [command for _, _, command in cell.signals] == ["suspend"]
    change(cell, job, "threshold", False)
    assert [command for _, _, command in cell.signals] == ["suspend", "run"]
