"""What the launcher makes of tasks whose shepherd it did not start, and what it reports for a shepherd that died."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shepherd import adoption, process_tree, task_files
from tests.unit.shepherd.configuration import BASE

BOOTED = 1000.0


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A task's directory on a host that was booted long ago; there is nothing to kill."""
    directory = tmp_path / "active_jobs" / "7.1"
    directory.mkdir(parents=True)
    monkeypatch.setattr(adoption, "_kill_orphans", lambda shepherds: None)
    monkeypatch.setattr(adoption, "_kill_recorded", lambda directory: None)
    monkeypatch.setattr(process_tree, "boot_time", lambda: BOOTED)
    return directory


def write(path: Path, at: float = BOOTED + 1) -> None:
    path.write_text("12345 678\n")
    os.utime(path, (at, at))


def buried(directory: Path) -> dict[str, object]:
    adoption.bury(directory, set())
    found: dict[str, object] = json.loads((directory / task_files.EXIT).read_text())
    return found


def test_only_tasks_that_were_started_and_have_not_ended_are_taken_over(tmp_path: Path) -> None:
    assert adoption.task_directories(tmp_path) == []
    for name, files in {"9.1": ["pid"], "8.1": ["pid", "exit"], "7.2": ["pid", "job_pid"], "7.1": ["config"]}.items():
        directory = tmp_path / "active_jobs" / name
        directory.mkdir(parents=True)
        for file in files:
            (directory / file).touch()
    assert [each.name for each in adoption.task_directories(tmp_path)] == ["7.2", "9.1"]


@pytest.mark.statement("EX-4")
def test_a_job_whose_shepherd_died_has_died_after_its_start(task: Path) -> None:
    write(task / "pid")
    write(task / "job_pid", BOOTED + 50)
    record = buried(task)
    assert (record["failed"], record["exit_status"], record["signal"]) == (100, 137, 9)
    assert record["start_time"] == BOOTED + 50
    assert "the shepherd died before it could report the end of the job" in str(record["reason"])


@pytest.mark.statement("EX-4")
def test_a_job_that_had_not_started_is_a_failure_of_the_shepherd_alone(task: Path) -> None:
    write(task / "pid")
    record = buried(task)
    assert (record["failed"], record["exit_status"], record["signal"], record["start_time"]) == (18, 0, 0, 0.0)
    assert record["checkpoint"] == 0


@pytest.mark.statement("EX-4")
@pytest.mark.parametrize(("at", "failed"), [(BOOTED - 1, 19), (BOOTED, 100)])
def test_a_shepherd_from_before_the_boot_was_lost_with_its_host(task: Path, at: float, failed: int) -> None:
    write(task / "pid", at)
    write(task / "job_pid", at)
    assert buried(task)["failed"] == failed


@pytest.mark.statement("EX-4")
def test_a_shepherd_that_left_no_process_id_died_before_it_wrote_one(task: Path) -> None:
    assert buried(task)["failed"] == 4


@pytest.mark.statement("CK-7")
def test_the_checkpoint_of_a_job_outlives_its_shepherd(task: Path) -> None:
    write(task / "pid")
    task_files.write_checkpoint(task, 4711)
    assert buried(task)["checkpoint"] == 4711


def test_the_time_used_is_that_since_the_jobs_start_and_never_negative(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adoption.time, "time", lambda: BOOTED + 90)
    write(task / "pid")
    write(task / "job_pid", BOOTED + 50)
    record = buried(task)
    assert record["end_time"] == BOOTED + 90
    assert record["usage"]["ru_wallclock"] == 40  # type: ignore[index]
    write(task / "job_pid", BOOTED + 200)
    assert buried(task)["usage"]["ru_wallclock"] == 0  # type: ignore[index]


def test_the_living_shepherds_are_spared_when_orphans_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, set[int]]] = []
    monkeypatch.setattr(process_tree, "kill_tree", lambda pid, spared: killed.append((pid, spared)))
    monkeypatch.setattr(adoption, "_kill_recorded", lambda directory: None)
    adoption.bury(tmp_path, {41, 42})
    assert killed == [(os.getpid(), {41, 42})]


def test_the_owner_of_a_task_without_a_readable_configuration_is_nobody(tmp_path: Path) -> None:
    assert adoption._owner_of(tmp_path) is None
    (tmp_path / "config").write_text("no configuration")
    assert adoption._owner_of(tmp_path) is None
    (tmp_path / "config").write_text(json.dumps(BASE))
    assert adoption._owner_of(tmp_path) == BASE["uid"]


class Processes:
    """Marked processes that a test plays: `parents` has the parent of each; a killed one is gone."""

    def __init__(self, parents: dict[int, int]) -> None:
        self.parents = parents
        self.killed: list[int] = []

    def send(self, pid: int, parents: set[int], number: int) -> bool:
        assert (parents, number) == ({self.parents[pid]}, 9)
        self.killed.append(pid)
        del self.parents[pid]
        return True


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parents: dict[int, int], killed: list[int]
) -> None:
    """1 is init and 2 a subreaper; 77 is another cell's shepherd."""
    played = Processes(parents)
    monkeypatch.setattr(adoption, "_marked", lambda *_: list(played.parents))
    monkeypatch.setattr(process_tree, "reapers", lambda: {1, 2})
    monkeypatch.setattr(process_tree, "parent", played.parents.get)
    monkeypatch.setattr(process_tree, "send", played.send)
    adoption._kill_marked(tmp_path, 20000, 1001)
    assert sorted(played.killed) == killed


def test_what_cannot_be_killed_is_not_tried_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    monkeypatch.setattr(adoption, "_marked", lambda *_: [50])
    monkeypatch.setattr(process_tree, "reapers", lambda: {1})
    monkeypatch.setattr(process_tree, "parent", lambda pid: 1)
    monkeypatch.setattr(process_tree, "send", lambda *given: tries.append(given[0]))
    adoption._kill_marked(tmp_path, None, 1001)
    assert tries == [50]
