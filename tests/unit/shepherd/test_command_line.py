"""The command line of a job: in a login shell, through wrappers and starters, and when a missing program is a missing shell."""

from __future__ import annotations

from typing import Any

import pytest

from shepherd.command_line import CommandLine, job_command_line
from tests.unit.shepherd.configuration import config

LOGIN = {"login": True, "login_shell": "/opt/bash", "script": None}
COMMAND = {**LOGIN, "binary": True, "command": "ls", "args": ["-l", "*.c"]}


@pytest.mark.statement("IA-7", "SO-24", "QC-26")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (LOGIN, CommandLine("/opt/bash", ["-bash"], interpreter=True)),
        ({**LOGIN, "starter_method": "/s"}, CommandLine("/opt/bash", ["-bash"], interpreter=True)),
        (COMMAND, CommandLine("/opt/bash", ["bash", "-c", "ls -l *.c"], interpreter=True)),
        ({**COMMAND, "no_shell": True}, CommandLine("ls", ["ls", "-l", "*.c"])),
        ({**COMMAND, "wrapper": "/w"}, CommandLine("/w", ["/w", "ls -l *.c"], interpreter=True)),
        ({**COMMAND, "wrapper": "/w", "no_shell": True}, CommandLine("ls", ["ls", "-l", "*.c"])),
    ],
)
def test_the_command_line_of_an_interactive_job(changes: dict[str, Any], expected: CommandLine) -> None:
    assert job_command_line(config(**changes)) == expected


@pytest.mark.statement("QC-26", "QC-24")
@pytest.mark.parametrize("mode", ["posix_compliant", "script_from_stdin"])
def test_a_starter_gets_the_arguments_of_a_command_in_every_shell_start_mode(mode: str) -> None:
    for command in ({**COMMAND, "binary": False}, {"binary": True, "command": "ls", "args": ["-l", "*.c"]}):
        found = job_command_line(config(**command, starter_method="/s", shell_start_mode=mode))
        assert (found.argv, found.script_on_stdin) == (["/s", "ls", "-l", "*.c"], None)


@pytest.mark.statement("EX-4")
@pytest.mark.parametrize(
    ("changes", "is_missing_shell"),
    [
        ({}, True),
        ({"shell_start_mode": "script_from_stdin"}, True),
        ({"shell_start_mode": "unix_behavior"}, False),
        ({"starter_method": "/s"}, True),
        ({"binary": True, "command": "ls"}, True),
        ({"binary": True, "command": "ls", "no_shell": True}, False),
    ],
)
def test_a_missing_program_is_a_missing_shell_where_one_was_requested(
    changes: dict[str, Any], is_missing_shell: bool
) -> None:
    assert job_command_line(config(**changes)).interpreter == is_missing_shell


@pytest.mark.statement("QC-23")
def test_only_a_fed_script_is_standard_input() -> None:
    assert job_command_line(config()).script_on_stdin is None
    assert job_command_line(config(shell_start_mode="unix_behavior")).script_on_stdin is None


@pytest.mark.statement("QC-22", "SO-33")
@pytest.mark.parametrize("shell", ["/bin/tcsh", "/bin/csh"])
def test_arguments_of_a_c_shell_have_their_numbers(shell: str) -> None:
    found = job_command_line(config(binary=True, command="~/a", args=["", "b c"], shell=shell, login_shells=[]))
    assert found.argv[1:] == ["-c", '~/a "" $argv[2]:q', "", "b c"]
