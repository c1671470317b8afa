"""The record of a step that ended, or was never tried: the outcome, the trace, the times. Processes are played."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from shepherd import plan, process
from shepherd.command_line import CommandLine
from shepherd.containment import Containment
from shepherd.faults import BY_CODE, JOB
from shepherd.identity import Identity
from shepherd.outcome import Ended
from shepherd.processes import Processes
from shepherd.run import TaskRun
from shepherd.task_files import Trace
from tests.unit.shepherd.configuration import config


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TaskRun:
    """A run in which nothing is started yet; nothing is ever started by these tests."""

    def refused(*_: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(process, "start", refused)
    monkeypatch.setattr(Processes, "reap", lambda _: False)
    return TaskRun(tmp_path, config(limits={"h_vmem": 100}), Identity("alice", 1001, 1001, ()), Trace(tmp_path))


def step(name: str, **fields: object) -> plan.Run:
    """A step of this name."""
    return plan.Run(name, CommandLine("/bin/true", ["true"]), plan.Output("/dev/null", "/dev/null", None), 8, 9, {}, **fields)  # type: ignore[arg-type]


def trace(tmp_path: Path) -> str:
    return (tmp_path / "trace").read_text()


@pytest.mark.statement("EX-7", "AC-1")
def test_the_wall_clock_time_of_a_job_is_by_the_monotonic_clock(task: TaskRun, monkeypatch: pytest.MonkeyPatch) -> None:
    task._start_time, task._job_since = 5000.0, 100.0
    monkeypatch.setattr(time, "monotonic", lambda: 142.0)
    task._ended(step("job"), Ended(0))
    assert task._wallclock_s == 42.0
    assert task._start_time == 5000.0


def test_a_job_that_did_not_reach_its_program_has_no_start_time(task: TaskRun) -> None:
    task._start_time = 5000.0
    task._ended(step("job"), Ended(1, setup_failed=15, reason="no such shell"))
    assert (task._start_time, task._wallclock_s, task._outcome.failed) == (0.0, 0.0, 15)


@pytest.mark.parametrize(("kills", "exit_status", "expected"), [(1, 3, 137), (0, 3, 3), (1, 0, 0)])
def test_a_job_whose_memory_the_kernel_took_was_killed(
    task: TaskRun, monkeypatch: pytest.MonkeyPatch, kills: int, exit_status: int, expected: int
) -> None:
    monkeypatch.setattr(Containment, "oom_kills", lambda _: kills)
    task._ended(step("job"), Ended(exit_status))
    assert task._outcome.exit_status == expected
    assert (task._outcome.signal == signal.SIGKILL) == (expected == 137)


def test_a_step_that_cannot_be_started_fails_by_its_code_with_a_reason(task: TaskRun, tmp_path: Path) -> None:
    task._run_to_end(step("prolog", error="/no/prolog is no file"))
    assert (task._outcome.failed, task._outcome.method) == (8, "prolog")
    assert task._outcome.reason.endswith("prolog: /no/prolog is no file")
    assert "prolog: /no/prolog is no file" in trace(tmp_path)


def test_a_step_is_skipped_when_one_that_it_needs_did_not_succeed(task: TaskRun, tmp_path: Path) -> None:
    task._outcome.fail("prolog", 8, "it failed")
    task._run_to_end(step("job", needs=("prolog",)))
    assert "job skipped" in trace(tmp_path)
    assert task._outcome.failed == 8


@pytest.mark.parametrize(("name", "exit_status"), [("job", 137), ("prolog", 137)])
def test_a_task_that_was_ended_before_its_step_counts_as_killed(task: TaskRun, name: str, exit_status: int) -> None:
    task._control.end_reason = "qdel"
    task._run_to_end(step(name))
    assert (task._outcome.exit_status, task._outcome.signal) == (exit_status, signal.SIGKILL)
    assert "qdel" in task._outcome.reason


def test_a_method_that_fails_is_in_the_trace(task: TaskRun, tmp_path: Path) -> None:
    task._ended(step("epilog", user="root"), Ended(3))
    assert "epilog ended with 3" in trace(tmp_path)
    assert task._outcome.method == "epilog"
    task._ended(step("epilog"), Ended(0, reason="it took too long"))
    assert "epilog ended with it took too long" in trace(tmp_path)


class Gone:
    """A process that has ended; `failure`: code, reason and fault of its setup."""

    pid = 4711

    def __init__(self, failure: tuple[int, str, str] = (0, "", BY_CODE)) -> None:
        self._failure = failure

    def setup_failure(self) -> tuple[int, str, str]:
        return self._failure


@pytest.mark.statement("AC-2")
@pytest.mark.parametrize(("status", "expected"), [(0, (0, 0)), (3 << 8, (3, 0)), (9, (137, 9)), (15, (143, 15))])
def test_the_exit_status_of_a_process_is_that_of_a_shell(task: TaskRun, status: int, expected: tuple[int, int]) -> None:
    task._started = Gone()  # type: ignore[assignment]
    ended = task._collect_end(status)
    assert (ended.exit_status, ended.signal) == expected


@pytest.mark.parametrize(
    ("failure", "late", "reason"),
    [((0, "", ""), "", ""), ((0, "", ""), "too late", "too late"), ((15, "no shell", ""), "too late", "no shell")],
)
def test_the_reason_of_an_end_is_the_setup_before_the_timeout(
    task: TaskRun, failure: tuple[int, str, str], late: str, reason: str
) -> None:
    task._started, task._timeout_reason = Gone(failure), late  # type: ignore[assignment]
    ended = task._collect_end(256)
    assert (ended.setup_failed, ended.reason) == (failure[0], reason)


@pytest.mark.statement("RL-4")
@pytest.mark.parametrize(("exit_status", "asked"), [(137, True), (136, False), (138, False), (0, False)])
def test_a_job_that_died_of_sigkill_may_have_exceeded_its_processor_time(
    task: TaskRun, monkeypatch: pytest.MonkeyPatch, exit_status: int, asked: bool
) -> None:
    told: list[float] = []
    monkeypatch.setattr(task._control, "killed_by_unknown", told.append)
    task._ended(step("job"), Ended(exit_status))
    assert bool(told) == asked


@pytest.mark.parametrize(
    ("end_reason", "ended", "killed"),
    [("qdel", Ended(137, 9), True), ("qdel", Ended(3), False), ("", Ended(137, 9), False)],
)
def test_a_method_that_the_shepherd_killed_is_the_end_of_the_job(
    task: TaskRun, end_reason: str, ended: Ended, killed: bool
) -> None:
    task._control.end_reason = end_reason
    task._ended(step("prolog", user="root"), ended)
    assert (task._outcome.signal == signal.SIGKILL) == killed
    assert ("qdel" in task._outcome.reason) == killed


@pytest.mark.statement("QI-10")
@pytest.mark.parametrize(("user", "fault"), [(None, JOB), ("root", BY_CODE)])
def test_a_method_of_the_owner_that_dies_of_a_signal_is_no_fault_of_the_queue(
    task: TaskRun, user: str | None, fault: str
) -> None:
    task._ended(step("prolog", user=user), Ended(137, 9))
    assert task._outcome.fault == fault
