"""Acts of a shepherd while a process runs: signals that it waits for, commands, requests of its control, a session's end."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from shepherd import session, task_files
from shepherd.containment import Containment
from shepherd.processes import Processes
from tests.unit.shepherd.played_run import SESSION_PID, PlayedRun

METHOD = "/bin/true"
FAILED = 1 << 8


def test_each_act_is_done(played_run: PlayedRun) -> None:
    commands = [played_run.command(each) for each in ("usr2", "nice=7", "dance", "kill")]
    played_run.run(*commands, played_run.end(9))
    assert played_run.actions == [signal.SIGUSR2, ("nice", 7), "kill", "sweep"]
    assert "the job was killed on request" in played_run.trace
    assert "command 'dance' left alone" in played_run.trace


@pytest.mark.statement("EX-8")
def test_usage_is_measured_before_it_is_written(
    played_run: PlayedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bool] = []
    monkeypatch.setattr(Processes, "measure", lambda _: written.append((tmp_path / task_files.USAGE).exists()))
    played_run.run(played_run.command("usage"))
    assert written == [False]
    assert (tmp_path / task_files.USAGE).exists()


@pytest.mark.parametrize(
    ("by_cgroup", "of_cgroup", "limits", "exceeded"),
    [
        (True, 55, {"h_vmem": 54}, "h_vmem"),
        (True, 55, {"h_vmem": 55}, ""),
        (True, None, {"h_vmem": 6}, "h_vmem"),
        (True, None, {"h_vmem": 7}, ""),
        (False, 55, {"h_vmem": 6}, "h_vmem"),
        (False, 55, {"h_vmem": 7}, ""),
        (False, 55, {"h_cpu": 2}, "h_cpu"),
        (False, 55, {"h_cpu": 3}, ""),
    ],
)
def test_limits_are_held_against_what_was_measured(
    played_run: PlayedRun,
    monkeypatch: pytest.MonkeyPatch,
    by_cgroup: bool,
    of_cgroup: int | None,
    limits: dict[str, int],
    exceeded: str,
) -> None:
    def measure(processes: Processes) -> None:
        processes.usage.cpu_s, processes.usage.vmem = 3.0, 7

    monkeypatch.setattr(Processes, "measure", measure)
    monkeypatch.setattr(Containment, "memory_bytes", lambda _, limited: of_cgroup)
    record = played_run.run(
        played_run.passing(5), played_run.end(9), limits=limits, memory_by_cgroup=by_cgroup, pdc_interval_s=5
    )
    assert ("kill" in played_run.actions) == bool(exceeded)
    assert (f"limit {exceeded} of" in record["reason"]) == bool(exceeded)


def test_without_a_moment_to_keep_it_sleeps_until_it_is_woken(played_run: PlayedRun) -> None:
    played_run.run(prolog=METHOD, method_timeout_s=None)
    assert played_run.slept[0] is None


def test_the_run_sleeps_until_its_first_deadline(played_run: PlayedRun) -> None:
    """That of a step, of an early measurement, of a limit."""
    passing = [played_run.passing(seconds) for seconds in (1, 2)]
    played_run.run(played_run.end(), *passing, prolog=METHOD, method_timeout_s=50, limits={"h_rt": 5})
    assert played_run.slept == [50.0, 1.0, 2.0, 2.0]


@pytest.mark.statement("RL-2")
def test_a_step_that_takes_too_long_is_killed_with_a_reason(played_run: PlayedRun) -> None:
    passing = [played_run.passing(seconds) for seconds in (4, 1)]
    record = played_run.run(played_run.end(), *passing, played_run.end(9), epilog=METHOD, method_timeout_s=5)
    assert played_run.actions == ["sweep", "kill"]
    assert record["reason"].endswith("epilog took longer than 5 s")
    assert "epilog took longer than 5 s" in played_run.trace
    assert played_run.slept[1:] == [5.0, 1.0, None], "it is given up once, and not before its time"


def test_a_client_that_does_not_take_the_end_is_given_up(played_run: PlayedRun) -> None:
    played_run.session.lingers = True
    played_run.run(played_run.end(), played_run.passing(5), session="pipes", method_timeout_s=5)
    assert played_run.session.calls[1:] == ["killed"]
    assert "does not take the end" in played_run.trace


@pytest.mark.parametrize(("number", "signals"), [(None, [signal.SIGUSR1]), (signal.SIGCHLD, [])])
def test_commands_are_read_when_their_signal_comes(played_run: PlayedRun, number: int | None, signals: list[int]) -> None:
    played_run.run(played_run.command("usr1", **({} if number is None else {"number": number})))
    assert played_run.actions == [*signals, "sweep"]


def test_commands_come_once_and_in_order(played_run: PlayedRun) -> None:
    played_run.run(played_run.command("usr1", "kill"), played_run.command(), played_run.end(9))
    assert played_run.actions == [signal.SIGUSR1, "kill", "sweep"]
    assert "command usr1" in played_run.trace


def test_a_job_that_is_over_is_left_alone(played_run: PlayedRun) -> None:
    played_run.run(played_run.end(), played_run.command("usr1"), epilog=METHOD)
    assert played_run.actions == ["sweep"]
    assert "command usr1 left alone: the job has ended already" in played_run.trace


@pytest.mark.statement("IA-9")
@pytest.mark.parametrize(("slave", "is_deleted", "killed"), [(0, False, False), (0, True, False), (2, True, True)])
def test_the_client_gets_the_outcome_of_the_job(played_run: PlayedRun, slave: int, is_deleted: bool, killed: bool) -> None:
    deletion = [played_run.command("terminate")] if is_deleted else []
    played_run.run(*deletion, played_run.end(3 << 8), session="pipes", slave=slave)
    assert played_run.session.calls == [(3, 0, "", not is_deleted), *(["killed"] if killed else [])]


@pytest.mark.statement("IA-9")
def test_a_session_whose_job_was_skipped_is_closed_and_takes_no_more_commands(played_run: PlayedRun) -> None:
    played_run.session.lingers = True
    events = played_run.end(FAILED), played_run.command("usr1"), played_run.end(0, SESSION_PID)
    played_run.run(*events, session="pipes", prolog=METHOD)
    assert played_run.actions == []
    assert "command usr1 left alone" in played_run.trace


@pytest.mark.statement("IA-9")
def test_a_client_that_leaves_ends_the_job(played_run: PlayedRun) -> None:
    status, end_reason = next(iter(session.END_REASONS.items()))
    record = played_run.run(played_run.end(status << 8, SESSION_PID), played_run.end(9), session="pipes")
    assert end_reason in played_run.trace
    assert record["reason"].endswith(end_reason)
    assert played_run.actions == ["kill", "sweep"]
    assert played_run.session.calls[0] == "ended"


def test_a_client_that_leaves_behind_its_job_ends_nothing(played_run: PlayedRun) -> None:
    played_run.session.lingers = True
    record = played_run.run(played_run.end(), played_run.end(FAILED, SESSION_PID), session="pipes")
    assert (record["reason"], played_run.actions, played_run.session.calls[1:]) == ("", ["sweep"], ["ended"])
    assert session.END_REASONS[1] not in played_run.trace


@pytest.mark.statement("EX-7")
@pytest.mark.parametrize(("status", "swept"), [(0, ["sweep"]), (FAILED, [])])
def test_remaining_processes_are_ended_if_there_was_a_job(played_run: PlayedRun, status: int, swept: list[str]) -> None:
    played_run.run(played_run.end(status), prolog=METHOD)
    assert played_run.actions == swept


@pytest.mark.parametrize(("before", "started"), [([], ["suspend_method"]), (["suspend"], [])])
def test_a_method_is_run_for_a_job_that_runs_alone(played_run: PlayedRun, before: list[str], started: list[str]) -> None:
    in_prolog = [played_run.command(each) for each in before]
    played_run.run(*in_prolog, played_run.end(), played_run.command("suspend"), prolog=METHOD, suspend_method=METHOD)
    assert played_run.steps == ["prolog", "job", *started]


@pytest.mark.statement("EX-4", "AC-2")
@pytest.mark.parametrize("has_started", [True, False])
def test_a_job_that_ran_when_its_shepherd_failed_has_a_run_time(played_run: PlayedRun, has_started: bool) -> None:
    def fail() -> int:
        raise OSError("no room")

    in_prolog = [played_run.end()] if has_started else []
    record = played_run.run(*in_prolog, played_run.passing(5), fail, prolog=METHOD)
    assert record["failed"] == 18
    assert record["reason"].endswith("shepherd failed: OSError: no room")
    assert (record["exit_status"], record["signal"]) == ((137, 9) if has_started else (0, 0))
    assert record["usage"]["ru_wallclock"] == (5 if has_started else 0)
