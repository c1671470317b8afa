"""The launcher's loop, its start, and the processes that it would fork, reap, adopt or become: none is forked here."""

from __future__ import annotations

import gc
import os
import pwd
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shepherd import adoption, launcher, process_tree, task_files
from shepherd.process_tree import fork_child
from shepherd.run import COMMAND_SIGNAL
from tests.unit.shepherd.descriptors import open_descriptors
from tests.unit.shepherd.played_launcher import Client, PlayedLauncher

GONE = 99999999


@pytest.fixture
def task(tmp_path: Path) -> Path:
    directory = tmp_path / "active_jobs" / "7.1"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def finalised(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, set[int]]]:
    """The tasks that were finalised, with the living shepherds that were not killed."""
    found: list[tuple[str, set[int]]] = []
    monkeypatch.setattr(adoption, "kill_job", lambda directory, children: found.append((directory.name, children)))
    monkeypatch.setattr(adoption, "finalise", lambda directory: None)
    return found


@pytest.fixture
def played(
    tmp_path: Path, task: Path, finalised: list[tuple[str, set[int]]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[PlayedLauncher]:
    with closing(PlayedLauncher(tmp_path, monkeypatch)) as made:
        made.open()
        yield made


@pytest.fixture
def running(tmp_path: Path, task: Path, finalised: list[tuple[str, set[int]]], monkeypatch: pytest.MonkeyPatch) -> PlayedLauncher:
    """A launcher for `run`, which opens and closes it."""
    return PlayedLauncher(tmp_path, monkeypatch)


# --- its loop ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_launcher_serves_until_a_signal_ends_it(running: PlayedLauncher, tmp_path: Path, number: int) -> None:
    path = tmp_path / launcher.SOCKET
    with closing(socket.socket(socket.AF_UNIX)) as client:

        def connect() -> None:
            client.connect(str(path))
            client.sendall(b'{"op": "list"}\n')

        running.script = [connect, lambda: [running.handlers[each]() for each in (signal.SIGCHLD, number)]]
        running.run()
        assert client.recv(100) == b'{"op": "list", "running": []}\n'
        assert client.recv(100) == b"", "its end"
    assert running.timeouts == [None, None]
    assert not path.exists()


def test_a_launcher_ends_where_its_socket_was_removed(running: PlayedLauncher, tmp_path: Path) -> None:
    (tmp_path / launcher.SOCKET).unlink()
    running.script = [lambda: running.handlers[signal.SIGTERM]()]
    running.run()


def test_an_end_that_the_disk_did_not_take_is_tried_again_each_second(
    running: PlayedLauncher, task: Path, finalised: list[tuple[str, set[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = [True, True, False]

    def finalise(_: Path) -> None:
        if full.pop(0):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(adoption, "finalise", finalise)
    running.ask(op="start", directory=str(task))
    running.script = [lambda: running.die(4711), lambda: None, lambda: running.handlers[signal.SIGTERM]()]
    running.run()
    assert running.timeouts == [None, 1.0, None]
    assert finalised == [("7.1", set())] * 3


def test_children_that_have_ended_are_reaped_after_the_signal(
    played: PlayedLauncher, task: Path, finalised: list[tuple[str, set[int]]]
) -> None:
    """4711 is the task's shepherd, 4712 another's, 99 an orphan of a job whose shepherd had died."""
    for directory in (task, task.with_name("8.1")):
        directory.mkdir(exist_ok=True)
        played.ask(op="start", directory=str(directory))
    pipe = os.readlink(f"/proc/self/fd/{played.wakeup}")
    ends = [int(each.name) for each in Path("/proc/self/fd").iterdir() if os.path.islink(each) and os.readlink(each) == pipe]
    assert [os.get_blocking(each) for each in ends] == [False, False], "nothing waits in a signal handler"
    played.waits.clear()
    os.write(played.wakeup, b"x")
    played.end(99, 4711)
    assert played.waits == [(-1, os.WNOHANG)] * 3
    assert finalised == [("7.1", {4712})]
    assert played.running == [str(task.with_name("8.1"))]
    played.turn()
    assert len(played.waits) == 3, "one look for all signals that have come"
    played.end()
    assert len(played.waits) == 4


def test_a_launcher_without_children_serves_on(played: PlayedLauncher, monkeypatch: pytest.MonkeyPatch) -> None:
    def waitpid(*_: object) -> tuple[int, int]:
        raise ChildProcessError

    monkeypatch.setattr(os, "waitpid", waitpid)
    played.end()
    assert played.running == []


# --- shepherds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapper", ["", "/opt/wrapper"])
def test_a_forked_shepherd_is_known_from_then_on(
    played: PlayedLauncher, task: Path, monkeypatch: pytest.MonkeyPatch, wrapper: str
) -> None:
    monkeypatch.setattr(process_tree, "fork_child", fork_child)
    monkeypatch.setattr(os, "fork", lambda: 815)
    monkeypatch.setattr(process_tree, "detach", lambda: pytest.fail("it is the parent, which goes on as it was"))
    assert played.ask(op="start", directory=str(task), shepherd_cmd=wrapper)["pid"] == 815
    assert (played.running, played.forked) == ([str(task)], [])
    (task / task_files.EXIT).touch()
    played.end(815)
    assert played.running == []


@pytest.mark.parametrize(
    ("wrapper", "broken", "expected", "status"),
    [
        ("", "", ["detach", "shepherd"], 0),
        ("", "shepherd", ["detach", "shepherd"], 1),
        ("/gone", "execute", ["detach", "execute"], 1),
    ],
)
def test_the_child_leaves_the_launcher_behind_and_never_returns(
    played: PlayedLauncher,
    task: Path,
    monkeypatch: pytest.MonkeyPatch,
    wrapper: str,
    broken: str,
    expected: list[str],
    status: int,
) -> None:
    done: list[str] = []

    def step(name: str, *_: object) -> None:
        done.append(name)
        if name == broken:
            raise OSError

    monkeypatch.setattr(process_tree, "fork_child", fork_child)
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(os, "_exit", sys.exit)
    monkeypatch.setattr(process_tree, "detach", lambda: step("detach"))
    monkeypatch.setattr(launcher, "execute", lambda *given: step("execute", *given))
    monkeypatch.setattr(launcher, "shepherd", lambda directory: step("shepherd", directory))
    with pytest.raises(SystemExit) as ended:
        played.ask(op="start", directory=str(task), shepherd_cmd=wrapper)
    assert (done, ended.value.code) == (expected, status)


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"SGE_BINARY_PATH": "/opt/ge/bin", "PATH": "/bin"}, "/opt/ge/bin:/bin"),
        ({"PATH": "/bin"}, "/bin"),
        ({"SGE_BINARY_PATH": "/opt/ge/bin"}, f"/opt/ge/bin:{os.defpath}"),
    ],
)
def test_a_wrapper_finds_the_shepherd_in_its_path_and_the_task_in_its_directory(
    played: PlayedLauncher, task: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], path: str
) -> None:
    called: list[object] = []
    monkeypatch.setattr(os, "environ", {**environment, "SGE_CELL": "default"})
    monkeypatch.setattr(os, "chdir", called.append)
    monkeypatch.setattr(launcher, "execute", lambda *given: called.extend(given))
    played.ask(op="start", directory=str(task), shepherd_cmd="/opt/wrapper")
    assert called[:3] == [str(task), "/opt/wrapper", ["sge_shepherd-7", "-bg"]]
    assert called[3] == {**environment, "SGE_CELL": "default", "PATH": path}


def test_below_a_wrapper_the_shepherd_is_signalled_once_it_is_there(
    played: PlayedLauncher, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerted: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *given: alerted.append(given))
    played.ask(op="start", directory=str(task), shepherd_cmd="/w")
    task_files.write_process(task / task_files.PID, os.getpid())
    assert played.ask(op="signal", directory=str(task), command="suspend")["op"] == "signalled"
    assert alerted == [(os.getpid(), COMMAND_SIGNAL)]


def test_the_end_of_an_adopted_shepherd_is_reported(
    played: PlayedLauncher,
    tmp_path: Path,
    task: Path,
    monkeypatch: pytest.MonkeyPatch,
    finalised: list[tuple[str, set[int]]],
) -> None:
    shepherds_end = os.eventfd(0)
    monkeypatch.setattr(os, "pidfd_open", lambda pid: os.dup(shepherds_end) if pid == os.getpid() else pytest.fail("another"))
    task_files.write_process(task / task_files.PID, os.getpid())
    before = open_descriptors()
    assert played.ask(op="start", directory=str(task))["pid"] == os.getpid()
    assert (played.running, played.forked) == ([str(task)], [])
    with closing(Client(tmp_path / launcher.SOCKET, played.turn)) as client:
        monkeypatch.setattr(task_files, "running", lambda _: None)
        os.eventfd_write(shepherds_end, 1)
        played.turn()
        assert client.messages() == [{"op": "exited", "directory": str(task)}]
    assert finalised == [("7.1", set())]
    played.turn()
    assert (played.running, open_descriptors()) == ([], before)
    os.close(shepherds_end)


@pytest.mark.parametrize("seen", [[GONE], [os.getpid(), None, None], [os.getpid(), GONE, None]])
def test_a_task_whose_shepherd_ends_during_its_adoption_is_finalised_and_nothing_stays_open(
    played: PlayedLauncher,
    task: Path,
    monkeypatch: pytest.MonkeyPatch,
    seen: list[int | None],
    finalised: list[tuple[str, set[int]]],
) -> None:
    task_files.write_process(task / task_files.PID, os.getpid())
    before = open_descriptors()
    waiting = iter(seen)
    monkeypatch.setattr(task_files, "running", lambda _: next(waiting, None))
    played.ask(op="start", directory=str(task))
    assert finalised == [("7.1", set())]
    assert (played.running, played.forked, open_descriptors()) == ([], [], before)


def test_a_shepherd_that_cannot_be_watched_is_not_taken_for_dead(
    played: PlayedLauncher, task: Path, monkeypatch: pytest.MonkeyPatch, finalised: list[tuple[str, set[int]]]
) -> None:
    def pidfd_open(_: int) -> int:
        raise OSError(24, "Too many open files")

    task_files.write_process(task / task_files.PID, os.getpid())
    monkeypatch.setattr(os, "pidfd_open", pidfd_open)
    refused = played.ask(op="start", directory=str(task))
    assert (refused["op"], refused["reason"]) == ("failed", "can't fork a shepherd: Too many open files")
    assert finalised == []


def test_an_own_shepherd_that_gave_way_to_an_earlier_one_is_no_end(
    played: PlayedLauncher, task: Path, finalised: list[tuple[str, set[int]]]
) -> None:
    played.ask(op="start", directory=str(task))
    task_files.write_process(task / task_files.PID, os.getpid())
    played.end(4711)
    assert finalised == []
    assert played.running == [str(task)]
    assert played.ask(op="start", directory=str(task))["pid"] == os.getpid()


def test_the_end_of_a_task_whose_directory_is_gone_is_reported_and_nothing_is_written(
    played: PlayedLauncher, tmp_path: Path, task: Path, finalised: list[tuple[str, set[int]]]
) -> None:
    played.ask(op="start", directory=str(task))
    task.rmdir()
    with closing(Client(tmp_path / launcher.SOCKET, played.turn)) as client:
        played.end(4711)
        assert client.messages() == [{"op": "exited", "directory": str(task)}]
    assert finalised == []


# --- its start --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_known", [True, False])
def test_the_launcher_inherits_orphans_and_keeps_what_shepherds_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    done: list[object] = []

    class Serving:
        def __init__(self, spool: Path) -> None:
            done.append(spool)

        def run(self) -> None:
            done.append("run")

    def getpwuid(uid: int) -> pwd.struct_passwd:
        if not is_known:
            raise KeyError(uid)
        return pwd.struct_passwd(("sge", "x", uid, 50, "", "/", ""))

    monkeypatch.setattr(launcher, "Launcher", Serving)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *given: done.append(given))
    monkeypatch.setattr(process_tree, "become_subreaper", lambda: done.append("subreaper"))
    monkeypatch.setattr(process_tree, "set_name", done.append)
    monkeypatch.setattr(pwd, "getpwuid", getpwuid)
    monkeypatch.setattr(os, "getgrouplist", lambda name, _: done.append(name))
    for name in ("collect", "freeze", "disable"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    assert launcher.main([str(tmp_path)]) == 0
    before = [(signal.SIG_BLOCK, {COMMAND_SIGNAL}), "subreaper", "sge_launcher", tmp_path]
    assert done == [*before, *(["sge"] if is_known else []), "collect", "freeze", "disable", "run"]
    lock = tmp_path / launcher.LOCK
    [descriptor] = [int(each.name) for each in Path("/proc/self/fd").iterdir() if each.resolve() == lock]
    assert lock.stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(descriptor), "a job does not hold it"
    os.close(descriptor)


def test_a_relative_spool_directory_is_below_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert launcher.main(["spool"]) == 1
    assert f"can't use {tmp_path / 'spool'}:" in capsys.readouterr().err


# --- clearing ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def clearing(played: PlayedLauncher, task: Path) -> PlayedLauncher:
    """A child, 4712, removes the scratch directory of the task."""
    played.ask(op="start", directory=str(task))
    (task / task_files.SCRATCH).touch()
    played.end(4711)
    assert played.forked == [(str(task), ""), (str(task), "clear")]
    return played


@pytest.mark.statement("QC-19", "EX-10")
def test_a_task_is_finalised_when_its_scratch_directory_has_gone(
    clearing: PlayedLauncher, tmp_path: Path, task: Path, finalised: list[tuple[str, set[int]]]
) -> None:
    with closing(Client(tmp_path / launcher.SOCKET, clearing.turn)) as client:
        assert clearing.running == [str(task)], "its end will be reported"
        clearing.ask(op="start", directory=str(task))
        clearing.turn()
        assert (len(finalised), len(clearing.forked)) == (1, 2), "one child does it"
        (task / task_files.SCRATCH).unlink()
        clearing.end(4712)
        assert client.messages() == [{"op": "exited", "directory": str(task)}]
    assert finalised == [("7.1", set()), ("7.1", set())]
    clearing.turn()
    assert (clearing.running, len(finalised)) == ([], 2)


@pytest.mark.statement("QC-19", "EX-10")
def test_a_child_that_was_killed_while_it_cleared_has_a_successor(clearing: PlayedLauncher, task: Path) -> None:
    clearing.end(4712, status=9)
    assert clearing.forked[2:] == [(str(task), "clear")]
    assert clearing.running == [str(task)]


@pytest.mark.statement("QC-19", "EX-10")
def test_a_child_that_fails_again_has_a_successor_a_second_later(clearing: PlayedLauncher, task: Path) -> None:
    """Its end begins a turn: without the pause a full disk had the launcher fork without end."""
    clearing.end(4712, status=1)
    clearing.end(4713, status=1)
    clearing.turn()
    assert len(clearing.forked) == 3
    clearing.turn(1.0)
    assert clearing.forked[3:] == [(str(task), "clear")]
