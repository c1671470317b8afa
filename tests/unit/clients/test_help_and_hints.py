"""Answers of every command to -help and --version, with and without a cell, and the line below a refusal."""

from __future__ import annotations

import pytest

from clients import program
from gridengine.options.commands import COMMANDS
from tests.unit.clients.shell import Shell


def never(arguments: list[str]) -> int:
    raise AssertionError("the command itself is not needed")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_and_version_need_no_cell(command, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    for flag in ("-help", "--help"):
        assert program.run_guarded(command.name, never, [flag]) == 0
        assert capsys.readouterr().out.splitlines()[1].startswith(f"usage: {command.name} [options]")
    assert program.run_guarded(command.name, never, ["--version"]) == 0
    assert capsys.readouterr().out.startswith("SGE 8.1.9 (gridengine ")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("qsub -b y -l walltime=3600 true", "walltime is -l h_rt=TIME here"),
        ("qsub -b y -l mem_fre=1G true", 'did you mean "mem_free"'),
        ("qsub -b y -q al.q true", 'did you mean "all.q"?'),
        ("qsub -b y -q all.q@h11 true", 'did you mean "h1"?'),
        ("qsub -b y -pe spm 2 true", 'did you mean "smp"'),
        ("qrsub -d 100 -q al.q", 'did you mean "all.q"?'),
        ("qconf -sp spm", 'did you mean "smp"'),
        ("qconf -dp spm", 'did you mean "smp"'),
        ("qconf -mattr queue slots 2 al.q", 'did you mean "all.q"?'),
    ],
)
def test_a_name_that_is_nearly_right(shell: Shell, line: str, hint: str) -> None:
    outcome = shell.as_root(line)
    assert (outcome.out, outcome.status) == ("", 1)
    assert any(each.startswith(f"hint: {hint}") for each in outcome.err.splitlines()), outcome.err
    if line.startswith("qsub"):
        assert outcome.err.splitlines()[-2] == "Exiting.", "programs look for the first two lines"


@pytest.mark.statement("SB-2")
def test_lines_for_another_system_are_noted_where_there_are_none_of_ours(shell: Shell) -> None:
    for text, message in (
        ("#!/bin/sh\n#SBATCH --time=1\n#SBATCH -n 2\ntrue\n", "hint: 2 lines of the script for Slurm (#SBATCH) not read; "),
        ("#!/bin/sh\n#PBS -l walltime=1\ntrue\n", "hint: 1 line of the script for PBS (#PBS) not read; "),
        ("#!/bin/sh\n#SBATCH --time=1\n#$ -l h_rt=1\ntrue\n", ""),
    ):
        (shell.cwd / "job.sh").write_text(text)
        outcome = shell("qsub job.sh")
        assert outcome.status == 0 and outcome.err.startswith(message) and bool(outcome.err) == bool(message)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("qsub -b y -m q true", ("b e a s", "n for never")),
        ("qsub -b y -t 0 true", ("1-N",)),
        ("qsub -b y -a 1800 true", ("MMDDhhmm",)),
        ("qrsub -a 0900 -d 60", ("MMDDhhmm",)),
        ("qstat -explain u", ("u needs none: the host is unreachable",)),
    ],
)
def test_a_hint_lists_the_values_of_an_option(shell: Shell, line: str, values: tuple[str, ...]) -> None:
    err = shell.as_root(line).err
    assert "hint: " in err and all(flag in err.partition("hint: ")[2] for flag in values), err


@pytest.mark.statement("DP-1")
@pytest.mark.parametrize("terminal", [True, False])
def test_on_a_terminal_a_hint_names_a_predecessor_that_does_not_exist(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    message = "hint: -hold_jid nope: alice has no unfinished job of that name, so job 1 waits for none\n"
    assert shell("qsub -b y -hold_jid nope sleep 1").err == (message if terminal else "")
    assert shell("qsub -b y -hold_jid 1,nope sleep 1").err == "", "it waits for one"
    assert shell("qsub -b y -hold_jid 99 sleep 1").err == "", "the number of a job that has ended"


@pytest.mark.statement("QP-3")
@pytest.mark.parametrize("option", ["-dump", "-dump_tag"])
def test_qping_names_the_command_that_shows_messages_instead(shell: Shell, option: str) -> None:
    outcome = shell(f"qping {option} master 6444 qmaster 1")
    assert outcome.status == 1 and f"{option} is not there: qevent -sm shows what happens" in outcome.err
    assert {"qevent", "qexplain"} <= {command.name for command in COMMANDS}
