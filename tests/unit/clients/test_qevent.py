"""qevent: lines of the events, and scripts that run when jobs and tasks end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from clients import gdi, program, qevent


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The programs that were started."""
    found: list[list[str]] = []

    def spawn(path: str, arguments: list[str], environment: object) -> int:
        if not path.startswith("/"):
            raise FileNotFoundError(2, "No such file or directory")
        found.append(arguments)
        return 1

    monkeypatch.setattr(os, "posix_spawnp", spawn)
    monkeypatch.setattr(os, "waitpid", lambda pid, options: (pid, 0))
    monkeypatch.chdir(tmp_path)
    return found


def _streams(monkeypatch: pytest.MonkeyPatch, *streams: list[dict[str, Any]]) -> list[object]:
    """The qmaster's streams in sequence; each breaks off, but the last ends."""
    asked: list[object] = []
    left = list(streams)

    def stream(name: str, body: object) -> Any:
        asked.append(body)
        yield {"id": 11}
        yield from left.pop(0)
        if left:
            raise gdi.Unreachable("the connection broke")
        yield {"end": "an administrator has removed it"}

    monkeypatch.setattr(gdi, "stream", stream)
    return asked


def _record(number: int, kind: str, action: str, name: str = "", data: Any = None) -> dict[str, Any]:
    return {"number": number, "type": kind, "action": action, "name": name, "data": data}


def _job(number: int) -> dict[str, int]:
    return {"job_id": number}


@pytest.mark.statement("EV-9")
def test_events_are_printed_one_a_line(
    monkeypatch: pytest.MonkeyPatch, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    records = [_record(1, "ADMINHOST", "LIST", data=[{}, {}]), _record(2, "CALENDAR", "ADD", "night", {})]
    _streams(monkeypatch, records)
    assert program.run_guarded("qevent", qevent.qevent, ["-sm"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "1. EVENT ADMINHOST LIST 2 Elements\n2. EVENT ADD CALENDAR night\n"
    assert captured.err == "qevent: the qmaster has ended the events: an administrator has removed it\n"
    assert not Path("qevent.pid").exists()


@pytest.mark.statement("EV-9")
def test_a_script_gets_event_job_and_task(monkeypatch: pytest.MonkeyPatch, started: list[list[str]]) -> None:
    task = {"job_id": 7, "task_id": 3}
    asked = _streams(
        monkeypatch,
        [
            _record(1, "JATASK", "LIST", data=[]),
            _record(2, "JOB", "LIST", data=[_job(7)]),
            _record(3, "JATASK", "ADD", "7.3", task),
            _record(4, "JATASK", "DEL", "7.3", task),
            _record(5, "JOB", "MOD", "7", _job(7)),
            _record(6, "JOB", "DEL", "7", _job(7)),
        ],
    )
    program.run_guarded("qevent", qevent.qevent, ["-trigger", "JB_END", "/a b;c", "-trigger", "JB_TASK_END", "/t"])
    assert started == [["/t", "JB_TASK_END", "7", "3"], ["/a b;c", "JB_END", "7", "0"]], "no shell is between"
    assert asked == [{"name": "qevent", "types": ["JATASK", "JOB"]}]


@pytest.mark.statement("EV-9")
def test_jobs_that_ended_while_the_stream_was_broken_are_reported(
    monkeypatch: pytest.MonkeyPatch, started: list[list[str]]
) -> None:
    before = [_record(1, "JOB", "LIST", data=[_job(1), _job(2)]), _record(2, "JOB", "ADD", "3", _job(3))]
    _streams(monkeypatch, before, [_record(1, "JOB", "LIST", data=[_job(2)])])
    program.run_guarded("qevent", qevent.qevent, ["-trigger", "JB_END", "/t"])
    assert started == [["/t", "JB_END", "1", "0"], ["/t", "JB_END", "3", "0"]]


@pytest.mark.statement("EV-9")
@pytest.mark.parametrize("line", ["", "-trigger JB_END", "-trigger NOSUCH x", "-x", "-sm -trigger JB_END x"])
def test_invalid_calls_are_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_guarded("qevent", qevent.qevent, line.split()) == 1
    message, below = capsys.readouterr().err.splitlines()
    assert message.startswith("qevent: ") and below.startswith(("usage: qevent", "hint: -trigger "))


def test_a_script_that_is_not_there_is_reported_and_the_next_event_comes(
    monkeypatch: pytest.MonkeyPatch, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    ends = [_record(2, "JOB", "DEL", "1", _job(1)), _record(3, "JOB", "DEL", "2", _job(2))]
    _streams(monkeypatch, [_record(1, "JOB", "LIST", data=[]), *ends])
    program.run_guarded("qevent", qevent.qevent, ["-trigger", "JB_END", "nosuch"])
    assert capsys.readouterr().err.count("cannot run nosuch: No such file") == 2
