"""Acts of a shepherd while a process runs: signals that it waits for, commands, requests of its control, a session's end."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from shepherd import control, plan, process_tree, session, task_files
from shepherd.command_line import CommandLine
from shepherd.containment import Containment
from shepherd.control import Kill, Measure, Note, Renice, RunMethod, Signal, WriteUsage
from shepherd.identity import Identity
from shepherd.outcome import Ended
from shepherd.processes import Processes
from shepherd.run import COMMAND_SIGNAL, TaskRun
from shepherd.task_files import Trace
from tests.unit.shepherd.configuration import config

_OUTPUT = plan.Output("/dev/null", "/dev/null", None)
EPILOG = plan.Run("epilog", CommandLine("/bin/true", ["true"]), _OUTPUT, 8, 9, {}, timeout_s=5)


class PlayedSession:
    """The process of a session."""

    pid, client = 900, ""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.has_ended = False

    def kill(self) -> None:
        self.told.append("killed")
        self.has_ended = True

    def finish(self, *outcome: object, linger: bool) -> None:
        self.told.append((*outcome, linger))
        self.has_ended = True

    def ended(self) -> None:
        self.told.append("ended")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is done to processes, none of which there is."""
    done: list[Any] = []
    monkeypatch.setattr(Processes, "reap", lambda _: True)
    monkeypatch.setattr(Processes, "signal", lambda _, number: done.append(number))
    monkeypatch.setattr(Processes, "kill", lambda _: done.append("kill"))
    monkeypatch.setattr(Processes, "renice", lambda _, nice: done.append(("nice", nice)))
    monkeypatch.setattr(Processes, "measure", lambda _: done.append("measure"))
    monkeypatch.setattr(Processes, "sweep", lambda _, excluded: done.append("sweep"))
    return done


@pytest.fixture
def task(tmp_path: Path, told: list[Any]) -> TaskRun:
    return TaskRun(tmp_path, config(), Identity("alice", 1001, 1001, ()), Trace(tmp_path))


@pytest.fixture
def connected(task: TaskRun) -> PlayedSession:
    """The session of the task."""
    played = PlayedSession()
    task._session = played  # type: ignore[assignment]
    return played


def waking(monkeypatch: pytest.MonkeyPatch, number: int | None) -> list[float | None]:
    """The shepherd is woken by a signal, None for time; for how long it would have slept, None forever."""
    slept: list[float | None] = []

    class Info:
        si_signo = number

    def timed(_: object, seconds: float) -> Info | None:
        slept.append(seconds)
        return None if number is None else Info()

    def forever(_: object) -> Info:
        slept.append(None)
        return Info()

    monkeypatch.setattr(signal, "sigtimedwait", timed)
    monkeypatch.setattr(signal, "sigwaitinfo", forever)
    return slept


def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace"
    return path.read_text() if path.exists() else ""


def test_each_act_is_done(task: TaskRun, told: list[Any], tmp_path: Path) -> None:
    task._carry_out_actions([Signal(12), Kill("too much"), Renice(7), Note("a note")])
    assert told == [12, "kill", ("nice", 7)]
    assert "too much" in trace(tmp_path)
    assert "a note" in trace(tmp_path)


@pytest.mark.statement("EX-8")
def test_usage_is_measured_before_it_is_written(task: TaskRun, told: list[Any], tmp_path: Path) -> None:
    task._carry_out_actions([WriteUsage()])
    assert told == ["measure"]
    assert (tmp_path / task_files.USAGE).exists()


@pytest.mark.parametrize(("by_cgroup", "of_cgroup", "seen"), [(True, 55, 55), (True, None, 7), (False, 55, 7)])
def test_limits_are_held_against_what_was_measured(
    task: TaskRun, monkeypatch: pytest.MonkeyPatch, by_cgroup: bool, of_cgroup: int | None, seen: int
) -> None:
    asked: list[tuple[float, int, int]] = []
    task._config = config(memory_by_cgroup=by_cgroup)
    task._usage.cpu_s, task._usage.vmem = 3.0, 7
    monkeypatch.setattr(Containment, "memory_bytes", lambda _: of_cgroup)
    monkeypatch.setattr(Containment, "oom_kills", lambda _: 0)
    monkeypatch.setattr(task._control, "measured", lambda *values: asked.append(values) or [Signal(5)])
    task._carry_out_actions([Measure()])
    assert asked == [(3.0, seen, 0)]


def test_without_a_moment_to_keep_it_sleeps_until_it_is_woken(task: TaskRun, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = waking(monkeypatch, signal.SIGCHLD)
    task._wait()
    assert slept == [None]


def test_the_run_sleeps_until_its_first_deadline(task: TaskRun, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = waking(monkeypatch, signal.SIGCHLD)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(task._control, "deadline", lambda: 130.0)
    monkeypatch.setattr(task._usage, "deadline", lambda: 107.0)
    task._until, task._current = 150.0, EPILOG
    task._wait()
    assert slept == [7.0]


@pytest.mark.statement("RL-2")
def test_a_step_that_takes_too_long_is_killed_with_a_reason(
    task: TaskRun, told: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waking(monkeypatch, None)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    task._until, task._current = 100.0, EPILOG
    task._wait()
    assert told == ["kill"]
    assert task._timeout_reason.endswith("epilog took longer than 5 s")
    assert "epilog took longer than 5 s" in trace(tmp_path)
    assert task._until is None, "it is given up once"


def test_before_its_time_nothing_is_given_up(task: TaskRun, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    waking(monkeypatch, None)
    monkeypatch.setattr(time, "monotonic", lambda: 99.0)
    task._until, task._current = 100.0, EPILOG
    task._wait()
    assert (told, task._until) == ([], 100.0)


def test_a_client_that_does_not_take_the_end_is_given_up(task: TaskRun, connected: PlayedSession, tmp_path: Path) -> None:
    task._until = 1.0
    task._give_up()
    assert connected.told == ["killed"]
    assert "does not take the end" in trace(tmp_path)


@pytest.mark.parametrize(("number", "read"), [(COMMAND_SIGNAL, True), (signal.SIGCHLD, False)])
def test_commands_are_read_when_their_signal_comes(
    task: TaskRun, monkeypatch: pytest.MonkeyPatch, number: int, read: bool
) -> None:
    waking(monkeypatch, number)
    asked: list[bool] = []
    monkeypatch.setattr(task, "_read_commands", lambda: asked.append(True))
    task._wait()
    assert bool(asked) == read


def test_sigterm_kills_the_job(task: TaskRun, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    waking(monkeypatch, signal.SIGTERM)
    task._wait()
    assert "kill" in told


def test_commands_come_once_and_in_order(task: TaskRun, told: list[Any], tmp_path: Path) -> None:
    for command in ("usr1", "kill"):
        task_files.add_command(tmp_path, command)
    task._read_commands()
    task._read_commands()
    assert told[0] == signal.SIGUSR1
    assert told.count("kill") == 1
    assert "command usr1" in trace(tmp_path)


def test_a_job_that_is_over_is_left_alone(task: TaskRun, told: list[Any], tmp_path: Path) -> None:
    task_files.add_command(tmp_path, "usr1")
    task._job_over = True
    task._read_commands()
    assert told == []
    assert "command usr1 left alone: the job has ended already" in trace(tmp_path)


@pytest.mark.statement("IA-9")
@pytest.mark.parametrize(("slave", "end_reason", "killed"), [(0, "", False), (0, "qdel", False), (2, "qdel", True)])
def test_the_client_gets_the_outcome_of_the_job(
    task: TaskRun, connected: PlayedSession, slave: int, end_reason: str, killed: bool
) -> None:
    task._config = config(slave=slave)
    task._control.end_reason = end_reason
    task._outcome.job_ended(Ended(3), "")
    task._close_session()
    assert connected.told[0] == (3, 0, "", not end_reason)
    assert ("killed" in connected.told) == killed
    assert task._session is None
    assert task._job_over


@pytest.mark.statement("IA-9")
def test_a_client_that_leaves_ends_the_job(task: TaskRun, connected: PlayedSession, told: list[Any], tmp_path: Path) -> None:
    status, end_reason = next(iter(session.END_REASONS.items()))
    task._session_ended(status)
    assert end_reason in trace(tmp_path)
    assert task._control.end_reason
    assert connected.told == ["ended"]


def test_a_client_that_leaves_behind_its_job_ends_nothing(task: TaskRun, connected: PlayedSession, tmp_path: Path) -> None:
    task._job_over = True
    task._session_ended(1)
    assert (task._control.end_reason, connected.told, trace(tmp_path)) == ("", ["ended"], "")


@pytest.mark.statement("EX-7")
@pytest.mark.parametrize(("pid", "swept"), [(4711, ["sweep"]), (0, [])])
def test_remaining_processes_are_ended_if_there_was_a_job(task: TaskRun, told: list[Any], pid: int, swept: list[str]) -> None:
    task._processes.job_pid = pid
    task._sweep()
    assert told == swept


@pytest.mark.parametrize("method", ["suspend_method", "nothing"])
def test_a_method_is_run_for_a_job_that_runs_alone(task: TaskRun, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    started: list[plan.Run] = []
    monkeypatch.setattr(task, "_begin", started.append)
    monkeypatch.setattr(control.Control, "method", lambda _, name: None)
    task._carry_out_actions([RunMethod(method)])
    assert started == []


@pytest.mark.statement("EX-4", "AC-2")
@pytest.mark.parametrize("has_started", [True, False])
def test_a_job_that_ran_when_its_shepherd_failed_has_a_run_time(
    task: TaskRun, monkeypatch: pytest.MonkeyPatch, has_started: bool
) -> None:
    monkeypatch.setattr(process_tree, "kill_tree", lambda *_: None)
    if has_started:
        task._start_time, task._job_since = time.time() - 5, time.monotonic() - 5
    task._abort("shepherd failed: OSError: no room")
    record = task._record()
    assert record["failed"] == 18
    assert (record["exit_status"], record["signal"]) == ((137, 9) if has_started else (0, 0))
    usage = record["usage"]
    assert isinstance(usage, dict)
    assert usage["ru_wallclock"] >= 5 if has_started else usage["ru_wallclock"] == 0
