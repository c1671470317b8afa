"""The processes that a dead shepherd has left: which are found and killed, and in which order. There are none here."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from shepherd import adoption, containment, process_tree, task_files
from tests.unit.shepherd.configuration import BASE


@pytest.fixture
def task(tmp_path: Path) -> Path:
    directory = tmp_path / "active_jobs" / "7.1"
    directory.mkdir(parents=True)
    return directory


def test_living_shepherds_are_not_killed_with_orphans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, set[int]]] = []
    monkeypatch.setattr(process_tree, "kill_tree", lambda pid, spared: killed.append((pid, spared)))
    adoption.kill_job(tmp_path, {41, 42})
    assert killed == [(os.getpid(), {41, 42})]


class Held:
    """What holds the processes of a task; it can be given back at the `rounds`-th try. `done` is what has happened so far."""

    def __init__(self, done: list[object], rounds: int = 1, gid: int | None = 20000) -> None:
        self.gid = gid
        self._done, self._rounds = done, rounds

    def kill(self) -> None:
        self._done.append("cgroup")

    def release(self, directory: Path) -> bool:
        self._rounds -= 1
        self._done.append("release")
        return self._rounds <= 0


class Proc:
    """The processes of a host: a directory in place of /proc. 1 is init and 2 a subreaper. A killed process is gone."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self.killed: list[int] = []
        self.parents: dict[int, int] = {}
        directory.mkdir()
        monkeypatch.setattr(adoption, "Path", lambda _: directory)
        monkeypatch.setattr(process_tree, "reapers", lambda: {1, 2})
        monkeypatch.setattr(process_tree, "parent", self.parents.get)
        monkeypatch.setattr(process_tree, "send", self.send)

    def add(
        self, pid: int, parent: int = 1, uid: int = 1001, state: str = "S (sleeping)", groups: str = "20000", environ: str = "A=1"
    ) -> None:
        self.parents[pid] = parent
        place = self._directory / str(pid)
        place.mkdir()
        status = f"Name:\ta: b\nno colon\nState:\t{state}\nUid:\t{uid}\t0\t0\t0\nGroups:\t{groups} \n"
        (place / "status").write_text(status)
        (place / "environ").write_bytes(environ.encode() + b"\0")

    def send(self, pid: int, parents: set[int], number: int) -> bool:
        if pid not in self.parents:
            return False
        assert (parents, number) == ({self.parents[pid]}, signal.SIGKILL)
        self.killed.append(pid)
        del self.parents[pid]
        (self._directory / str(pid) / "status").unlink()
        return True


@pytest.fixture
def proc(tmp_path: Path, task: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    """Processes of the task's owner, whose additional group is 20000; there are no children of this process."""
    (task / "config").write_text(json.dumps(BASE))
    monkeypatch.setattr(process_tree, "kill_tree", lambda *_: None)
    monkeypatch.setattr(containment, "read_recorded", lambda _: Held([]))
    return Proc(tmp_path / "proc", monkeypatch)


@pytest.fixture
def done(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is done about the processes of a dead shepherd, in its order; 50 is the job's, a child of 40; 60 is marked."""
    made: list[object] = []
    proc.add(60)
    monkeypatch.setattr(process_tree, "kill_tree", lambda *_: made.append("orphans"))
    monkeypatch.setattr(containment, "read_recorded", lambda _: Held(made))
    monkeypatch.setattr(task_files, "running", lambda path: 50 if path.name == "job_pid" else None)
    monkeypatch.setattr(process_tree, "parent", {50: 40, 60: 1}.get)
    monkeypatch.setattr(process_tree, "signal_tree", lambda *given: made.append(given))
    monkeypatch.setattr(process_tree, "send", lambda *given: made.append(given))
    monkeypatch.setattr(adoption.time, "sleep", lambda seconds: made.append(seconds))
    return made


MARKED = 60, {1}, signal.SIGKILL


@pytest.mark.statement("EX-6", "EX-7")
def test_all_that_leads_to_processes_of_a_dead_shepherd_is_used(task: Path, done: list[object]) -> None:
    adoption.kill_job(task, set())
    job = [(50, signal.SIGSTOP), (50, signal.SIGKILL), (50, {40}, signal.SIGKILL)]
    assert done == ["orphans", "cgroup", *job, MARKED, "release"]


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize("config", ["no configuration", None])
def test_an_ended_job_is_not_killed_and_processes_of_an_unknown_owner_are_not_looked_for(
    task: Path, done: list[object], monkeypatch: pytest.MonkeyPatch, config: str | None
) -> None:
    monkeypatch.setattr(task_files, "running", lambda _: None)
    (task / "config").unlink() if config is None else (task / "config").write_text(config)
    adoption.kill_job(task, set())
    assert done == ["orphans", "cgroup", "release"]


def test_a_job_whose_parent_has_gone_meanwhile_is_looked_for_below_no_process(
    task: Path, done: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "parent", lambda _: None)
    adoption.kill_job(task, set())
    assert (50, {0}, signal.SIGKILL) in done


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize(("rounds", "waits"), [(3, 2), (1000, 50)])
def test_a_cgroup_is_given_back_when_killed_processes_have_left_it_but_not_waited_for_longer_than_half_a_second(
    task: Path, done: list[object], monkeypatch: pytest.MonkeyPatch, rounds: int, waits: int
) -> None:
    monkeypatch.setattr(containment, "read_recorded", lambda _: Held(done, rounds))
    adoption.kill_job(task, set())
    assert done.count(0.01) == waits
    assert done[-1] == ("release" if rounds == 3 else 0.01)


@pytest.mark.statement("EX-6", "EX-14")
@pytest.mark.parametrize(("gid", "killed"), [(20000, [11, 12]), (None, [12])])
def test_a_process_of_the_user_with_the_jobs_group_or_directory_is_marked(
    tmp_path: Path, task: Path, proc: Proc, monkeypatch: pytest.MonkeyPatch, gid: int | None, killed: list[int]
) -> None:
    own = f"A=1\0SGE_JOB_SPOOL_DIR={task}\0B=2"
    proc.add(10, groups="1001")
    proc.add(11, groups="1001 20000")
    proc.add(12, groups="1001", environ=own)
    proc.add(13, uid=1002, environ=own)
    proc.add(14, state="Z (zombie)")
    proc.add(15, groups="1001", environ=f"{own[:-4]}0")  # task 7.10
    proc.add(16, groups="120000")
    (tmp_path / "proc" / "17").mkdir()  # it has ended meanwhile
    (tmp_path / "proc" / "self").mkdir()
    monkeypatch.setattr(containment, "read_recorded", lambda _: Held([], gid=gid))
    adoption.kill_job(task, set())
    assert sorted(proc.killed) == killed


@pytest.mark.parametrize(
    ("parents", "killed"),
    [
        ({50: 1}, [50]),
        ({50: 77}, []),
        ({50: 1, 51: 50, 52: 51}, [50, 51, 52]),
        ({50: 77, 51: 50}, []),
        ({50: 1, 60: 77, 61: 60}, [50]),
        ({50: 2}, [50]),
    ],
)
def test_marked_processes_are_killed_that_no_living_shepherd_stands_above(
    task: Path, proc: Proc, parents: dict[int, int], killed: list[int]
) -> None:
    """77 is another cell's shepherd."""
    for pid, parent in parents.items():
        proc.add(pid, parent)
    adoption.kill_job(task, set())
    assert sorted(proc.killed) == killed


def test_a_marked_process_that_has_ended_meanwhile_is_no_reason_to_stop(task: Path, proc: Proc) -> None:
    proc.add(50)
    proc.add(52, 51)
    proc.add(51)
    del proc.parents[51]  # 51 ends before its parent is read
    adoption.kill_job(task, set())
    assert proc.killed == [50]


def test_killing_is_not_retried_forever(task: Path, proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    proc.add(50)
    monkeypatch.setattr(process_tree, "send", lambda *given: tries.append(given[0]))
    adoption.kill_job(task, set())
    assert tries == [50]
