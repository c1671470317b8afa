"""The record of a step that ended, or was never tried: the outcome, the trace, the times. Processes are played."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from shepherd import task_files
from shepherd.containment import Containment
from shepherd.faults import BY_CODE, JOB
from tests.unit.shepherd.played_run import EPOCH, PlayedRun

METHOD, OF_ROOT = "/bin/true", "root@/bin/true"
FAILED = 1 << 8


@pytest.mark.statement("EX-7", "AC-1")
def test_the_wall_clock_time_of_a_job_is_by_the_monotonic_clock(played_run: PlayedRun) -> None:
    record = played_run.run(played_run.passing(42))
    assert (record["usage"]["ru_wallclock"], record["start_time"]) == (42.0, EPOCH)


def test_a_job_that_did_not_reach_its_program_has_no_start_time(played_run: PlayedRun) -> None:
    played_run.failure = 15, "no such shell", BY_CODE
    record = played_run.run(played_run.passing(42), played_run.end(FAILED))
    assert (record["start_time"], record["usage"]["ru_wallclock"], record["failed"]) == (0.0, 0.0, 15)


@pytest.mark.parametrize(("kills", "exit_status", "expected"), [(1, 3, 137), (0, 3, 3), (1, 0, 0)])
def test_a_job_whose_memory_the_kernel_took_was_killed(
    played_run: PlayedRun, monkeypatch: pytest.MonkeyPatch, kills: int, exit_status: int, expected: int
) -> None:
    monkeypatch.setattr(Containment, "oom_kills", lambda _: kills)
    record = played_run.run(played_run.end(exit_status << 8), limits={"h_vmem": 100})
    assert record["exit_status"] == expected
    assert (record["signal"] == signal.SIGKILL) == (expected == 137)


def test_a_step_that_cannot_be_started_fails_by_its_code_with_a_reason(played_run: PlayedRun) -> None:
    record = played_run.run(prolog="/bin/true $no")
    assert played_run.steps == []
    assert (record["failed"], record["method"]) == (7, "prolog")
    assert 'prolog: unknown variable "$no"' in record["reason"]
    assert 'prolog: unknown variable "$no"' in played_run.trace


def test_a_step_is_skipped_when_one_that_it_needs_did_not_succeed(played_run: PlayedRun) -> None:
    record = played_run.run(played_run.end(FAILED), prolog=METHOD)
    assert played_run.steps == ["prolog"]
    assert "job skipped" in played_run.trace
    assert record["failed"] == 8


@pytest.mark.parametrize("methods", [{}, {"prolog": METHOD}])
def test_a_task_that_was_ended_before_its_step_counts_as_killed(
    played_run: PlayedRun, tmp_path: Path, methods: dict[str, str]
) -> None:
    task_files.add_command(tmp_path, "terminate")
    record = played_run.run(**methods)
    assert played_run.steps == []
    assert (record["exit_status"], record["signal"]) == (137, signal.SIGKILL)
    assert "the job was to be deleted" in record["reason"]


def test_a_method_that_fails_is_in_the_trace(played_run: PlayedRun) -> None:
    record = played_run.run(played_run.end(), played_run.end(3 << 8), epilog=OF_ROOT)
    assert "epilog ended with 3" in played_run.trace
    assert record["method"] == "epilog"


@pytest.mark.statement("AC-2")
@pytest.mark.parametrize(("status", "expected"), [(0, (0, 0)), (3 << 8, (3, 0)), (9, (137, 9)), (15, (143, 15))])
def test_the_exit_status_of_a_process_is_that_of_a_shell(
    played_run: PlayedRun, status: int, expected: tuple[int, int]
) -> None:
    record = played_run.run(played_run.end(status))
    assert (record["exit_status"], record["signal"]) == expected


@pytest.mark.parametrize(
    ("failure", "is_late", "failed", "reason"),
    [
        ((0, "", BY_CODE), False, 8, "prolog ended with exit status 1"),
        ((0, "", BY_CODE), True, 8, "prolog took longer than 5 s"),
        ((15, "no shell", BY_CODE), True, 15, "no shell"),
    ],
)
def test_the_reason_of_an_end_is_the_setup_before_the_timeout(
    played_run: PlayedRun, failure: tuple[int, str, str], is_late: bool, failed: int, reason: str
) -> None:
    played_run.failure = failure
    events = [played_run.passing(5)] if is_late else []
    record = played_run.run(*events, played_run.end(FAILED), prolog=METHOD, method_timeout_s=5)
    assert record["failed"] == failed
    assert record["reason"].endswith(reason)
    assert f"{reason if failure[0] or is_late else 1}\n" in played_run.trace


@pytest.mark.statement("RL-4")
@pytest.mark.parametrize(("status", "is_limit"), [(9, True), (137 << 8, True), (136 << 8, False), (138 << 8, False), (0, False)])
def test_a_job_that_died_of_sigkill_may_have_exceeded_its_processor_time(
    played_run: PlayedRun, status: int, is_limit: bool
) -> None:
    played_run.cpu_s = 10.0
    record = played_run.run(played_run.end(status), limits={"h_cpu": 10})
    assert ("limit h_cpu of 10 s exceeded" in record["reason"]) == is_limit


@pytest.mark.parametrize(("is_deleted", "status", "killed"), [(True, 9, True), (True, 3 << 8, False), (False, 9, False)])
def test_a_method_that_the_shepherd_killed_is_the_end_of_the_job(
    played_run: PlayedRun, is_deleted: bool, status: int, killed: bool
) -> None:
    deletion = [played_run.command("terminate")] if is_deleted else []
    record = played_run.run(*deletion, played_run.end(status), prolog=OF_ROOT)
    assert (record["signal"] == signal.SIGKILL) == killed
    assert ("the job was to be deleted" in record["reason"]) == killed


@pytest.mark.statement("QI-10")
@pytest.mark.parametrize(("method", "fault"), [(METHOD, JOB), (OF_ROOT, BY_CODE)])
def test_a_method_of_the_owner_that_dies_of_a_signal_is_no_fault_of_the_queue(
    played_run: PlayedRun, method: str, fault: str
) -> None:
    assert played_run.run(played_run.end(137 << 8), prolog=method)["fault"] == fault
