"""The stderr of a child process: its lines are logged, tracebacks go to their own file."""

from __future__ import annotations

from pathlib import Path

from daemons.runtime.child_output import ChildOutput

FAULT = ["Traceback (most recent call last):", '  File "x.py", line 3', "    1 / 0", "ZeroDivisionError: division by zero"]


def test_a_traceback_among_its_lines_is_put_aside(tmp_path: Path) -> None:
    output = ChildOutput(tmp_path)
    lines = ["launcher: a complaint", *FAULT, "launcher: another one"]
    logged = [text for line in lines if (text := output.filter_line(f"{line}\n".encode()))]
    assert logged == [lines[0], f"{FAULT[-1]} (see tracebacks beside this file)", lines[-1]]
    assert (tmp_path / "tracebacks").read_text().splitlines()[:4] == FAULT


def test_where_it_cannot_be_kept_the_error_is_reported_all_the_same(tmp_path: Path) -> None:
    output = ChildOutput(tmp_path / "missing")
    assert [output.filter_line(f"{line}\n".encode()) for line in FAULT] == ["", "", "", FAULT[-1]]
