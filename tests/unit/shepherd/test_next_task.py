"""Tasks that leave a shepherd fit for another task, and the task that it takes then (ADR 155)."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridengine.protocols.task_file import TaskConfig, parse
from shepherd import next_task, task_files
from shepherd.next_task import OVER, LauncherConnection, NextTask, ended_plainly, is_plain
from tests.unit.shepherd.configuration import BASE

PLAIN = {**BASE, "uid": 1001}


def config(**changes: Any) -> TaskConfig:
    return parse({**PLAIN, **changes})


class Unchanged:
    """A process that needs nothing to be as it was. `can_run`: whether the limits that it has are those of the next task."""

    def __init__(self) -> None:
        self.kept: list[set[int]] = []
        self.is_restored = self.is_suitable = True

    def restore(self, lines: set[int]) -> bool:
        self.kept.append(lines)
        return self.is_restored

    def can_run(self, _: TaskConfig) -> bool:
        return self.is_suitable


class Launcher:
    """The other end of the connection."""

    def __init__(self, spool: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(spool / next_task.SOCKET))
        self._listener.listen()
        self._listener.setblocking(False)

    def gives(self, directory: str, line: LauncherConnection) -> None:
        """What the shepherd will find when it waits, put there before it does."""
        assert line.connect()
        self.client, _ = self._listener.accept()
        self.client.send(directory.encode())

    def knows_no_shepherd(self) -> bool:
        try:
            self._listener.accept()
        except BlockingIOError:
            return True
        return False

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    made = Launcher(tmp_path)
    yield made
    made.close()


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task that is over."""
    directory = tmp_path / "active_jobs" / "7.1"
    directory.mkdir(parents=True)
    task_files.claim(directory)
    return directory


@pytest.fixture
def following(task: Path) -> Path:
    directory = task.with_name("8.1")
    directory.mkdir()
    (directory / task_files.CONFIG).write_text(json.dumps(PLAIN))
    return directory


@pytest.fixture
def unchanged() -> Unchanged:
    return Unchanged()


@pytest.fixture
def line(tmp_path: Path, unchanged: Unchanged) -> LauncherConnection:
    return LauncherConnection(tmp_path, unchanged)  # type: ignore[arg-type]


UNUSUAL: list[dict[str, Any]] = [
    *({name: "/bin/true"} for name in ("prolog", "epilog", "pe_start", "pe_stop", "remote_daemon")),
    *({"limits": {name: 100}} for name in ("h_rt", "s_rt", "h_cpu", "s_cpu", "h_vmem", "s_vmem")),
    {"session": "pty"}, {"ckpt_interface": "userdefined"}, {"processors": [0]},
]


@pytest.mark.parametrize("changes", UNUSUAL, ids=str)
def test_a_task_that_is_more_than_its_job_is_not_plain(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert not is_plain(config(**changes))
    assert not ended_plainly(tmp_path, config(**changes), {"failed": 0})


def test_a_plain_task_ends_plainly_unless_it_failed_or_got_a_command(tmp_path: Path) -> None:
    assert is_plain(config(limits={"h_rt": None, "h_stack": 2**30}, terminate_method="/bin/kill"))
    assert ended_plainly(tmp_path, config(), {"failed": 0, "exit_status": 3})
    assert not ended_plainly(tmp_path, config(), {"failed": 100, "exit_status": 137})
    task_files.add_command(tmp_path, "usage")
    assert not ended_plainly(tmp_path, config(), {"failed": 0, "exit_status": 0})


def test_the_next_task_comes_with_its_configuration_and_the_claim_of_this_process(
    launcher: Launcher, line: LauncherConnection, unchanged: Unchanged, task: Path, following: Path, tmp_path: Path
) -> None:
    launcher.gives(str(following), line)
    own = str(tmp_path / task_files.SHEPHERDS / str(os.getpid()))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert line.next(task, config()) == NextTask(following, config(), own)
    assert launcher.client.recv(100) == OVER
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
    [[kept]] = unchanged.kept
    with socket.socket(fileno=os.dup(kept)) as connection:
        assert connection.getpeername() == str(tmp_path / next_task.SOCKET)
    assert task_files.claim_again(following, own)
    assert os.path.samefile(following / task_files.PID, task / task_files.PID)
    assert not task_files.claim_again(following, own), "a task has one shepherd ever"


@pytest.mark.parametrize("changes", [{"owner": "bob"}, {"uid": 1002}, *UNUSUAL], ids=str)
def test_a_task_that_is_not_for_this_shepherd_is_left_alone(
    launcher: Launcher, line: LauncherConnection, task: Path, following: Path, changes: dict[str, Any]
) -> None:
    (following / task_files.CONFIG).write_text(json.dumps({**PLAIN, **changes}))
    launcher.gives(str(following), line)
    assert line.next(task, config()) is None
    assert not (following / task_files.PID).exists()


def test_a_task_whose_configuration_cannot_be_read_is_for_a_new_shepherd(
    launcher: Launcher, line: LauncherConnection, task: Path, following: Path
) -> None:
    (following / task_files.CONFIG).unlink()
    launcher.gives(str(following), line)
    assert line.next(task, config()) is None


@pytest.mark.parametrize("name", ["is_restored", "is_suitable"])
def test_a_process_that_is_not_what_it_was_ends(
    launcher: Launcher, line: LauncherConnection, unchanged: Unchanged, task: Path, following: Path, name: str
) -> None:
    setattr(unchanged, name, False)
    launcher.gives(str(following), line)
    assert line.next(task, config()) is None
    launcher.client.setblocking(False)
    with pytest.raises(BlockingIOError):
        launcher.client.recv(100)


def test_without_a_launcher_it_ends(line: LauncherConnection, task: Path) -> None:
    assert line.next(task, config()) is None


def test_the_shepherd_ends_when_the_launcher_ends(launcher: Launcher, line: LauncherConnection, task: Path) -> None:
    launcher.gives("", line)
    launcher.client.close()
    assert line.next(task, config()) is None


def test_the_shepherd_ends_when_no_task_arrives(
    launcher: Launcher, line: LauncherConnection, task: Path, following: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_task, "WAIT_TIMEVAL", struct.pack("@2l", 0, 1))
    launcher.gives(str(following), line)
    assert line.next(task, config()) is not None
    assert line.next(task, config()) is None


def test_after_many_tasks_it_ends(
    launcher: Launcher, line: LauncherConnection, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_task, "MAX_TASKS", 1)
    assert line.next(task, config()) is None
    assert launcher.knows_no_shepherd()
