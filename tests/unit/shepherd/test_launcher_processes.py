"""The launcher's loop, its start, and the processes that it would fork, reap, adopt or become: none is forked here."""

from __future__ import annotations

import gc
import os
import pwd
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shepherd import adoption, launcher, process_tree, task_files
from shepherd.launcher import Launcher
from shepherd.run import COMMAND_SIGNAL
from tests.unit.shepherd.descriptors import open_descriptors
from tests.unit.shepherd.test_launcher_requests import Client, Played

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
def played(tmp_path: Path, task: Path, finalised: list[tuple[str, set[int]]]) -> Iterator[Played]:
    with closing(Played(tmp_path)) as made:
        yield made


# --- its loop ---------------------------------------------------------------------------------------------------------


class Turns:
    """An epoll object whose turns a test takes; `timeouts` are those that it was asked to wait for."""

    def __init__(self, real: select.epoll, *turns: Callable[[], object]) -> None:
        self._real, self._turns = real, list(turns)
        self.timeouts: list[float | None] = []

    def add(self, turn: Callable[[], object]) -> None:
        self._turns.append(turn)

    def poll(self, timeout: float | None) -> list[tuple[int, int]]:
        self.timeouts.append(timeout)
        self._turns.pop(0)()
        return self._real.poll(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> dict[int, Any]:
    """What the launcher does at signals; `-1` is where it is woken up."""
    made: dict[int, Any] = {}

    def wake_up(descriptor: int, *, warn_on_full_buffer: bool) -> None:
        assert not warn_on_full_buffer, "one byte is enough"
        made[-1] = descriptor

    monkeypatch.setattr(signal, "signal", made.__setitem__)
    monkeypatch.setattr(signal, "set_wakeup_fd", wake_up)
    return made


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_launcher_serves_until_a_signal_ends_it(played: Played, tmp_path: Path, handlers: dict[int, Any], number: int) -> None:
    path = tmp_path / launcher.SOCKET
    with closing(socket.socket(socket.AF_UNIX)) as client:
        turns = Turns(
            played._poll, lambda: client.connect(str(path)), lambda: [handlers[each]() for each in (signal.SIGCHLD, number)]
        )
        played._poll = turns  # type: ignore[assignment]
        played.run()
        assert len(played._connections) == 1
    assert turns.timeouts == [None, None]
    assert handlers[-1] == played._writing
    assert not path.exists()
    turns.add(handlers[number])
    played._stopping = False
    played.run()  # where the socket was removed


def test_an_end_that_the_disk_did_not_take_is_tried_again_each_second(
    played: Played, task: Path, handlers: dict[int, Any], finalised: list[tuple[str, set[int]]]
) -> None:
    turns = Turns(played._poll, lambda: None, lambda: handlers[signal.SIGTERM]())
    played._poll = turns  # type: ignore[assignment]
    played._unfinalised.add(str(task))
    played.run()
    assert turns.timeouts == [1.0, None]
    assert finalised == [("7.1", set())]


def test_children_that_have_ended_are_reaped_after_the_signal(
    played: Played, task: Path, monkeypatch: pytest.MonkeyPatch, finalised: list[tuple[str, set[int]]]
) -> None:
    """4711 is the task's shepherd, 4712 another's, 99 an orphan of a job whose shepherd had died."""
    waits: list[tuple[int, int]] = []
    ended = [(99, 9), (4711, 0), (0, 0)]

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        waits.append((pid, options))
        if not ended:
            raise ChildProcessError
        return ended.pop(0)

    monkeypatch.setattr(os, "waitpid", waitpid)
    played.ask(op="start", directory=str(task))
    played._own = {4711: str(task), 4712: "other"}
    assert not os.get_blocking(played._wakeup) and not os.get_blocking(played._writing), "nothing waits in a signal handler"
    os.write(played._writing, b"xx")
    played.turn()
    assert waits == [(-1, os.WNOHANG)] * 3
    assert finalised == [("7.1", {4712})]
    assert played.ask(op="list")["running"] == []
    played.turn()
    assert len(waits) == 3, "one look for all signals that have come"
    os.write(played._writing, b"x")
    played.turn()
    assert len(waits) == 4


# --- shepherds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapper", ["", "/opt/wrapper"])
def test_a_forked_shepherd_is_known_from_then_on(
    played: Played, task: Path, monkeypatch: pytest.MonkeyPatch, wrapper: str
) -> None:
    monkeypatch.setattr(os, "fork", lambda: 4711)
    monkeypatch.setattr(process_tree, "detach", lambda: pytest.fail("it is the parent, which goes on as it was"))
    Launcher._fork(played, str(task), wrapper)
    assert (played._own, played._pids) == ({4711: str(task)}, {str(task): 4711})
    assert played._wrapped == ({str(task)} if wrapper else set())
    (task / task_files.EXIT).touch()
    played._ended(str(task))
    assert (played._pids, played._wrapped) == ({}, set())


@pytest.mark.parametrize(
    ("wrapper", "broken", "expected", "status"),
    [
        ("", "", ["detach", "shepherd"], 0),
        ("", "shepherd", ["detach", "shepherd"], 1),
        ("/gone", "_execute", ["detach", "_execute"], 1),
    ],
)
def test_the_child_leaves_the_launcher_behind_and_never_returns(
    played: Played, task: Path, monkeypatch: pytest.MonkeyPatch, wrapper: str, broken: str, expected: list[str], status: int
) -> None:
    done: list[str] = []

    def step(name: str, *_: object) -> None:
        done.append(name)
        if name == broken:
            raise OSError

    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(os, "_exit", sys.exit)
    monkeypatch.setattr(process_tree, "detach", lambda: step("detach"))
    monkeypatch.setattr(launcher, "_execute", lambda *given: step("_execute", *given))
    monkeypatch.setattr(launcher, "shepherd", lambda directory: step("shepherd", directory))
    with pytest.raises(SystemExit) as ended:
        Launcher._fork(played, str(task), wrapper)
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
    task: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], path: str
) -> None:
    called: list[object] = []
    monkeypatch.setattr(os, "environ", {**environment, "SGE_CELL": "default"})
    monkeypatch.setattr(os, "chdir", called.append)
    monkeypatch.setattr(os, "execve", lambda *given: called.extend(given))
    launcher._execute("/opt/wrapper", str(task))
    assert called[:3] == [str(task), "/opt/wrapper", ["sge_shepherd-7", "-bg"]]
    assert called[3] == {**environment, "SGE_CELL": "default", "PATH": path}


def test_below_a_wrapper_the_shepherd_is_signalled_once_it_is_there(
    played: Played, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerted: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *given: alerted.append(given))
    played.ask(op="start", directory=str(task), shepherd_cmd="/w")
    played._wrapped.add(str(task))
    task_files.write_process(task / task_files.PID, os.getpid())
    assert played.ask(op="signal", directory=str(task), command="suspend")["op"] == "signalled"
    assert alerted == [(os.getpid(), COMMAND_SIGNAL)]


def test_the_end_of_an_adopted_shepherd_is_reported(
    played: Played, tmp_path: Path, task: Path, monkeypatch: pytest.MonkeyPatch, finalised: list[tuple[str, set[int]]]
) -> None:
    task_files.write_process(task / task_files.PID, os.getpid())
    before = open_descriptors()
    played._adopt_or_finalise(str(task))
    [(descriptor, directory)] = played._adopted.items()
    assert directory == str(task)
    with closing(Client(played, tmp_path)) as client:
        monkeypatch.setattr(task_files, "running", lambda _: None)
        played._ready(descriptor, select.EPOLLIN)
        assert client.messages() == [{"op": "exited", "directory": str(task)}]
    assert finalised == [("7.1", set())]
    played.turn()
    assert (played._adopted, played._pids, open_descriptors()) == ({}, {}, before)


@pytest.mark.parametrize("seen", [[GONE], [os.getpid(), None, None], [os.getpid(), GONE, None]])
def test_a_task_whose_shepherd_ends_during_its_adoption_is_finalised_and_nothing_stays_open(
    played: Played, task: Path, monkeypatch: pytest.MonkeyPatch, seen: list[int | None], finalised: list[tuple[str, set[int]]]
) -> None:
    before = open_descriptors()
    waiting = iter(seen)
    monkeypatch.setattr(task_files, "running", lambda _: next(waiting, None))
    played._adopt_or_finalise(str(task))
    assert finalised == [("7.1", set())]
    assert (played._adopted, played._pids, open_descriptors()) == ({}, {}, before)


def test_a_shepherd_that_cannot_be_watched_is_not_taken_for_dead(
    played: Played, task: Path, monkeypatch: pytest.MonkeyPatch, finalised: list[tuple[str, set[int]]]
) -> None:
    def pidfd_open(_: int) -> int:
        raise OSError(24, "Too many open files")

    task_files.write_process(task / task_files.PID, os.getpid())
    monkeypatch.setattr(os, "pidfd_open", pidfd_open)
    with pytest.raises(OSError, match="Too many"):
        played._adopt_or_finalise(str(task))
    assert finalised == []


def test_an_own_shepherd_that_gave_way_to_an_earlier_one_is_no_end(
    played: Played, task: Path, finalised: list[tuple[str, set[int]]]
) -> None:
    played.ask(op="start", directory=str(task))
    task_files.write_process(task / task_files.PID, os.getpid())
    played._ended(str(task))
    assert finalised == []
    assert played._pids == {str(task): os.getpid()}
    assert list(played._adopted.values()) == [str(task)]


def test_the_end_of_a_task_whose_directory_is_gone_is_reported_and_nothing_is_written(
    played: Played, tmp_path: Path, task: Path, finalised: list[tuple[str, set[int]]]
) -> None:
    played.ask(op="start", directory=str(task))
    task.rmdir()
    with closing(Client(played, tmp_path)) as client:
        played._ended(str(task))
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
    monkeypatch.setattr(launcher, "_lock", lambda _: 0)
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


def test_a_relative_spool_directory_is_below_the_present_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launcher, "_lock", lambda spool: asked.append(spool) or -1)
    assert launcher.main(["spool"]) == 1
    assert asked == [tmp_path / "spool"]


# --- clearing ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def clearing(played: Played, task: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """A child, 4713, removes the scratch directory of the task."""
    monkeypatch.setattr(os, "fork", lambda: 4713)
    (task / task_files.SCRATCH).touch()
    played._ended(str(task))
    assert played._clearing == {4713: str(task)}
    return played


def reap(played: Played, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    ended = [(4713, status), (0, 0)]
    monkeypatch.setattr(os, "waitpid", lambda *_: ended.pop(0))
    played._reap()


@pytest.mark.statement("QC-19", "EX-10")
def test_a_task_is_finalised_when_its_scratch_directory_has_gone(
    clearing: Played, task: Path, monkeypatch: pytest.MonkeyPatch, finalised: list[tuple[str, set[int]]]
) -> None:
    assert clearing.ask(op="list")["running"] == [str(task)], "its end will be told"
    clearing._ended(str(task))
    clearing.ask(op="start", directory=str(task))
    assert (len(finalised), clearing.forked) == (1, []), "one child does it"
    (task / task_files.SCRATCH).unlink()
    reap(clearing, monkeypatch, 0)
    assert finalised == [("7.1", set()), ("7.1", set())]
    assert (clearing._clearing, clearing._unfinalised, clearing.ask(op="list")["running"]) == ({}, set(), [])


@pytest.mark.statement("QC-19", "EX-10")
def test_a_child_that_was_killed_while_it_cleared_has_a_successor(
    clearing: Played, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reap(clearing, monkeypatch, 9)
    assert (clearing._clearing, clearing._unfinalised) == ({}, {str(task)}), "in a second"
    clearing._ended(str(task))
    assert (clearing._clearing, clearing._unfinalised) == ({4713: str(task)}, set())
