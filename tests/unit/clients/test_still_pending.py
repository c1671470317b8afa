"""The message of a command that waits for a job which does not start."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clients import gdi, program, progress


@pytest.mark.statement("SO-34")
def test_a_waiting_command_reports_once_that_the_job_is_still_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    spoken = threading.Event()

    def print_error(text: str) -> None:
        printed.append(text)
        spoken.set()

    def stream(name: str, body: Any) -> Iterator[dict[str, Any]]:
        assert spoken.wait(30)
        yield {"task_id": 1}
        yield {"task_id": 1, "exit_status": 0}
        yield {"over": True}

    monkeypatch.setattr(program, "print_error", print_error)
    monkeypatch.setattr(progress, "PENDING_S", 0.01)
    monkeypatch.setattr(gdi, "stream", stream)
    records = progress.records_of(7)
    assert next(records) == {"task_id": 1}
    records.close()  # type: ignore[attr-defined]
    assert printed == ["job 7 is still pending: qexplain 7 says why"]


def test_a_wait_that_is_quiet_reports_nothing_and_no_end_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    timers = threading.active_count()

    def stream(name: str, body: Any) -> Iterator[dict[str, Any]]:
        assert threading.active_count() == timers
        yield {"task_id": 1, "exit_status": 0}
        yield {"task_id": 2, "exit_status": 0}
        yield {"done": True}

    monkeypatch.setattr(program, "print_error", printed.append)
    monkeypatch.setattr(gdi, "stream", stream)
    assert list(progress.records_of(7, seen=[1], is_quiet=True)) == [{"task_id": 2, "exit_status": 0}]
    assert printed == []


def test_nothing_is_printed_of_a_job_that_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr(program, "print_error", printed.append)
    monkeypatch.setattr(gdi, "stream", lambda name, body: iter([{"task_id": 1}]))
    records = progress.records_of(7)
    next(records)
    records.close()  # type: ignore[attr-defined]
    assert printed == []
