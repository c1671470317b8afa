"""Acts of a shepherd that tests can see without real processes; the rest is in tests/integration/shepherd."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest

from shepherd import directories, preparation, process, process_tree
from shepherd.control import pause_s
from shepherd.processes import Processes
from shepherd.task_files import Trace
from tests.unit.shepherd.played_run import PlayedRun


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


@pytest.mark.statement("EX-4", "AC-2")
@pytest.mark.parametrize(("when", "failed", "exit_status"), [("before", 18, 0), ("after", 0, 3)])
def test_a_step_that_breaks_takes_nothing_of_the_jobs_end_with_it(
    played_run: PlayedRun, monkeypatch: pytest.MonkeyPatch, when: str, failed: int, exit_status: int
) -> None:
    def broken(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(preparation, "make_directory", broken if when == "before" else lambda *given: given[-1])
    monkeypatch.setattr(preparation, "remove_directory", broken)
    end = played_run.run(played_run.end(3 << 8), tmpdir="/tmp/7.1.q")
    assert (end["failed"], end["exit_status"]) == (failed, exit_status)
    assert "RecursionError: too deep" in played_run.trace


@pytest.mark.statement("EX-3", "EX-4", "QI-10")
@pytest.mark.parametrize(
    ("number", "fault"), [(errno.EAGAIN, "host"), (errno.ENOSPC, "host"), (errno.EDQUOT, "job"), (errno.EROFS, "")]
)
@pytest.mark.parametrize("where", ["process", "directory"])
def test_a_host_without_disk_space_is_no_fault_of_the_queue(
    played_run: PlayedRun, monkeypatch: pytest.MonkeyPatch, where: str, number: int, fault: str
) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(process, "start", refused)
    monkeypatch.setattr(directories, "make", refused if where == "directory" else lambda path, note: path)
    monkeypatch.setattr(directories, "make_for", refused)
    monkeypatch.setattr(preparation, "remove_directory", lambda *_: None)
    monkeypatch.setattr(preparation, "as_user", lambda _: nullcontext())
    end = played_run.run(tmpdir="/tmp/7.1.q")
    assert (end["failed"], end["fault"]) == (11, fault)
    assert os.strerror(number) in str(end["reason"])
