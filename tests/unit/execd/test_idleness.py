"""Tasks that do nothing are measured less often, and at once again when they work (EX-8)."""

from __future__ import annotations

import pytest

from daemons.execd.idleness import Idleness
from gridengine.state.jobs import Usage


def rounds(task: Idleness, usages: list[Usage]) -> str:
    """The rounds that measured the task; each gets the next usage, the last usage forever."""
    done = ""
    for number in range(12):
        due = task.is_due()
        done += "x" if due else "."
        if due:
            task.note_usage(usages[min(number, len(usages) - 1)])
    return done


@pytest.mark.statement("EX-8")
def test_idle_tasks_are_left_out_for_up_to_three_rounds() -> None:
    assert rounds(Idleness(), [Usage(cpu=1.0, vmem=5.0)]) == "xx.x...x...x"[:12]


@pytest.mark.statement("EX-8")
@pytest.mark.parametrize("used", [{"cpu": 1.0}, {"io": 1.0}, {"vmem": 4.0}])
def test_working_tasks_are_measured_every_round(used: dict[str, float]) -> None:
    growing = [Usage(**{name: value * number for name, value in used.items()}) for number in range(12)]
    assert rounds(Idleness(), growing) == "x" * 12


@pytest.mark.statement("EX-8")
def test_a_task_that_wakes_is_measured_every_round_again() -> None:
    sleeping = [Usage(cpu=1.0)] * 4
    assert rounds(Idleness(), sleeping + [Usage(cpu=float(number)) for number in range(2, 10)]) == "xx.x...xxxxx"
