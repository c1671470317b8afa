"""A shepherd leaves an `exit` file despite any fault, and sets itself up before (EX-3, EX-4, EX-6)."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from shepherd import process_tree, shepherd_process, task_files
from shepherd.run import BLOCKED
from tests.unit.shepherd.configuration import BASE

ENDED = {"failed": 0, "exit_status": 3}


class Run:
    """A task that ends at once."""

    def __init__(self, *_: object) -> None:
        pass

    def run(self) -> dict[str, object]:
        return {**ENDED}


class Broken(Run):
    def run(self) -> dict[str, object]:
        raise ZeroDivisionError("division by zero")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a shepherd makes of its own process."""
    made: list[Any] = []
    monkeypatch.setattr(signal, "signal", lambda *given: made.append(given))
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *given: made.append(given))
    monkeypatch.setattr(os, "setsid", lambda: made.append("session"))
    monkeypatch.setattr(os, "umask", made.append)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(process_tree, "become_subreaper", lambda: made.append("subreaper"))
    monkeypatch.setattr(process_tree, "set_name", made.append)
    monkeypatch.setattr(process_tree, "drop_ambient_capabilities", lambda: made.append("capabilities"))
    monkeypatch.setattr(process_tree, "kill_tree", lambda pid: made.append(("killed", pid)))
    monkeypatch.setattr(shepherd_process.time, "time", lambda: 500.0)
    monkeypatch.setattr(shepherd_process, "TaskRun", Run)
    return made


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (tmp_path / task_files.CONFIG).write_text(json.dumps({**BASE, "groups": [1001]}))
    return tmp_path


def ended(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / task_files.EXIT).read_text())
    return found


@pytest.mark.statement("EX-6", "EX-9")
def test_a_shepherd_is_a_session_of_its_own_that_inherits_what_the_job_leaves(task: Path, done: list[Any]) -> None:
    shepherd_process.shepherd(task)
    handlers = [(number, signal.SIG_DFL) for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)]
    assert done == [*handlers, (signal.SIG_BLOCK, BLOCKED), "session", 0o022, "subreaper", "sge_shepherd", "capabilities"]
    assert task_files.running(task / task_files.PID) == os.getpid()
    assert ended(task) == ENDED
    lines = [line.partition("]: ")[2] for line in (task / task_files.TRACE).read_text().splitlines()]
    assert lines == ["shepherd started", "failed 0, exit status 3"]


@pytest.mark.statement("EX-9")
@pytest.mark.usefixtures("done")
def test_a_task_that_has_a_shepherd_is_left_alone(task: Path) -> None:
    (task / task_files.PID).write_text("321 5\n")
    shepherd_process.shepherd(task)
    assert sorted(path.name for path in task.iterdir()) == [task_files.CONFIG, task_files.PID]


@pytest.mark.statement("EX-4")
@pytest.mark.usefixtures("done")
@pytest.mark.parametrize(
    ("config", "reason"), [("no configuration", ""), (json.dumps({**BASE, "uid": None}), 'user "alice" is unknown on this host')]
)
def test_a_task_that_cannot_start_has_failed_early_with_a_reason(task: Path, config: str, reason: str) -> None:
    (task / task_files.CONFIG).write_text(config)
    shepherd_process.shepherd(task)
    record = ended(task)
    assert (record["failed"], record["exit_status"], record["signal"]) == (1, 0, 0)
    assert (record["start_time"], record["end_time"], record["usage"]["ru_wallclock"]) == (0.0, 500.0, 0.0)
    assert record["reason"].endswith(f"[0:{os.getpid()}]: {reason}") if reason else record["reason"]


@pytest.mark.statement("EX-4")
@pytest.mark.usefixtures("done")
def test_a_directory_that_takes_no_process_id_is_named(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def claim(_: Path) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(task_files, "claim", claim)
    shepherd_process.shepherd(task)
    record = ended(task)
    assert record["failed"] == 4
    assert record["reason"].endswith(f"can't write into {task}: No space left on device")


@pytest.mark.statement("EX-4", "EX-7")
def test_a_fault_of_the_shepherd_ends_the_job_and_is_reported(
    task: Path, done: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shepherd_process, "TaskRun", Broken)
    shepherd_process.shepherd(task)
    assert done[-1] == ("killed", os.getpid())
    record = ended(task)
    assert record["failed"] == 18
    assert record["reason"].endswith("shepherd failed: ZeroDivisionError: division by zero")
