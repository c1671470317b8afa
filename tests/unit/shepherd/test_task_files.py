"""The files of a task: exclusive claim, commands in order, stamps, group id ranges."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from shepherd import task_files
from shepherd.containment import parse_gid_range
from shepherd.process_tree import start_ticks


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
def test_the_end_waits_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
