"""Processes of the job below a shepherd, and acts on them (EX-6, EX-7, EX-8)."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shepherd import process_tree, processes
from shepherd.containment import Containment
from shepherd.processes import Processes
from shepherd.task_files import Trace
from tests.unit.shepherd.test_containment import cgroup


def me() -> int:
    """This process, which is not always the one that has loaded the tests."""
    return os.getpid()


class Held(Containment):
    """A cgroup that counts how often it was killed."""

    def __init__(self, cpu_s: float | None = None) -> None:
        super().__init__([], None)
        self.kills, self._cpu_s = 0, cpu_s

    def kill(self) -> None:
        self.kills += 1

    def cpu_seconds(self) -> float | None:
        return self._cpu_s


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Calls of the process tree, in which 100 is the job, 101 below it, 200 a method and 300 another process."""
    calls: list[Any] = []

    def signal_tree(root: int, number: int, without: Collection[int]) -> int:
        calls.append(("signal", root, number, set(without)))
        return 2

    def renice(pids: Iterable[int], nice: int) -> int:
        calls.append(("renice", sorted(pids), nice))
        return 2

    tree = {100: me(), 101: 100, 200: me(), 300: me()}
    monkeypatch.setattr(process_tree, "signal_tree", signal_tree)
    monkeypatch.setattr(process_tree, "kill_tree", lambda root, without: calls.append(("kill", root, set(without))))
    monkeypatch.setattr(process_tree, "renice", renice)
    monkeypatch.setattr(process_tree, "children", lambda _: [100, 200, 300])
    monkeypatch.setattr(
        process_tree, "descendants", lambda _, without: {pid: above for pid, above in tree.items() if pid not in without}
    )
    return calls


@pytest.fixture
def found(tmp_path: Path) -> Processes:
    """Processes of a shepherd whose job is 100; 200 is a method's."""
    made = Processes(Trace(tmp_path), lambda *_: None)
    made.job_pid = made.awaited = 100
    made.not_job = {200}
    made.containment = Held()
    return made


@pytest.mark.statement("EX-6")
def test_a_signal_is_for_the_job_and_not_for_its_methods(found: Processes, done: list[Any], tmp_path: Path) -> None:
    found.signal(signal.SIGUSR1)
    assert done == [("signal", me(), signal.SIGUSR1, {200})]
    assert "signal 10 to 2 processes" in (tmp_path / "trace").read_text()


@pytest.mark.statement("EX-6")
def test_a_method_that_is_waited_for_counts_as_the_job(found: Processes, done: list[Any]) -> None:
    found.not_job, found.awaited = {200, 300}, 200
    found.signal(signal.SIGUSR1)
    found.kill()
    assert done == [("signal", me(), signal.SIGUSR1, {300}), ("kill", me(), {300})]
    assert isinstance(found.containment, Held) and found.containment.kills == 0, "the cgroup is the job's"


@pytest.mark.statement("EX-6")
def test_a_job_is_killed_with_its_cgroup(found: Processes, done: list[Any]) -> None:
    found.kill()
    assert done == [("kill", me(), {200})]
    assert isinstance(found.containment, Held) and found.containment.kills == 1


@pytest.mark.statement("PR-10", "EX-8")
def test_only_a_job_that_runs_is_reniced_and_measured(
    found: Processes, done: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measured: list[Any] = []
    monkeypatch.setattr(found.usage, "sample", lambda pids, _, cpu_s, memory: measured.append((sorted(pids), cpu_s)))
    found.containment = Held(5.0)
    found.containment.cgroups = [cgroup(tmp_path / "cg", cpu__weight="")]
    found.awaited = 200
    found.renice(5)
    found.measure()
    found.job_pid = found.awaited = 0
    found.measure()
    assert (done, measured) == ([], [])
    found.job_pid = found.awaited = 100
    found.renice(5, 2)
    found.measure()
    assert (tmp_path / "cg" / "cpu.weight").read_text() == "66"
    assert (done, measured) == ([("renice", [100, 101, 300], 5)], [([100, 101, 300], 5.0)])
    assert "nice value 5 for 2 processes" in (tmp_path / "trace").read_text()


@pytest.mark.usefixtures("done")
def test_processes_before_the_job_are_not_the_jobs(found: Processes) -> None:
    found.exclude_children()
    assert found.not_job == {100, 200, 300}


def collect(monkeypatch: pytest.MonkeyPatch, ended: list[int], alive: bool) -> None:
    """Children that have ended one after the other; `alive`: another one runs."""

    def waitid(*_: object) -> SimpleNamespace | None:
        if ended:
            return SimpleNamespace(si_pid=ended[0])
        if alive:
            return None
        raise ChildProcessError

    monkeypatch.setattr(os, "waitid", waitid)
    monkeypatch.setattr(os, "wait4", lambda pid, _: (ended.pop(0), 7, f"rusage of {pid}"))
    monkeypatch.setattr(processes, "io_bytes", lambda pid: pid)


@pytest.mark.statement("EX-8")
@pytest.mark.parametrize("alive", [True, False])
def test_usage_of_the_jobs_processes_is_added_up_as_they_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    seen: list[Any] = []
    found = Processes(Trace(tmp_path), lambda *end: seen.append(end))
    monkeypatch.setattr(found.usage, "add_reaped", lambda *used: seen.append(used))
    collect(monkeypatch, [200], alive)
    assert found.reap() == alive
    assert seen == [(200, 7)], "there is no job yet"
    seen.clear()
    found.job_pid, found.not_job = 100, {200, 201}
    collect(monkeypatch, [200, 100], alive)
    assert found.reap() == alive
    assert seen == [(200, 7), (100, 7), ("rusage of 100", 100)]
    assert found.not_job == {201}


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited for children each time; the clock goes on by as much."""
    waits: list[float] = []

    def wait(numbers: set[int], timeout: float) -> None:
        assert numbers == {signal.SIGCHLD}
        waits.append(timeout)

    monkeypatch.setattr(signal, "sigtimedwait", wait)
    monkeypatch.setattr(processes.time, "monotonic", lambda: 50.0 + sum(waits))
    return waits


@pytest.mark.statement("EX-7", "EX-8")
def test_processes_that_a_job_leaves_are_killed_but_not_excluded_methods(
    found: Processes, done: list[Any], passing: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found.not_job, found.containment = {200, 201}, Held(5.0)
    left = [[100, 200, 201], [200, 201], [200]]
    monkeypatch.setattr(found, "reap", lambda: True)
    monkeypatch.setattr(process_tree, "children", lambda _: left.pop(0))
    found.sweep({201})
    assert done == [("kill", me(), {200})] * 2
    assert (len(passing), found.containment.kills) == (2, 1)
    assert found.usage.cpu_s == 5.0, "the cgroup knows also of processes that nobody waited for"


@pytest.mark.statement("EX-7")
def test_a_sweep_without_a_cgroup_leaves_the_processor_time_as_it_is(
    found: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "reap", lambda: False)
    found.usage.cpu_s = 3.0
    found.sweep(())
    found.containment = Held(2.0)
    found.sweep(())
    assert found.usage.cpu_s == 3.0


@pytest.mark.statement("EX-7")
def test_processes_that_cannot_be_killed_are_not_waited_for_forever(
    found: Processes, done: list[Any], passing: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "reap", lambda: True)
    found.end_all()
    assert found.not_job == set()
    assert passing == [1.0] * 10, "they are killed again each second"
    assert done == [("kill", me(), set())] * 10
