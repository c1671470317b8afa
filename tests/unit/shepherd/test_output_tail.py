"""The end of a task's files as its owner may see it, and the files opened for this: plain files alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gridengine.protocols import task_file
from shepherd import output_tail
from shepherd.output_tail import OutputError, find_file, read, read_end
from tests.unit.shepherd.configuration import BASE, config


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Whom the process has become, and what it opened before and after."""
    seen: list[Any] = []
    usual = os.open

    def noted(path: Any, flags: int, *more: Any, **named: Any) -> int:
        seen.append(("open", str(path)))
        return usual(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", noted)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "getgrouplist", lambda user, gid: [gid, 50])
    monkeypatch.setattr(output_tail, "become", lambda user: seen.append((user.name, user.uid, user.gid, user.groups)))
    return seen


def task(directory: Path, **changes: Any) -> Path:
    (directory / "config").write_bytes(task_file.encode(config(**changes)))
    return directory


@pytest.mark.parametrize(
    ("changes", "stdout", "stderr"),
    [
        ({}, "/home/alice/j.o7", "/home/alice/j.e7"),
        ({"stderr": None, "merge": True}, "/home/alice/j.o7", "/home/alice/j.o7"),
        ({"stdout": "/", "stderr": "/", "default_stdout": "j.o7", "default_stderr": "j.e7"}, "/j.o7", "/j.e7"),
    ],
)
def test_the_path_is_the_one_that_the_shepherd_uses(changes: dict[str, Any], stdout: str, stderr: str) -> None:
    assert [find_file(config(**changes), stream) for stream in ("stdout", "stderr")] == [stdout, stderr]


def test_an_interactive_task_has_no_file() -> None:
    with pytest.raises(OutputError, match="to its client"):
        find_file(config(session="pty"), "stdout")


@pytest.mark.statement("EX-14", "EX-19")
def test_the_reader_becomes_the_owner_with_all_groups_before_it_opens_a_file(tmp_path: Path, became: list[Any]) -> None:
    output = tmp_path / "o"
    output.write_text("line\n")
    assert read(task(tmp_path, stdout=str(output)), "alice", "stdout", 100)["text"] == "line\n"
    assert became == [("alice", 1001, 1001, (1001, 50)), ("open", str(output))]


def test_a_task_of_another_user_is_left_alone(tmp_path: Path, became: list[Any]) -> None:
    assert read(task(tmp_path), "bob", "stdout", 100) == {"fault": 'the task here belongs to "alice"'}
    assert became == []


def test_the_owner_must_be_a_user_who_may_run_jobs_here(tmp_path: Path, became: list[Any]) -> None:
    assert "below min_uid" in str(read(task(tmp_path, min_uid=2000), "alice", "stdout", 100)["fault"])
    assert read(tmp_path / "gone", "alice", "stdout", 100) == {"fault": "the task has ended"}
    assert became == []


@pytest.mark.parametrize(
    ("content", "max_bytes", "expected"),
    [
        (b"", 10, (0, 0, "")),
        (b"one\ntwo\n", 100, (8, 0, "one\ntwo\n")),
        (b"one\ntwo\n", 4, (8, 4, "two\n")),
        ("größer".encode(), 5, (8, 4, "ßer")),  # no half of a character
        (b"\x80\x81", 10, (2, 0, "\ufffd\ufffd")),
        (b"\0\x1b[31m", 10, (6, 0, "\0\x1b[31m")),
    ],
)
def test_the_end_of_a_file_is_read_and_no_more(
    tmp_path: Path, content: bytes, max_bytes: int, expected: tuple[int, int, str]
) -> None:
    (tmp_path / "o").write_bytes(content)
    tail = read_end(str(tmp_path / "o"), max_bytes)
    assert (tail["size"], tail["begin"], tail["text"]) == expected


def test_a_link_is_followed_to_a_plain_file_and_to_nothing_else(tmp_path: Path, became: list[Any]) -> None:
    (tmp_path / "o").write_text("told")
    os.mkfifo(tmp_path / "pipe")
    answers = {}
    for target in ("o", "pipe", "/dev/zero", "/dev/tty", str(tmp_path)):
        link = tmp_path / "link"
        link.symlink_to(target)
        answers[target] = read(task(tmp_path, stdout=str(link)), "alice", "stdout", 100)
        link.unlink()
    assert answers.pop("o")["text"] == "told"
    assert {str(each["fault"]).rpartition('" ')[2] for each in answers.values()} == {"is no plain file"}
    assert [path for each, path in [seen for seen in became if seen[0] == "open"]] == [str(tmp_path / "link")]


def test_a_file_replaced_between_check_and_opening_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    plain, answers = os.stat(__file__), ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "stat", lambda path: plain)
        try:
            read_end(str(tmp_path / "pipe"), 100)
        except (OutputError, OSError) as fault:
            answers = str(fault)
    assert answers == f'"{tmp_path}/pipe" is no plain file'


def test_a_file_that_may_not_be_read_is_reported_with_the_reason(tmp_path: Path, became: list[Any]) -> None:
    def closed(path: Any, *flags: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    (tmp_path / "o").write_text("secret")
    task(tmp_path, stdout=str(tmp_path / "o"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", closed)
        answers = read(tmp_path, "alice", "stdout", 100)
    assert answers == {"path": str(tmp_path / "o"), "fault": f'cannot read "{tmp_path}/o": Permission denied'}


def test_json_is_printed_for_any_bytes_of_the_file(tmp_path: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "o").write_bytes(bytes(range(256)))
    monkeypatch.setattr(output_tail.signal, "alarm", lambda seconds: 0)
    monkeypatch.setattr(output_tail, "become", lambda user: None)
    monkeypatch.setattr(os, "geteuid", lambda: BASE["uid"])
    output_tail.main([str(task(tmp_path, stdout=str(tmp_path / "o"), groups=[])), "alice", "stdout", "65536"])
    assert json.loads(capfdbinary.readouterr().out)["size"] == 256
