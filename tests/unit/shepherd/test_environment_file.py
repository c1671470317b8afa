"""Variables that a prolog writes into `environment`, and the processes that get them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shepherd.command_line import CommandLine
from shepherd.environment_file import EnvironmentFile
from shepherd.identity import Identity
from shepherd.methods import SAFE_PATH
from shepherd.plan import Output, Run
from shepherd.task_files import Trace

JOB = Run("job", CommandLine("", []), Output("", "", None), 0, 0, {})
PROLOG, EPILOG = replace(JOB, name="prolog"), replace(JOB, name="epilog")
GIVEN = {"A": "1", "B": "a\\b\nc"}


def handed(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch, prolog: Run = PROLOG) -> EnvironmentFile:
    monkeypatch.setattr("shepherd.environment_file.find_identity", lambda user: Identity(user, 0, 0, ()))
    monkeypatch.setattr("os.fchown", lambda *_: None)
    over = EnvironmentFile(tmp_path, Identity("alice", 1001, 1001, ()), Trace(tmp_path))
    over.before(prolog, GIVEN)
    with (tmp_path / "environment").open("a") as file:
        file.write(text)
    over.after(prolog)
    return over


@pytest.mark.statement("EN-1", "QC-25")
def test_the_file_has_the_environment_of_the_job_and_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert handed(tmp_path, "", monkeypatch).variables_for(JOB) == {}
    assert (tmp_path / "environment").read_text() == "A=1\nB=a\\\\b\\nc\n"
    assert (tmp_path / "environment").stat().st_mode & 0o777 == 0o600


@pytest.mark.statement("QC-25")
def test_the_job_gets_what_was_added_or_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over = handed(tmp_path, "X=1\nA=2\nno line\n=3\n1X=4\nX=a=b \\\\ \\n\nLD_PRELOAD=/l.so\nPATH=/site/bin", monkeypatch)
    assert over.variables_for(JOB) == {"X": "a=b \\ \n", "A": "2", "LD_PRELOAD": "/l.so", "PATH": "/site/bin"}
    assert over.variables_for(EPILOG) == {"X": "a=b \\ \n", "A": "2"}


@pytest.mark.statement("EX-20")
@pytest.mark.parametrize(("writer", "expected"), [(None, {"SGE_METHOD_X": "2"}), ("root", {"X": "1", "SGE_METHOD_X": "2"})])
def test_variables_that_the_owner_could_have_written_reach_no_method_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str | None, expected: dict[str, str]
) -> None:
    text = f"X=1\nSGE_METHOD_X=2\nBASH_ENV=/e\nPATH={SAFE_PATH}x\nLD_PRELOAD=/l.so\n"
    over = handed(tmp_path, text, monkeypatch, replace(PROLOG, user=writer))
    assert over.variables_for(replace(EPILOG, user="root")) == expected
    assert over.variables_for(replace(JOB, awaits_client=True)) == expected


def test_nothing_is_made_for_a_task_without_methods(tmp_path: Path) -> None:
    over = EnvironmentFile(tmp_path, Identity("alice", 1001, 1001, ()), Trace(tmp_path))
    over.before(JOB, GIVEN)
    over.after(JOB)
    assert over.variables_for(JOB) == {}
    assert not (tmp_path / "environment").exists()


def test_a_file_that_is_gone_hands_nothing_over(tmp_path: Path) -> None:
    over = EnvironmentFile(tmp_path, Identity("alice", 0, 0, ()), Trace(tmp_path))
    over.before(EPILOG, GIVEN)
    (tmp_path / "environment").unlink()
    over.after(PROLOG)
    assert over.variables_for(EPILOG) == {}
    assert "can't read" in (tmp_path / "trace").read_text()
