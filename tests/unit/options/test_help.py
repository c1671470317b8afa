"""Output of -help of each command, and messages about unknown words."""

from __future__ import annotations

import re
import shlex

import pytest

from gridengine.options.commands import COMMANDS
from gridengine.options.help_text import EXAMPLES, groups, help_text
from gridengine.options.hints import unknown_option_hint
from gridengine.options.option import read_options
from gridengine.terminal.hints import did_you_mean, unknown_resource_hint

each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)


@pytest.mark.statement("X-14")
@each_command
def test_help_names_the_version_and_every_option_once_and_no_other(command) -> None:  # type: ignore[no-untyped-def]
    text = help_text(command.name)
    assert text.startswith(f"SGE 8.1.9\nusage: {command.name} [options]")
    options = [option for _, below in groups(command) for option in below]
    assert sorted(option.name for option in options) == sorted(option.name for option in command.options)
    names = re.findall(r"(?:\[| \| )(--?[\w@+][\w@+-]*)", text.partition("Examples:")[0])
    assert sorted(names) == sorted(name for option in command.options for name in option.names)


@each_command
def test_three_examples_that_the_command_understands(command) -> None:  # type: ignore[no-untyped-def]
    options = {name: option for option in command.options for name in option.names}
    assert len(EXAMPLES[command.name]) == 3
    for call, meaning in EXAMPLES[command.name]:
        assert meaning
        arguments = shlex.split(call)
        if arguments[0] == command.name:  # else it is used within the call of another
            read_options(arguments[1:], options, mixed=command.operands[:1] != "[")
        assert command.name in call


@pytest.mark.parametrize(
    ("command", "argument", "hint"),
    [
        ("qsub", "-hold_jd", 'did you mean "-hold_jid"'),
        ("qsub", "--time", "--time is -l h_rt=TIME here"),
        ("qsub", "--time=10:00", "--time is -l h_rt=TIME here"),
        ("qsub", "--job-name=x", "--job-name is -N NAME here"),
        ("qstat", "--time", '"qstat -help" lists the options'),
        ("qstat", "-explane", 'did you mean "-explain"'),
        ("qconf", "-sqq", 'did you mean "-sq"'),
    ],
)
def test_an_unknown_option(command: str, argument: str, hint: str) -> None:
    line = unknown_option_hint(command, argument)
    assert line.startswith(f"usage: {command} [options]") and hint in line and "\n" not in line


def test_unknown_resources() -> None:
    known = ["h_vmem", "h_rt", "mem_free", "licence"]
    assert unknown_resource_hint("walltime", known) == "walltime is -l h_rt=TIME here"
    assert unknown_resource_hint("license", known) == 'did you mean "licence"?'
    assert unknown_resource_hint("zzz", known) == ""
    assert unknown_resource_hint("gpu", ["cpu"]) == "this cell counts no GPUs (gridengine host add HOST --gpus N)"
    assert unknown_resource_hint("gpus", ["cpu", "gpu"]) == "gpus is -l gpu=N here"


def test_there_is_no_hint_where_no_name_is_near() -> None:
    assert did_you_mean("abc", ["xyz"]) == ""
