"""`sge_shepherd` as a program, which wrappers start in the directory of a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from shepherd import __main__ as program
from shepherd import process_tree


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The calls and their arguments, in the directory of a test."""
    reports: list[object] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process_tree, "detach", lambda: reports.append("detached"))
    monkeypatch.setattr(program, "shepherd", reports.append)
    return reports


@pytest.mark.statement("EX-15")
def test_the_program_is_the_shepherd_of_its_working_directory(played: list[object], tmp_path: Path) -> None:
    (tmp_path / "config").write_text("{}")
    assert program.main() == 0
    assert played == ["detached", tmp_path]


def test_the_program_refuses_to_run_elsewhere(played: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main() == 1
    assert played == []
    assert "not that of a task" in capsys.readouterr().err
