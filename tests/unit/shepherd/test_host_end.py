"""A job that dies with its host was lost; a job that dies while its host stays has ended (EX-10)."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from shepherd import host_end
from tests.unit.shepherd.played_run import PlayedRun

METHOD = "/bin/true"
REBOOTED = "the host was rebooted while the job ran"


def test_a_sigterm_of_the_system_ends_no_job(played_run: PlayedRun) -> None:
    record = played_run.run(lambda: signal.SIGTERM, played_run.end())
    assert (played_run.actions, record["failed"]) == (["sweep"], 0)
    assert "SIGTERM of process 1 left alone" in played_run.trace


@pytest.mark.statement("EX-10")
@pytest.mark.parametrize("status", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, (128 + signal.SIGTERM) << 8])
def test_a_job_that_dies_in_a_shutdown_was_lost_and_no_method_follows(played_run: PlayedRun, status: int) -> None:
    played_run.is_shutting_down = True
    record = played_run.run(played_run.end(status), epilog=METHOD, pe_stop=METHOD)
    assert (record["failed"], record["exit_status"]) == (19, status >> 8 or 128 + status)
    assert record["reason"].endswith(REBOOTED) and played_run.steps == ["job"]


@pytest.mark.statement("EX-10")
@pytest.mark.parametrize(("status", "failed"), [(0, 0), (7 << 8, 0), (99 << 8, 25), (signal.SIGSEGV, 100)])
def test_a_job_that_ends_by_itself_in_a_shutdown_has_ended(played_run: PlayedRun, status: int, failed: int) -> None:
    played_run.is_shutting_down = True
    assert played_run.run(played_run.end(status))["failed"] == failed


@pytest.mark.statement("EX-10")
def test_a_deleted_job_was_deleted_also_in_a_shutdown(played_run: PlayedRun) -> None:
    played_run.is_shutting_down = True
    record = played_run.run(played_run.command("terminate"), played_run.end(signal.SIGKILL))
    assert record["failed"] == 100 and record["reason"].endswith("the job was to be deleted")


@pytest.mark.statement("EX-10")
@pytest.mark.parametrize(("passed_s", "failed"), [(5, 19), (500, 100)])
def test_a_job_that_dies_with_a_sigterm_to_its_shepherd_was_lost(played_run: PlayedRun, passed_s: float, failed: int) -> None:
    events = [lambda: signal.SIGTERM, played_run.passing(passed_s), played_run.end(signal.SIGTERM)]
    record = played_run.run(*events, limits={"h_rt": 1000})
    assert record["failed"] == failed
    assert ("container or session" in record["reason"]) == (failed == 19)


@pytest.mark.statement("EX-10")
@pytest.mark.parametrize(("pending", "failed"), [({signal.SIGTERM}, 19), (set(), 100)])
def test_a_job_that_gets_its_sigterm_before_its_shepherd_was_lost(
    played_run: PlayedRun, monkeypatch: pytest.MonkeyPatch, pending: set[int], failed: int
) -> None:
    monkeypatch.setattr(signal, "sigpending", lambda: pending)
    record = played_run.run(played_run.end(signal.SIGTERM), lambda: signal.SIGTERM)
    assert record["failed"] == failed


@pytest.mark.statement("EX-10", "EX-3")
def test_a_prolog_that_dies_in_a_shutdown_is_no_fault_of_the_queue(played_run: PlayedRun) -> None:
    played_run.is_shutting_down = True
    record = played_run.run(played_run.end(signal.SIGTERM), prolog=METHOD, epilog=METHOD)
    assert (record["failed"], record["exit_status"], played_run.steps) == (19, 0, ["prolog"])


@pytest.mark.statement("EX-10")
def test_a_job_whose_epilog_dies_in_a_shutdown_has_ended(played_run: PlayedRun) -> None:
    played_run.is_shutting_down = True
    record = played_run.run(played_run.end(3 << 8), played_run.end(signal.SIGTERM), epilog=METHOD)
    assert (record["failed"], record["exit_status"], record["method"]) == (100, 3, "epilog")


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The answer of systemd, one element; process 1 of the host is `init`."""
    (tmp_path / "comm").write_text("systemd\n")
    answer = ["running"]
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=f"{answer[0]}\n"))
    return answer


@pytest.mark.parametrize(("answer", "expected"), [("running", False), ("degraded", False), ("stopping", True), ("", False)])
def test_a_shutdown_is_known_from_systemd(manager: list[str], tmp_path: Path, answer: str, expected: bool) -> None:
    manager[0] = answer
    assert host_end.is_shutting_down(tmp_path, tmp_path) is expected


def test_the_last_phase_of_a_shutdown_is_known_from_process_1(manager: list[str], tmp_path: Path) -> None:
    assert not host_end.is_shutting_down(tmp_path, tmp_path / "none")
    (tmp_path / "comm").write_text("systemd-shutdow\n")
    assert host_end.is_shutting_down(tmp_path, tmp_path / "none")


def test_a_manager_without_an_answer_is_no_shutdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "comm").write_text("systemd\n")

    def hang(*_: object, timeout: float, **__: object) -> None:
        raise subprocess.TimeoutExpired("systemctl", timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    assert not host_end.is_shutting_down(tmp_path, tmp_path)
