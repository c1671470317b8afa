"""The files of a task: exclusive claim, commands in order, stamps, group id ranges."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from shepherd import task_files
from shepherd.group_ids import parse_gid_range
from shepherd.process_tree import start_ticks
from tests.unit.shepherd.descriptors import open_descriptors


@pytest.mark.statement("EX-9")
def test_claim_is_exclusive(tmp_path: Path) -> None:
    assert task_files.claim(tmp_path)
    assert not task_files.claim(tmp_path)
    assert task_files.read_process(tmp_path / "pid") == (os.getpid(), start_ticks(os.getpid()))
    assert task_files.running(tmp_path / "pid") == os.getpid()
    assert [path.name for path in tmp_path.iterdir()] == ["pid"]


def test_process_id_that_was_used_again_is_another_process(tmp_path: Path) -> None:
    (tmp_path / "pid").write_text(f"{os.getpid()} 1\n")
    assert task_files.running(tmp_path / "pid") is None
    assert task_files.running(tmp_path / "nothing") is None


def test_commands_are_read_once_and_whole(tmp_path: Path) -> None:
    assert task_files.commands_after(tmp_path, 0) == ([], 0)
    task_files.add_command(tmp_path, "suspend")
    task_files.add_command(tmp_path, "resume")
    with open(tmp_path / "commands", "a") as file:
        file.write("ki")
    commands, offset = task_files.commands_after(tmp_path, 0)
    assert commands == ["suspend", "resume"]
    with open(tmp_path / "commands", "a") as file:
        file.write("ll\n")
    assert task_files.commands_after(tmp_path, offset)[0] == ["kill"]


def test_stamp() -> None:
    assert re.fullmatch(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d \[5:6\]: text", task_files.stamped("text", 6, 5))


@pytest.mark.statement("EX-14")
def test_gid_range() -> None:
    assert parse_gid_range("NONE") == parse_gid_range(None) == []
    assert parse_gid_range("100-102, 200") == [range(100, 103), range(200, 201)]
    with pytest.raises(ValueError):
        parse_gid_range("a-b")


@pytest.mark.statement("EX-9")
def test_a_command_is_passed_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task_files.add_command(tmp_path, "suspend")
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
        with pytest.raises(OSError, match="No space"):
            task_files.add_command(tmp_path, "terminate")
    task_files.add_command(tmp_path, "kill")
    assert task_files.commands_after(tmp_path, 0)[0] == ["suspend", "kill"]


@pytest.mark.statement("EX-9")
def test_the_end_waits_for_disk_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[float] = []
    write = task_files.write_exit

    def full_twice(directory: Path, record: dict[str, object]) -> None:
        if len(rounds) < 2:
            raise OSError(28, "No space left on device")
        write(directory, record)

    monkeypatch.setattr(task_files, "write_exit", full_twice)
    monkeypatch.setattr(task_files.time, "sleep", rounds.append)
    task_files.leave_exit(tmp_path, {"exit_status": 5})
    assert len(rounds) == 2 and '"exit_status": 5' in (tmp_path / "exit").read_text()
    task_files.leave_exit(tmp_path / "removed", {})


def test_a_job_process_is_that_very_process(tmp_path: Path) -> None:
    task_files.write_process(tmp_path / "job_pid", os.getpid())
    assert task_files.running(tmp_path / "job_pid") == os.getpid()
    task_files.write_process(tmp_path / "job_pid", 99999999)
    assert task_files.read_process(tmp_path / "job_pid") == (99999999, 0)
    assert task_files.running(tmp_path / "job_pid") is None, "it had ended already"
    task_files.write_process(tmp_path / "no" / "job_pid", os.getpid())  # as on a full disk: the job goes on


@pytest.mark.statement("CK-7")
def test_a_checkpoint_is_noted_with_its_process(tmp_path: Path) -> None:
    assert task_files.read_checkpoint(tmp_path) == 0
    task_files.write_checkpoint(tmp_path, 4711)
    assert task_files.read_checkpoint(tmp_path) == 4711
    (tmp_path / "checkpoint").write_text("none")
    assert task_files.read_checkpoint(tmp_path) == 0
    task_files.write_checkpoint(tmp_path / "no", 4711)


@pytest.mark.statement("EX-8", "EX-9")
def test_only_the_end_of_a_task_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    task_files.write_usage(tmp_path, {"cpu": 1.5})
    assert ((tmp_path / "usage").read_text(), synced) == ('{"cpu": 1.5}\n', [])
    opened = open_descriptors()
    task_files.write_exit(tmp_path, {"failed": 0})
    assert ((tmp_path / "exit").read_text(), len(synced)) == ('{"failed": 0}\n', 2), "it and its name"
    assert open_descriptors() == opened
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exit", "usage"], "no half-written file stays"
    task_files.write_usage(tmp_path / "no", {"cpu": 1.5})


@pytest.mark.statement("EX-9")
def test_commands_are_the_owners_to_read_and_nothing_stays_open(tmp_path: Path) -> None:
    opened = open_descriptors()
    task_files.add_command(tmp_path, "suspend")
    assert (tmp_path / "commands").stat().st_mode & 0o777 == 0o600
    commands, offset = task_files.commands_after(tmp_path, 0)
    assert (commands, offset) == (["suspend"], len("suspend\n"))
    assert task_files.commands_after(tmp_path, offset) == ([], offset)
    task_files.add_command(tmp_path, "resume")
    task_files.add_command(tmp_path, "kill")
    assert task_files.commands_after(tmp_path, offset) == (["resume", "kill"], len("suspend\nresume\nkill\n"))
    assert open_descriptors() == opened


def test_a_stamp_names_its_writer_by_default() -> None:
    assert f" [{os.geteuid()}:{os.getpid()}]: text" in task_files.stamped("text")
    assert " [0:0]: text" in task_files.stamped("text", 0, 0)
