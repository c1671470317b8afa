"""Processes below another one: finding them, signalling those that have their place still, and no others (EX-6, EX-7)."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import Any

import pytest

from shepherd import process_tree
from tests.unit.shepherd.descriptors import open_descriptors

GONE = 99999999


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[int]]:
    """Children of each process, instead of those of /proc."""
    below: dict[int, list[int]] = {1: [10, 20], 10: [11, 12], 12: [13], 20: [21]}
    monkeypatch.setattr(process_tree, "children", lambda pid: below.get(pid, []))
    return below


def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, set[int], int]]:
    found: list[tuple[int, set[int], int]] = []

    def send(pid: int, above: Collection[int], number: int) -> bool:
        found.append((pid, set(above), number))
        return True

    monkeypatch.setattr(process_tree, "send", send)
    return found


@pytest.mark.statement("EX-6")
@pytest.mark.usefixtures("family")
def test_descendants_come_with_their_parents_but_not_those_of_other_trees() -> None:
    assert process_tree.descendants(1) == {10: 1, 20: 1, 11: 10, 12: 10, 13: 12, 21: 20}
    assert process_tree.descendants(1, {10}) == {20: 1, 21: 20}
    assert process_tree.descendants(13) == {}


@pytest.mark.statement("EX-6")
@pytest.mark.usefixtures("family")
def test_each_process_gets_a_signal_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sent(monkeypatch)
    assert process_tree.signal_tree(10, signal.SIGUSR1) == 3
    assert sorted(pid for pid, _, _ in found) == [11, 12, 13]
    assert all(above == {10, 11, 12, 13} and number == signal.SIGUSR1 for _, above, number in found)
    assert process_tree.signal_tree(1, signal.SIGUSR1, {10, 20}) == 0


@pytest.mark.statement("EX-6", "EX-7")
def test_processes_forked_during_the_signalling_get_the_signal_too(
    family: dict[int, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def send(pid: int, *_: object) -> bool:
        found.append(pid)
        if pid == 21:
            family[20] = [21, 22]
        return True

    monkeypatch.setattr(process_tree, "send", send)
    assert process_tree.signal_tree(20, signal.SIGSTOP) == 2
    assert found == [21, 22]


@pytest.mark.statement("EX-7")
@pytest.mark.usefixtures("family")
def test_a_tree_is_stopped_before_it_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sent(monkeypatch)
    assert process_tree.kill_tree(12) == 1
    assert [(pid, number) for pid, _, number in found] == [(13, signal.SIGSTOP), (13, signal.SIGKILL)]
    found.clear()
    assert process_tree.kill_tree(1, {10}) == 2
    assert {pid for pid, _, _ in found} == {20, 21}
    assert process_tree.kill_tree(13) == 0


@pytest.mark.statement("EX-6")
def test_only_a_child_of_the_right_parent_gets_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[int] = []
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda _, number: got.append(number))
    assert not process_tree.send(os.getpid(), {GONE}, signal.SIGUSR1)
    assert not process_tree.send(GONE, {os.getppid()}, signal.SIGUSR1)
    assert got == []
    assert process_tree.send(os.getpid(), {os.getppid()}, signal.SIGUSR1)
    assert got == [signal.SIGUSR1]


def test_a_process_that_may_not_be_signalled_has_not_got_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    opened = open_descriptors()
    assert not process_tree.send(os.getpid(), {os.getppid()}, signal.SIGUSR1)
    assert open_descriptors() == opened


def test_a_process_as_proc_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = " ".join(str(number) for number in range(6, 45))
    stats = {
        "/proc/7/stat": f"7 (a) S 1) S 5 {rest}",
        "/proc/8/stat": f"8 (zombie) Z 5 {rest}",
        "/proc/9/stat": f"9 (dead) X 5 {rest}",
    }

    def read_proc(path: str) -> bytes:
        if path not in stats:
            raise FileNotFoundError
        return stats[path].encode()

    monkeypatch.setattr(process_tree, "read_proc", read_proc)
    assert [process_tree.parent(pid) for pid in (7, 8, 9, 10)] == [5, 5, 5, None]
    assert [process_tree.start_ticks(pid) for pid in (7, 8, 9, 10)] == [23, None, None, None]


def test_long_files_of_proc_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x" * 9000)
    os.close(writing)
    monkeypatch.setattr(os, "open", lambda *_: reading)
    assert process_tree.read_proc("/proc/7/io") == b"x" * 9000
    with pytest.raises(OSError):
        os.fstat(reading)


def test_children_of_all_threads_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda path: {"/proc/7/task": ["7", "9"]}[path])
    contents = {"/proc/7/task/7/children": [10, 11], "/proc/7/task/9/children": [12]}
    monkeypatch.setattr(process_tree, "read_pids", contents.__getitem__)
    assert process_tree.children(7) == [10, 11, 12]
    monkeypatch.undo()
    assert process_tree.children(GONE) == []


@pytest.mark.statement("PR-10")
def test_a_nice_value_counts_for_those_that_took_it(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, int, int]] = []

    def setpriority(which: int, pid: int, nice: int) -> None:
        if pid == 8:
            raise ProcessLookupError
        taken.append((which, pid, nice))

    monkeypatch.setattr(os, "setpriority", setpriority)
    assert process_tree.renice([7, 8, 9], 5) == 2
    assert taken == [(os.PRIO_PROCESS, 7, 5), (os.PRIO_PROCESS, 9, 5)]


def test_orphans_go_to_this_process_and_those_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    above = {os.getpid(): 40, 40: 30, 30: 1, 1: 0}
    monkeypatch.setattr(process_tree, "parent", above.get)
    assert process_tree.reapers() == {1, 30, 40, os.getpid()}
    monkeypatch.setattr(process_tree, "parent", {os.getpid(): 40}.get)
    assert process_tree.reapers() == {1, 40, os.getpid()}, "one has gone meanwhile"


def test_a_host_was_booted_when_its_first_process_began(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"/proc/1/stat": "1 (init) S 0 " + " ".join(["7"] * 17) + " 500 9", "/proc/stat": "cpu 1 2\nbtime 1000\n"}
    monkeypatch.setattr(process_tree.Path, "read_text", lambda path: files[str(path)])
    monkeypatch.setattr(os, "sysconf", lambda _: 100)
    assert process_tree.boot_time() == 1005.0


class Kernel:
    """Calls of the C library, each of which gives `result`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *names: str, result: int = 0) -> None:
        self.calls: list[tuple[Any, ...]] = []
        for name in names:
            monkeypatch.setattr(process_tree, name, lambda *given, name=name: self.calls.append((name, *given)) or result)
        monkeypatch.setattr(ctypes, "get_errno", lambda: errno.EPERM)


@pytest.mark.statement("EX-6")
def test_orphans_name_and_capabilities_are_requested_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of prctl(2): PR_SET_CHILD_SUBREAPER, PR_SET_NAME, PR_CAP_AMBIENT with PR_CAP_AMBIENT_CLEAR_ALL."""
    kernel = Kernel(monkeypatch, "_prctl")
    process_tree.become_subreaper()
    process_tree.set_name("sge_shepherd")
    process_tree.drop_ambient_capabilities()
    assert [given for _, *given in kernel.calls] == [[36, 1, 0, 0, 0], [15, b"sge_shepherd", 0, 0, 0], [47, 4, 0, 0, 0]]


@pytest.mark.statement("EX-6")
def test_a_shepherd_that_would_lose_its_orphans_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(monkeypatch, "_prctl", result=-1)
    with pytest.raises(PermissionError, match="not permitted"):
        process_tree.become_subreaper()


TIMER = ("_timer_create", "_timer_settime", "_timer_delete")


def test_a_block_that_takes_too_long_is_the_end_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch, *TIMER)
    with suppress(KeyError), process_tree.kill_after(2.5):
        assert [name for name, *_ in kernel.calls] == ["_timer_create", "_timer_settime"]
        raise KeyError
    create, settime, delete = kernel.calls
    assert create[1:3] == (1, struct.pack("@Pii48x", 0, signal.SIGKILL, 0)), "SIGKILL, by the monotonic clock"
    assert (settime[2], settime[4]) == (0, None), "from now on"
    assert struct.unpack("@4l", settime[3]) == (0, 0, 2, 500_000_000), "once, after 2.5 s"
    assert delete[0] == "_timer_delete", "what comes after the block may take its time"


def test_without_a_timer_nothing_is_started_that_may_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch, *TIMER, result=-1)
    with pytest.raises(PermissionError, match="timer_create"), process_tree.kill_after(1):
        pytest.fail("begun")
    assert [name for name, *_ in kernel.calls] == ["_timer_create"]


@pytest.mark.parametrize("problem", [OSError, KeyboardInterrupt])
def test_a_process_that_cannot_go_back_ends_there_and_then(monkeypatch: pytest.MonkeyPatch, problem: type[BaseException]) -> None:
    monkeypatch.setattr(os, "_exit", sys.exit)
    with process_tree.end_on_failure():
        pass
    with pytest.raises(SystemExit) as ended, process_tree.end_on_failure():
        raise problem
    assert ended.value.code == 1


def test_a_detached_process_has_nothing_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[Any, ...]] = []
    monkeypatch.setattr(signal, "set_wakeup_fd", lambda descriptor: done.append(("wakeup", descriptor)))
    monkeypatch.setattr(os, "open", lambda path, flags: done.append((path, flags)) or 17)
    for name in ("dup2", "closerange", "chdir"):
        monkeypatch.setattr(os, name, lambda *given, name=name: done.append((name, *given)))
    process_tree.detach()
    standard = [("dup2", 17, 0), ("dup2", 17, 1), ("dup2", 17, 2)]
    rest = [("closerange", 3, os.sysconf("SC_OPEN_MAX")), ("chdir", "/")]
    assert done == [("wakeup", -1), ("/dev/null", os.O_RDWR), *standard, *rest]
