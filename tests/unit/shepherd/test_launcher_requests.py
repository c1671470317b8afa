"""Answers of the launcher, and its treatment of the tasks that it finds: no shepherd is forked here."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shepherd import adoption, launcher, process_tree, task_files
from shepherd.run import COMMAND_SIGNAL
from tests.unit.shepherd.played_launcher import Client, PlayedLauncher


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
def played(tmp_path: Path, task: Path, finalised: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[PlayedLauncher]:
    with closing(PlayedLauncher(tmp_path, monkeypatch)) as made:
        made.open()
        yield made


@pytest.fixture
def adopting(tmp_path: Path, task: Path, finalised: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[PlayedLauncher]:
    """The task has a shepherd that lives, started by an earlier launcher: this process."""
    task_files.write_process(task / task_files.PID, os.getpid())
    with closing(PlayedLauncher(tmp_path, monkeypatch)) as made:
        yield made


@pytest.fixture
def alerted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The processes that got a signal."""
    found: list[tuple[int, int]] = []

    def by_descriptor(descriptor: int, number: int) -> None:
        fields = dict(line.split(":") for line in Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines())
        found.append((int(fields["Pid"]), number))

    monkeypatch.setattr(os, "kill", lambda *given: found.append(given))
    monkeypatch.setattr(signal, "pidfd_send_signal", by_descriptor)
    return found


def connect(played: PlayedLauncher, spool: Path) -> Client:
    return Client(spool / launcher.SOCKET, played.turn)


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"7", b"{}", b'"list"', b"\xff"])
def test_an_invalid_request_is_refused(played: PlayedLauncher, line: bytes) -> None:
    assert played.answer(line) == {
        "op": "failed", "directory": "",
        "reason": 'the request is not a JSON object with "op"',
    }


def test_only_directories_of_tasks_are_served(played: PlayedLauncher, tmp_path: Path, task: Path) -> None:
    (task / "below").mkdir()
    for directory in ("", str(tmp_path), str(task / "below"), str(task.parent / "8.1")):
        answer = played.ask(op="start", directory=directory)
        assert (answer["op"], answer["directory"]) == ("failed", directory)
        assert answer["reason"] == f"not a task's directory below {task.parent}"
    assert played.forked == []


def test_an_unknown_request_is_named(played: PlayedLauncher, task: Path) -> None:
    answer = played.ask(op="stop", directory=str(task))
    assert answer == {"op": "failed", "directory": str(task), "reason": 'unknown request "stop"'}


@pytest.mark.parametrize(("fields", "wrapper"), [({}, ""), ({"shepherd_cmd": None}, ""), ({"shepherd_cmd": "/w"}, "/w")])
def test_a_task_is_started_once_however_often_it_is_requested(
    played: PlayedLauncher, task: Path, fields: dict[str, Any], wrapper: str
) -> None:
    for _ in range(2):
        answer = played.ask(op="start", directory=str(task), **fields)
        assert answer == {"op": "started", "directory": str(task), "pid": 4711}
    assert played.forked == [(str(task), wrapper)]
    assert played.ask(op="list") == {"op": "list", "running": [str(task)]}


def test_a_task_that_is_over_is_not_started_again(played: PlayedLauncher, task: Path) -> None:
    (task / task_files.PID).write_text("321 5\n")
    (task / task_files.EXIT).touch()
    assert played.ask(op="start", directory=str(task)) == {"op": "started", "directory": str(task), "pid": 321}
    assert played.forked == []


def test_a_task_that_was_started_by_another_launcher_is_adopted_not_started(played: PlayedLauncher, task: Path) -> None:
    task_files.write_process(task / task_files.PID, os.getpid())
    assert played.ask(op="start", directory=str(task))["pid"] == os.getpid()
    assert played.forked == []
    assert played.running == [str(task)]


def test_a_task_whose_shepherd_died_before_this_launcher_came_is_finalised(
    tmp_path: Path, task: Path, finalised: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (task / task_files.PID).write_text(f"{os.getpid()} 1\n")  # the number has been given to another process since
    with closing(PlayedLauncher(tmp_path, monkeypatch)) as played:
        assert played.running == []
    assert finalised == ["7.1"]


def test_a_fork_that_the_host_refuses_is_a_failure_with_its_reason(
    played: PlayedLauncher, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(process_tree, "fork_child", fork)
    answer = played.ask(op="start", directory=str(task))
    assert (answer["op"], answer["reason"]) == ("failed", "can't fork a shepherd: Resource temporarily unavailable")
    assert played.running == []


def test_an_adopted_shepherd_is_signalled(adopting: PlayedLauncher, task: Path, alerted: list[tuple[int, int]]) -> None:
    answer = adopting.ask(op="signal", directory=str(task), command="signal=-9")
    assert answer == {"op": "signalled", "directory": str(task), "command": "signal=-9"}
    assert alerted == [(os.getpid(), COMMAND_SIGNAL)]
    assert task_files.commands_after(task, 0)[0] == ["signal=-9"]


def test_an_own_shepherd_is_signalled(played: PlayedLauncher, task: Path, alerted: list[tuple[int, int]]) -> None:
    played.ask(op="start", directory=str(task))
    assert played.ask(op="signal", directory=str(task), command="suspend")["op"] == "signalled"
    assert alerted == [(4711, COMMAND_SIGNAL)]
    assert task_files.commands_after(task, 0)[0] == ["suspend"]


def test_a_shepherd_that_is_not_there_below_its_wrapper_yet_finds_its_commands(
    played: PlayedLauncher, task: Path, alerted: list[tuple[int, int]]
) -> None:
    played.ask(op="start", directory=str(task), shepherd_cmd="/w")
    assert played.ask(op="signal", directory=str(task), command="resume")["op"] == "signalled"
    assert alerted == []
    assert task_files.commands_after(task, 0)[0] == ["resume"]
    (task / task_files.EXIT).touch()
    played.end(4711)
    (task / task_files.EXIT).unlink()
    played.ask(op="start", directory=str(task))
    played.ask(op="signal", directory=str(task), command="resume")
    assert alerted == [(4712, COMMAND_SIGNAL)], "its next shepherd has no wrapper"


@pytest.mark.parametrize("command", ["", "two words", "x" * 33, "signal=", "signal=1000", "../x", "a\nb"])
def test_invalid_commands_are_not_passed_on(adopting: PlayedLauncher, task: Path, command: str) -> None:
    answer = adopting.ask(op="signal", directory=str(task), command=command)
    assert (answer["op"], answer["reason"]) == ("failed", f'"{command}" is no command')
    assert not (task / task_files.COMMANDS).exists()


def test_a_task_without_a_shepherd_takes_no_command(played: PlayedLauncher, task: Path) -> None:
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
    adopting: PlayedLauncher, task: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str, again: bool
) -> None:
    def add(*_: object) -> None:
        raise error

    monkeypatch.setattr(task_files, "add_command", add)
    answer = adopting.ask(op="signal", directory=str(task), command="suspend")
    assert (answer["op"], answer["reason"], answer.get("again", False)) == ("failed", reason, again)


def test_every_client_gets_an_end_and_no_ended_task_is_listed_as_running(
    played: PlayedLauncher, tmp_path: Path, task: Path, finalised: list[str]
) -> None:
    with closing(connect(played, tmp_path)) as one, closing(connect(played, tmp_path)) as two:
        played.ask(op="start", directory=str(task))
        played.end(4711)
        assert one.messages() == two.messages() == [{"op": "exited", "directory": str(task)}]
    assert finalised == ["7.1"]
    assert played.running == []


def test_a_task_whose_shepherd_reported_its_end_is_not_finalised(
    played: PlayedLauncher, task: Path, finalised: list[str]
) -> None:
    played.ask(op="start", directory=str(task))
    (task / task_files.EXIT).touch()
    played.end(4711)
    assert (played.running, finalised) == ([], [])


def test_an_end_that_a_full_disk_refuses_is_reported_when_it_is_written(
    played: PlayedLauncher, tmp_path: Path, task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[Path] = []

    def finalise(directory: Path) -> None:
        tried.append(directory)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(adoption, "finalise", finalise)
    with closing(connect(played, tmp_path)) as client:
        played.ask(op="start", directory=str(task))
        played.end(4711)
        played.turn(1.0)
        assert tried == [task] * 3
        assert capsys.readouterr().err.count("can't write the end of") == 1
        (task / task_files.EXIT).touch()
        for _ in range(2):
            played.turn(1.0)
        assert client.messages() == [{"op": "exited", "directory": str(task)}], "once"


def test_a_launcher_serves_one_spool_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert launcher.main([]) == launcher.main(["a", "b"]) == 2
    assert "usage:" in capsys.readouterr().err


def test_a_missing_spool_directory_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launcher.main([str(tmp_path / "gone")]) == 1
    assert f"can't use {tmp_path / 'gone'}" in capsys.readouterr().err
