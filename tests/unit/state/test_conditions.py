"""The table of the conditions of a task: consistent in itself, and obeyed by commands, codes and requeues."""

from __future__ import annotations

from typing import get_args

import pytest

from gridengine.state.conditions import CODE_ORDER, CONDITIONS, OF_SUSPENSIONS, SUSPENDING, Condition, ConditionName
from gridengine.state.desired_command import desired_command
from gridengine.state.jobs import Grant, Task
from gridengine.state.machines.task import TaskRequeued
from gridengine.state.state_codes import running_state_codes
from tests.builders import Cluster

ROWS = list(CONDITIONS.values())


def placed(**fields: object) -> Task:
    return Task(1, "running", 1, [Grant("all.q@h1", 1)], **fields)  # type: ignore[arg-type]


def test_each_name_has_a_row_and_each_code_a_place_of_its_own() -> None:
    assert list(CONDITIONS) == list(get_args(ConditionName))
    codes = [row.code for row in ROWS if row.code]
    assert len(set(codes)) == len(codes) and set(codes) <= set(CODE_ORDER)
    assert len(set(CODE_ORDER)) == len(CODE_ORDER)


def test_a_row_with_a_code_has_a_noun_and_a_suspension_a_sentence() -> None:
    assert [row.name for row in ROWS if bool(row.code) != bool(row.noun)] == []
    assert {row.name for row in ROWS if row.activity} == {row.name for row in ROWS if row.by} == SUSPENDING
    assert set(OF_SUSPENSIONS.values()) == SUSPENDING


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_condition_alone_gives_its_command_and_its_code(row: Condition) -> None:
    cluster = Cluster()
    job, task = cluster.job(), placed(conditions={row.name: "ann"})
    assert desired_command(cluster.state, job, task) == row.command
    assert running_state_codes(cluster.state, job, task) == (row.code if row.command == "suspend" else f"{row.code}r")
    assert (task.is_being_ended, bool(task.suspensions)) == (row.command != "suspend", row.command == "suspend")


def test_all_conditions_together_give_the_most_severe_command() -> None:
    cluster = Cluster()
    job, task = cluster.job(), placed(conditions={row.name: "" for row in reversed(ROWS)})
    for row in ROWS:
        assert desired_command(cluster.state, job, task) == row.command
        del task.conditions[row.name]
    assert desired_command(cluster.state, job, task) == "run"


def test_a_requeue_clears_the_conditions_of_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONDITIONS, "suspended", CONDITIONS["suspended"]._replace(cleared_by_requeue=False))
    cluster = Cluster()
    job = cluster.state.jobs[cluster.submit()]
    cluster.cycle()
    job.tasks[1].conditions = {row.name: "ann" for row in ROWS}
    cluster.apply(TaskRequeued(job.id, 1, 1, 0.0))
    assert job.tasks[1].conditions == {"suspended": "ann"}
