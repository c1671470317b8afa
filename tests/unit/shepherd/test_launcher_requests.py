"""Answers of the launcher, and its treatment of the tasks that it finds: no shepherd is forked here."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shepherd import adoption, launcher, task_files
from shepherd.launcher import Launcher
from shepherd.run import COMMAND_SIGNAL

PATIENCE_S = 60.0


class Played(Launcher):
    """A launcher whose turns a test takes; it only notes what it would fork, finalise and signal."""

    def __init__(self, spool: Path) -> None:
        self.forked: list[tuple[str, str]] = []
        super().__init__(spool)

    def _fork(self, directory: str, wrapper: str) -> None:
        self.forked.append((directory, wrapper))
        self._pids[directory] = 4711

    def ask(self, **request: Any) -> dict[str, Any]:
        return self._request(json.dumps(request).encode())

    def turn(self) -> None:
        for descriptor, events in self._poll.poll(0):
            self._ready(descriptor, events)

    def close(self) -> None:
        for connection in list(self._connections.values()):
            self._close(connection)
        for descriptor in (*self._adopted, self._wakeup, self._writing):
            os.close(descriptor)
        self._listener.close()
        self._poll.close()


@pytest.fixture
def finalised(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tasks that were finalised."""
    names: list[str] = []

    def finalise(directory: Path) -> None:
        names.append(directory.name)
        (directory / task_files.EXIT).touch()

    monkeypatch.setattr(adoption, "kill_job", lambda *_: None)
    monkeypatch.setattr(adoption, "finalise", finalise)
    return names


@pytest.fixture
def task(tmp_path: Path) -> Path:
    directory = tmp_path / "active_jobs" / "7.1"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def played(tmp_path: Path, task: Path, finalised: list[str]) -> Iterator[Played]:
    with closing(Played(tmp_path)) as made:
        yield made


@pytest.fixture
def adopting(tmp_path: Path, task: Path, finalised: list[str]) -> Iterator[Played]:
    """The task has a shepherd that lives, started by an earlier launcher: this process."""
    task_files.write_process(task / task_files.PID, os.getpid())
    with closing(Played(tmp_path)) as made:
        yield made


class Client:
    def __init__(self, played: Played, spool: Path) -> None:
        self._played = played
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(str(spool / launcher.SOCKET))
        played.turn()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)
        self._played.turn()

    def close(self) -> None:
        self.socket.close()

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.socket.recv(65536).splitlines()]


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"7", b"{}", b'"list"', b"\xff"])
def test_an_invalid_request_is_refused(played: Played, line: bytes) -> None:
    assert played._request(line) == {
        "op": "failed", "directory": "",
        "reason": 'the request is not a JSON object with "op"',
    }


def test_only_directories_of_tasks_are_served(played: Played, tmp_path: Path, task: Path) -> None:
    (task / "below").mkdir()
    for directory in ("", str(tmp_path), str(task / "below"), str(task.parent / "8.1")):
        answer = played.ask(op="start", directory=directory)
        assert (answer["op"], answer["directory"]) == ("failed", directory)
        assert answer["reason"] == f"not a task's directory below {task.parent}"
    assert played.forked == []


def test_an_unknown_request_is_named(played: Played, task: Path) -> None:
    answer = played.ask(op="stop", directory=str(task))
    assert answer == {"op": "failed", "directory": str(task), "reason": 'unknown request "stop"'}


@pytest.mark.parametrize(("fields", "wrapper"), [({}, ""), ({"shepherd_cmd": None}, ""), ({"shepherd_cmd": "/w"}, "/w")])
def test_a_task_is_started_once_however_often_it_is_requested(
    played: Played, task: Path, fields: dict[str, Any], wrapper: str
) -> None:
    for _ in range(2):
        answer = played.ask(op="start", directory=str(task), **fields)
        assert answer == {"op": "started", "directory": str(task), "pid": 4711}
    assert played.forked == [(str(task), wrapper)]
    assert played.ask(op="list") == {"op": "list", "running": [str(task)]}


def test_a_task_that_is_over_is_not_started_again(played: Played, task: Path) -> None:
    (task / task_files.PID).write_text("321 5\n")
    (task / task_files.EXIT).touch()
    assert played.ask(op="start", directory=str(task)) == {"op": "started", "directory": str(task), "pid": 321}
    assert played.forked == []


def test_a_task_that_was_started_by_another_launcher_is_adopted_not_started(played: Played, task: Path) -> None:
    task_files.write_process(task / task_files.PID, os.getpid())
    assert played.ask(op="start", directory=str(task))["pid"] == os.getpid()
    assert played.forked == []
    assert played.ask(op="list")["running"] == [str(task)]


def test_a_task_whose_shepherd_died_before_this_launcher_came_is_finalised(
    tmp_path: Path, task: Path, finalised: list[str]
) -> None:
    (task / task_files.PID).write_text(f"{os.getpid()} 1\n")  # the number has been given to another process since
    with closing(Played(tmp_path)) as played:
        assert played.ask(op="list")["running"] == []
    assert finalised == ["7.1"]


def test_a_fork_that_the_host_refuses_is_a_failure_with_its_reason(
    played: Played, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(played, "_fork", fork)
    answer = played.ask(op="start", directory=str(task))
    assert (answer["op"], answer["reason"]) == ("failed", "can't fork a shepherd: Resource temporarily unavailable")
    assert played.ask(op="list")["running"] == []


def test_an_adopted_shepherd_is_signalled(adopting: Played, task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alerted: list[tuple[int, int]] = []
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *given: alerted.append(given))
    answer = adopting.ask(op="signal", directory=str(task), command="signal=-9")
    assert answer == {"op": "signalled", "directory": str(task), "command": "signal=-9"}
    assert alerted == [(next(iter(adopting._adopted)), COMMAND_SIGNAL)]
    assert task_files.commands_after(task, 0)[0] == ["signal=-9"]


def test_an_own_shepherd_is_signalled(played: Played, task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alerted: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *given: alerted.append(given))
    played.ask(op="start", directory=str(task))
    assert played.ask(op="signal", directory=str(task), command="suspend")["op"] == "signalled"
    assert alerted == [(4711, COMMAND_SIGNAL)]
    played._wrapped.add(str(task))  # it is below shepherd_cmd, and has not written its process id yet
    assert played.ask(op="signal", directory=str(task), command="resume")["op"] == "signalled"
    assert alerted == [(4711, COMMAND_SIGNAL)]
    assert task_files.commands_after(task, 0)[0] == ["suspend", "resume"]


@pytest.mark.parametrize("command", ["", "two words", "x" * 33, "signal=", "signal=1000", "../x", "a\nb"])
def test_invalid_commands_are_not_passed_on(adopting: Played, task: Path, command: str) -> None:
    answer = adopting.ask(op="signal", directory=str(task), command=command)
    assert (answer["op"], answer["reason"]) == ("failed", f'"{command}" is no command')
    assert not (task / task_files.COMMANDS).exists()


def test_a_task_without_a_shepherd_takes_no_command(played: Played, task: Path) -> None:
    answer = played.ask(op="signal", directory=str(task), command="suspend")
    assert (answer["op"], answer["reason"], "again" in answer) == ("failed", "its shepherd does not run", False)


@pytest.mark.parametrize(
    ("error", "reason", "again"),
    [
        (ProcessLookupError(), "its shepherd does not run", False),
        (OSError(28, "No space left on device"), "can't pass the command on: No space left on device", True),
    ],
)
def test_a_command_that_cannot_be_passed_on_may_be_tried_again_if_that_helps(
    adopting: Played, task: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str, again: bool
) -> None:
    def add(*_: object) -> None:
        raise error

    monkeypatch.setattr(task_files, "add_command", add)
    answer = adopting.ask(op="signal", directory=str(task), command="suspend")
    assert (answer["op"], answer["reason"], answer.get("again", False)) == ("failed", reason, again)


def test_requests_come_in_pieces_and_several_at_once(played: Played, tmp_path: Path) -> None:
    with closing(Client(played, tmp_path)) as client:
        client.send(b'{"op": "li')
        client.send(b'st"}\n{"op": "list"}\n{"op":')
        assert client.messages() == [{"op": "list", "running": []}] * 2
        client.send(b' "list"}\n')
        assert client.messages() == [{"op": "list", "running": []}]


def test_a_client_that_leaves_is_forgotten(played: Played, tmp_path: Path) -> None:
    with closing(Client(played, tmp_path)):
        assert len(played._connections) == 1
    played.turn()
    assert played._connections == {}


def test_every_client_gets_an_end_and_no_ended_task_is_listed_as_running(
    played: Played, tmp_path: Path, task: Path, finalised: list[str]
) -> None:
    with closing(Client(played, tmp_path)) as one, closing(Client(played, tmp_path)) as two:
        played.ask(op="start", directory=str(task))
        played._ended(str(task))
        assert one.messages() == two.messages() == [{"op": "exited", "directory": str(task)}]
    assert finalised == ["7.1"]
    assert played.ask(op="list")["running"] == []


def test_a_task_whose_shepherd_reported_its_end_is_not_finalised(played: Played, task: Path, finalised: list[str]) -> None:
    (task / task_files.EXIT).touch()
    played._ended(str(task))
    assert finalised == []


def test_an_end_that_a_full_disk_refuses_is_reported_when_it_is_written(
    played: Played, tmp_path: Path, task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def finalise(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with closing(Client(played, tmp_path)) as client, monkeypatch.context() as full:
        full.setattr(adoption, "finalise", finalise)
        for _ in range(2):
            played._ended(str(task))
        assert played._unfinalised == {str(task)}
        assert capsys.readouterr().err.count("can't write the end of") == 1
        full.undo()
        (task / task_files.EXIT).touch()
        played._ended(str(task))
        assert client.messages() == [{"op": "exited", "directory": str(task)}]
    assert played._unfinalised == set()


def test_a_launcher_serves_one_spool_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert launcher.main([]) == launcher.main(["a", "b"]) == 2
    assert "usage:" in capsys.readouterr().err


def test_a_missing_spool_directory_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launcher.main([str(tmp_path / "gone")]) == 1
    assert f"can't use {tmp_path / 'gone'}" in capsys.readouterr().err
