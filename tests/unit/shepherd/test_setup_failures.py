"""The reason why a process did not reach its program: codes, reasons and faults, and the pipe that carries them."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gridengine.usage.failed import CHANGING_DIRECTORY, NO_SHELL, OPENING_FILES
from shepherd import process
from shepherd.command_line import CommandLine
from shepherd.faults import BY_CODE, JOB
from shepherd.limits import ResourceLimit
from shepherd.plan import Output, Run
from shepherd.process import SetupError, StartedProcess


def step(command: CommandLine, **fields: object) -> Run:
    return Run("job", command, Output("/dev/null", "/dev/null", None), 8, 9, {}, **fields)  # type: ignore[arg-type]


def refusing(monkeypatch: pytest.MonkeyPatch, number: int) -> list[list[str]]:
    """No program is executed; those that were tried by path alone."""
    tried: list[list[str]] = []

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "execvpe", refuse)

    def give(path: str, argv: list[str], environment: object) -> None:
        tried.append([path, *argv])
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "execve", give)
    return tried


def reported(*arguments: object) -> tuple[int, str, str]:
    """What a started process says of its setup when its copy of the shepherd reports this."""
    reading, writing = os.pipe()
    if arguments:
        process.report_failure(writing, *arguments)  # type: ignore[arg-type]
    os.close(writing)
    return StartedProcess(1, reading).setup_failure()


@pytest.mark.statement("EX-3")
def test_a_setup_failure_comes_through_the_pipe_unchanged() -> None:
    failed, reason, fault = reported(26, "can't chdir to /a b: no such thing", JOB)
    assert (failed, fault) == (26, JOB)
    assert reason.endswith("can't chdir to /a b: no such thing")


def test_a_long_reason_is_cut_and_does_not_break_the_report() -> None:
    failed, reason, _ = reported(26, "x" * 9000, BY_CODE)
    assert failed == 26
    assert 4000 < len(reason) < 4096


def test_a_process_without_a_report_has_reached_its_program() -> None:
    assert reported() == (0, "", BY_CODE)
    assert StartedProcess(1, None).setup_failure() == (0, "", BY_CODE)


def test_a_process_that_is_forgotten_leaves_no_descriptor() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    StartedProcess(1, reading).forget()
    with pytest.raises(OSError, match="Bad file"):
        os.close(reading)
    StartedProcess(1, None).forget()


@pytest.mark.statement("EX-3", "QC-23")
def test_a_script_that_cannot_be_opened_is_reported_with_its_path(tmp_path: Path) -> None:
    assert process.open_script(None) is None
    with pytest.raises(SetupError, match=f'can\'t open script file "{tmp_path}/none": No such file') as raised:
        process.open_script(f"{tmp_path}/none")
    assert raised.value.failed == OPENING_FILES


@pytest.mark.statement("EX-3")
def test_a_directory_that_cannot_be_entered_is_reported_with_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SetupError, match=f"can't chdir to {tmp_path}/none: No such file") as raised:
        process.change_directory(f"{tmp_path}/none")
    assert raised.value.failed == CHANGING_DIRECTORY


@pytest.mark.statement("EX-3")
@pytest.mark.parametrize(
    ("interpreter", "number", "text"),
    [
        (True, errno.ENOENT, 'unable to find shell "/no/shell"'),
        (True, errno.ENOTDIR, 'unable to find shell "/no/shell"'),
        (True, errno.EACCES, "can't execute job /no/shell: Permission denied"),
        (False, errno.ENOENT, "can't execute job /no/shell: No such file or directory"),
    ],
)
def test_a_missing_shell_is_distinguished_from_a_missing_program(
    monkeypatch: pytest.MonkeyPatch, interpreter: bool, number: int, text: str
) -> None:
    refusing(monkeypatch, number)
    with pytest.raises(SetupError) as raised:
        process.execute_step(step(CommandLine("/no/shell", ["sh"], interpreter=interpreter)), {})
    assert (str(raised.value), raised.value.failed) == (text, NO_SHELL)


def test_a_shell_that_is_there_but_whose_own_interpreter_is_not_is_no_missing_shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusing(monkeypatch, errno.ENOENT)
    shell = tmp_path / "shell"
    shell.touch()
    with pytest.raises(SetupError, match="can't execute job"):
        process.execute_step(step(CommandLine(str(shell), ["sh"], interpreter=True)), {})


@pytest.mark.statement("QC-21")
@pytest.mark.parametrize("name", ["prolog", "epilog", "pe_start", "pe_stop", "job", "suspend_method", "ckpt_command"])
def test_a_file_without_an_interpreter_is_given_to_sh(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    seen = refusing(monkeypatch, errno.ENOEXEC)
    with pytest.raises(SetupError):  # the played exec comes back, a real one does not
        process.execute_step(replace(step(CommandLine("/a/script", ["script", "x"])), name=name), {})
    assert seen == [["/bin/sh", "/bin/sh", "/a/script", "x"]]


@pytest.mark.statement("EX-3")
@pytest.mark.parametrize(("name", "failed"), [("epilog", 14), ("pe_stop", 12), ("prolog", NO_SHELL)])
@pytest.mark.parametrize("mode", [None, 0o644])
def test_a_method_that_is_not_there_or_not_executable_fails_before_its_step(
    tmp_path: Path, name: str, failed: int, mode: int | None
) -> None:
    file = tmp_path / "method"
    if mode is not None:
        file.touch(mode)
    run = replace(step(CommandLine(str(file), ["method"])), name=name, before={"epilog": 14, "pe_stop": 12}.get(name, 7))
    with pytest.raises(SetupError, match=f"can't execute {name} {file}") as raised:
        process.execute_step(run, {})
    assert raised.value.failed == failed


@pytest.mark.statement("QI-10")
@pytest.mark.parametrize(("limits", "fault"), [([], False), ([ResourceLimit("vmem", 1, 1)], True)])
def test_too_little_memory_is_the_jobs_fault_where_it_has_limits(
    monkeypatch: pytest.MonkeyPatch, limits: list[ResourceLimit], fault: bool
) -> None:
    refusing(monkeypatch, errno.ENOMEM)
    with pytest.raises(SetupError) as raised:
        process.execute_step(step(CommandLine("/bin/true", ["true"]), limits=limits), {})
    assert (raised.value.fault == JOB) == fault
