"""The job history: its lines, and their retention."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.qexplain import EVENTS
from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from daemons.qmaster.notifications import job_history
from gridengine.state.machines import job, slave, task
from gridengine.state.machines.event import InvalidTransitionError
from gridengine.state.machines.task import TaskDispatched
from gridengine.values.ranges import Ranges
from tests.harness import Cell
from tests.unit.clients.shell import Shell


@pytest.fixture
def shell(cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("TZ", "UTC")
    return Shell(cell, tmp_path, monkeypatch, capsys)


def history(cell: Cell, number: int) -> list[tuple[int, str, str]]:
    return [(line.task, line.event, line.cause) for line in cell.master.job_history(number, 1000)]


def lived(cell: Cell) -> int:
    """A job that was held, released, rescheduled, and has ended."""
    number = cell.submit(holds="u", rerun=True)
    cell.master.record(Decision(events=[job.HoldsChanged(number, Ranges.of([1]), cleared=1)]), DAEMON)
    cell.master.flush()
    cell.cycle()
    cell.admin("change_states", targets=[str(number)], action="reschedule", what="job")
    cell.end(number, failed=25, exit_status=99)
    cell.now += 60
    cell.cycle()
    cell.end(number, exit_status=3)
    return number


def test_every_event_of_a_job_is_recorded() -> None:
    about = {event for machine in (job, task, slave) for event in machine.TRANSITIONS if event.durable}
    assert job_history.CAUSES.keys() == about
    assert EVENTS.keys() == {event.__name__ for event in about}, "each has words for people"


def test_a_story_has_all_in_order_with_its_causes(cell: Cell) -> None:
    number = lived(cell)
    place = cell.starts[-1].granted[0].instance
    assert history(cell, number) == [
        (0, "JobSubmitted", "by alice@h1"),
        (0, "HoldsChanged", "cleared user hold of tasks 1"),
        (1, "TaskDispatched", f"attempt 1, {cell.starts[0].granted[0].instance}=1"),
        (1, "TaskStarted", ""),
        (1, "TaskReschedulingRequested", "by root@master"),
        (1, "TaskRequeued", ""),
        (1, "TaskDispatched", f"attempt 2, {place}=1"),
        (1, "TaskStarted", ""),
        (1, "TaskEnded", "exit status 3"),
    ]


def test_a_snapshot_and_a_restart_leave_it(cell: Cell) -> None:
    number = lived(cell)
    before = history(cell, number)
    cell.master.spool.snapshot(cell.state)
    cell.restart()
    assert history(cell, number) == before and number not in cell.state.jobs


def test_the_history_contains_events_that_are_not_on_disk_yet(cell: Cell) -> None:
    number = cell.submit()
    cell.undecided("submit", {"binary": True, "script_file": "/bin/sleep"})
    assert [event for _, event, _ in history(cell, number + 1)] == ["JobSubmitted"]
    assert len(cell.master.job_history(number, 1000)) == 1


def test_an_event_that_cannot_be_is_logged_with_the_story(cell: Cell, caplog: pytest.LogCaptureFixture) -> None:
    """No part of its transaction is kept, the log has the history of the job until then, and the cell goes on."""
    number = cell.submit()
    cell.cycle()
    revision, snapshot = cell.state.revision, cell.state.snapshot()
    again = TaskDispatched(number, 1, 2, cell.starts[0].granted, cell.now)
    with pytest.raises(InvalidTransitionError):
        cell.master.record(Decision(events=[job.HoldsChanged(number, Ranges.of([1]), 1), again]), DAEMON)
    assert (cell.state.revision, cell.state.snapshot()) == (revision, snapshot) and not cell.master.pending
    assert 'TaskDispatched cannot happen in state "running"' in caplog.text
    for event in ("JobSubmitted: by alice@h1", "TaskDispatched of task 1: attempt 1", "TaskStarted of task 1"):
        assert event in caplog.text
    cell.end(number)
    cell.restart()
    assert number not in cell.state.jobs


def test_people_read_it(shell: Shell, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    number = lived(cell)
    outcome = shell(f"qexplain -story {number} 4711")
    assert outcome.status == 1 and outcome.lines[0] == f"job {number}"
    assert outcome.lines[1].endswith("submitted                  by alice@h1") and outcome.lines[1].startswith("  20")
    assert outcome.lines[-1].endswith("ended                      exit status 3")
    assert 'no history of job "4711"' in outcome.err
    assert shell("qexplain -story sleeper").status == 1
    array = cell.submit(tasks="1-3")
    cell.cycle()
    assert any("dispatched (task 3)" in line for line in shell(f"qexplain -story {array}").lines)
    monkeypatch.setattr("daemons.qmaster.queries.reading.MOST_LINES", 2)
    assert shell(f"qexplain -story {array}").lines[0] == f"job {array}, latest events"
