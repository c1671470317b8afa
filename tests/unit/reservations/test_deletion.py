"""qrdel: the reservations of a target and of a series, and the fate of all other reservations."""

from __future__ import annotations

import pytest

from gridengine.protocols.gdi.requests import Answer
from tests.unit.reservations.conftest import ReservingCell


def texts(answer: Answer) -> list[str]:
    return [text for _, text in answer.answers]


@pytest.mark.statement("AR-101", "AR-103")
def test_a_deletion_of_all_reservations_deletes_only_the_callers_own(cell: ReservingCell) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["arusers"])
    strange, own = cell.qrsub("bob", name="same"), cell.qrsub(name="same")
    assert texts(cell.qdel_ar("sa*", users=["*"])) == [
        f'alice - you do not have the necessary privileges to delete the advance_reservation "{strange}"',
        f"alice has deleted advance_reservation {own}",
    ]
    assert list(cell.state.reservations) == [strange]


def test_a_reservation_of_no_series_goes_alone(cell: ReservingCell) -> None:
    first, second = cell.qrsub(at=100, duration=60), cell.qrsub(at=300, duration=60)
    assert texts(cell.qdel_ar(first, series=True)) == [f"alice has deleted advance_reservation {first}"]
    assert list(cell.state.reservations) == [second]


@pytest.mark.statement("AR-104", "AR-105")
def test_pending_jobs_inside_are_deleted_and_running_jobs_are_killed(cell: ReservingCell) -> None:
    number = cell.qrsub()
    job = cell.submit(ar=number, tasks="1-3", task_concurrency=1)
    cell.cycle()
    cell.qdel_ar(number)
    history = [(line.task, line.event, line.cause) for line in cell.master.job_history(job, 2)]
    assert history == [
        (0, "PendingTasksDeleted", "tasks 2,3, by alice@h1"),
        (1, "TaskDeletionRequested", "by alice@h1"),
    ]
    runs = cell.submit(ar=(other := cell.qrsub()))
    cell.cycle()
    cell.qdel_ar(other)
    assert [line.event for line in cell.master.job_history(runs, 2)] == ["TaskStarted", "TaskDeletionRequested"]
