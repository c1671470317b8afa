"""Directories of ended tasks, recycled for new tasks: the new task sees nothing of the old task (ADR 155)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemons.execd import recycled_directories
from shepherd import task_files

ORDINARY = ("config", "execd", "pid", "trace", "exit", "job_pid", "addgrpid", "scratch")


@pytest.fixture
def recycled(tmp_path: Path) -> Path:
    (tmp_path / "spare_jobs").mkdir()
    (tmp_path / "active_jobs").mkdir()
    return tmp_path / "spare_jobs"


def over(recycled: Path, name: str, *more: str) -> Path:
    """The directory of a task that is over."""
    directory = recycled.parent / "active_jobs" / name
    directory.mkdir()
    for file in (*ORDINARY, *more):
        (directory / file).write_text(f"{file} of {name}, and more than others write\n")
    return directory


def test_a_directory_is_used_again_and_its_files_cannot_be_mistaken(recycled: Path) -> None:
    directory = over(recycled, "7.1")
    inodes = {path.name: path.stat().st_ino for path in directory.iterdir()}
    recycled_directories.recycle(recycled, directory)
    assert not directory.exists()
    again = directory.with_name("8.1")
    assert recycled_directories.take(recycled, again)
    seen = {path.name for path in again.iterdir() if not path.name.endswith(".new")}
    assert seen == {"config", "execd"}, "which the execd writes before anybody looks"
    for name in seen:
        recycled_directories.overwrite(again / name, b"short")
    assert {(again / name).read_bytes() for name in seen} == {b"short"}
    task_files.write_exit(again, {"failed": 0})
    trace, note = task_files.Trace(again), task_files.ScratchNote(again)
    trace("begins")
    trace("ends")
    note("/tmp/8.1")
    note("/tmp/8.1", 5)
    note.close()
    trace.close()
    task_files.write_process(again / "job_pid", os.getpid())
    assert task_files.read_scratch(again) == (5, "/tmp/8.1")
    assert [line.partition(": ")[2] for line in (again / "trace").read_text().splitlines()] == ["begins", "ends"]
    assert (again / "exit").read_text() == '{"failed": 0}\n'
    assert task_files.running(again / "job_pid") == os.getpid()
    for name in ("config", "execd", "exit", "trace", "scratch", "job_pid"):
        assert (again / name).stat().st_ino == inodes[name], "no file was made"
    assert not recycled_directories.take(recycled, directory.with_name("9.1")), "there was one"


def test_the_end_of_a_task_is_not_readable_for_the_next_task(recycled: Path) -> None:
    directory = over(recycled, "7.1")
    (directory / "exit").chmod(0o644)
    recycled_directories.recycle(recycled, directory)
    again = directory.with_name("8.1")
    assert recycled_directories.take(recycled, again)
    assert (again / "exit.new").stat().st_mode & 0o077 == 0
    task_files.write_exit(recycled, {"failed": 0})
    assert (recycled / "exit").stat().st_mode & 0o077 == 0


def test_a_recycled_directory_does_not_replace_another(recycled: Path) -> None:
    recycled_directories.recycle(recycled, over(recycled, "7.1"))
    taken = over(recycled, "8.1")
    assert not recycled_directories.take(recycled, taken)
    assert (taken / "exit").read_text().startswith("exit of 8.1")


@pytest.mark.parametrize("more", ["commands", "usage", "checkpoint", "session", "pe_hostfile", "of_somebody"])
def test_a_directory_with_more_in_it_than_others_goes(recycled: Path, more: str) -> None:
    directory = over(recycled, "7.1", more)
    recycled_directories.recycle(recycled, directory)
    assert (directory.exists(), os.listdir(recycled)) == (False, [])


def test_only_so_many_are_kept(recycled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recycled_directories, "MAX_DIRECTORIES", 2)
    for number in range(3):
        recycled_directories.recycle(recycled, over(recycled, f"{number}.1"))
    assert len(os.listdir(recycled)) == 2
    assert os.listdir(recycled.parent / "active_jobs") == []


def test_without_a_directory_for_them_none_is_recycled(recycled: Path) -> None:
    recycled.rmdir()
    directory = over(recycled, "7.1")
    recycled_directories.recycle(recycled, directory)
    assert not directory.exists()
    assert not recycled_directories.take(recycled, directory)
