"""Acts of a shepherd that tests can see without real processes; the rest is in tests/integration/shepherd."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest

from shepherd import directories, plan, preparation, process, process_tree
from shepherd.control import pause_s
from shepherd.identity import Identity
from shepherd.outcome import Ended
from shepherd.processes import Processes
from shepherd.run import TaskRun
from shepherd.task_files import Trace
from tests.unit.shepherd.configuration import config


@pytest.mark.statement("EX-7")
def test_waiting_for_killed_processes_goes_by_time_and_not_by_how_many_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = list(range(100, 150))
    processes = Processes(Trace(tmp_path), lambda *_: None)
    monkeypatch.setattr(Processes, "reap", lambda _: bool(left))
    monkeypatch.setattr(process_tree, "children", lambda _: left)
    monkeypatch.setattr(process_tree, "kill_tree", lambda *_: None)
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: left.pop())
    processes.end_all()
    assert left == []


@pytest.mark.statement("RL-2")
@pytest.mark.parametrize(("deadline", "expected"), [(90.0, 0.0), (105.0, 5.0), (1e30, 3600.0), (float("inf"), 3600.0)])
def test_no_sleep_is_longer_than_the_kernel_takes(deadline: float, expected: float) -> None:
    assert pause_s(deadline, 100.0) == expected


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No processes are ended: there are none but those of the tests."""
    monkeypatch.setattr(Processes, "end_all", lambda _: None)


@pytest.mark.statement("EX-4", "AC-2")
@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("when", "failed", "exit_status"), [("before", 18, 0), ("after", 0, 3)])
def test_a_step_that_breaks_takes_nothing_of_the_jobs_end_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, failed: int, exit_status: int
) -> None:
    def broken(*_: object) -> None:
        raise RecursionError("too deep")

    def job(task: TaskRun, step: plan.Run) -> None:
        if not task._outcome.unsuccessful.intersection(step.needs):
            task._ended(step, Ended(3))

    monkeypatch.setattr(TaskRun, "_run_to_end", job)
    monkeypatch.setattr(TaskRun, "_sweep", lambda _: None)
    monkeypatch.setattr(process_tree, "kill_tree", lambda *_: 0)
    monkeypatch.setattr(preparation, "make_directory", broken if when == "before" else lambda *given: given[-1])
    monkeypatch.setattr(preparation, "remove_directory", broken)
    task = TaskRun(tmp_path, config(tmpdir="/tmp/7.1.q"), Identity("alice", 1001, 1001, ()), Trace(tmp_path))
    end = task.run()
    assert (end["failed"], end["exit_status"]) == (failed, exit_status)
    assert "RecursionError: too deep" in (tmp_path / "trace").read_text()


@pytest.mark.statement("EX-3", "EX-4", "QI-10")
@pytest.mark.parametrize(
    ("number", "fault"), [(errno.EAGAIN, "host"), (errno.ENOSPC, "host"), (errno.EDQUOT, "job"), (errno.EROFS, "")]
)
@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("where", ["process", "directory"])
def test_a_host_without_room_is_no_fault_of_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, number: int, fault: str
) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Processes, "reap", lambda _: False)
    monkeypatch.setattr(TaskRun, "_sweep", lambda _: None)
    monkeypatch.setattr(process, "start", refused)
    monkeypatch.setattr(directories, "make", refused if where == "directory" else lambda path, note: path)
    monkeypatch.setattr(directories, "make_for", refused)
    monkeypatch.setattr(preparation, "remove_directory", lambda *_: None)
    monkeypatch.setattr(preparation, "as_user", lambda _: nullcontext())
    task = TaskRun(tmp_path, config(tmpdir="/tmp/7.1.q"), Identity("alice", 1001, 1001, ()), Trace(tmp_path))
    end = task.run()
    assert (end["failed"], end["fault"]) == (11, fault)
    assert os.strerror(number) in str(end["reason"])
