"""Tries that end without a word of their hosts: events, records, and how parts of a decision add up."""

from __future__ import annotations

import pytest

from daemons.qmaster.decision import Decision
from daemons.qmaster.rules.ends import ended_without_host, requeued_without_host
from daemons.qmaster.rules.failures import FAILURES
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.task import TaskEnded, TaskRequeued
from gridengine.usage.failed import ENFORCED, LOST, RESCHEDULED, TEXTS
from tests.harness import Cell


def running(cell: Cell) -> tuple[Job, Task]:
    number = cell.submit()
    cell.cycle()
    return cell.state.jobs[number], cell.state.jobs[number].tasks[1]


@pytest.mark.statement("EX-4", "AC-5")
def test_an_end_without_a_host_has_its_event_and_a_record_of_a_kill(cell: Cell) -> None:
    job, task = running(cell)
    decision = ended_without_host(cell.state, job, task, cell.now, ENFORCED, "qdel -f")
    assert decision.events == [TaskEnded(job.id, 1, 1, cell.now, 137, 37, True, f"killed on {task.host} after 0 s: qdel -f")]
    [(number, task_id, record)] = decision.accounting
    assert (number, task_id) == (job.id, 1)
    assert (record.failed, record.exit_status) == ("37", "137")


@pytest.mark.statement("EX-11", "QM-9")
def test_a_task_that_is_taken_back_without_its_host_waits_again(cell: Cell) -> None:
    job, task = running(cell)
    decision = requeued_without_host(cell.state, job, task, cell.now, RESCHEDULED, "qmod -r", abandoned=False, behind=True)
    assert decision.events == [TaskRequeued(job.id, 1, 1, cell.now, behind=True)]
    assert [record.failed for _, _, record in decision.accounting] == ["25"]


def test_parts_of_a_decision_add_up_in_order(cell: Cell) -> None:
    job, task = running(cell)
    whole = Decision()
    whole.answer.info("first")
    part = ended_without_host(cell.state, job, task, cell.now, LOST, "lost")
    part.answer.error("second", 7)
    whole += part
    whole += requeued_without_host(cell.state, job, task, cell.now, LOST, "lost")
    assert [type(event) for event in whole.events] == [TaskEnded, TaskRequeued]
    assert len(whole.accounting) == 2
    assert (whole.answer.status, whole.answer.answers) == (7, [("info", "first"), ("error", "second")])


@pytest.mark.statement("EX-4")
def test_every_code_that_is_judged_has_a_text() -> None:
    assert FAILURES.keys() - TEXTS.keys() == set()
