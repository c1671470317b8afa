"""The registry of commands, the pages made from it, and the completion of the arguments of options."""

import re
from contextlib import suppress
from importlib.util import find_spec

import pytest

from clients.admin.command_tree import sub_commands
from clients.admin.completion import bash_completion, kind_of, zsh_completion
from clients.admin.fish_completion import fish_completion
from clients.admin.program import app
from gridengine.options.commands import COMMANDS
from gridengine.options.option import OptionError
from tools import launchers
from tools.command_pages import PAGES, pages

_PAGES, _TREE = pages(), sub_commands(app)


def test_the_pages_are_those_of_the_option_table() -> None:
    there = {path.name: path.read_text() for path in PAGES.glob("*.md")}
    assert there == _PAGES, "run: make pages"


def test_every_placeholder_closes_its_brackets() -> None:
    placeholders = [each.placeholder for command in _TREE for each in (*command.operands, *command.options)]
    assert "MASTER[:PORT]" in placeholders
    assert [text for text in placeholders if text.count("[") != text.count("]")] == []


def test_every_command_that_is_installed_is_in_the_registry() -> None:
    installed = {name for name in launchers.COMMANDS if find_spec(f"clients.{name}")}
    assert {command.name for command in COMMANDS} == installed


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_option_has_its_line_and_its_completion(command) -> None:  # type: ignore[no-untyped-def]
    page, bash, zsh, fish = _PAGES[f"{command.name}.md"], bash_completion(_TREE), zsh_completion(_TREE), fish_completion(_TREE)
    completions = re.search(rf"^_ge_options\[{command.name}\]='(.*)'$", bash, re.MULTILINE)
    assert completions is not None and command.options
    names = [name for option in command.options for name in option.names]
    assert completions[1].split() == names
    block = zsh[zsh.index(f"    {command.name})\n") :].partition(";;")[0]
    for option in command.options:
        assert f"`{', '.join(option.names)}" in page
        assert all(f"'*{name}[" in block for name in option.names)
        assert all(re.search(rf"^complete -c {command.name} -[lo] '?{name.lstrip('-')}'? ", fish, re.M) for name in option.names)


@pytest.mark.parametrize(
    ("argument", "kind"),
    [
        ("path_list", "file"),
        ("[pe_name]", "pe"),
        ("wc_queue_list...", "queue"),
        ("y[es]|n[o]", "=y n"),
        ("[env|pe|set]", "=env pe set"),
        ("date_time", ""),
        ("[script|-|command", "file"),
    ],
)
def test_kinds_of_arguments(argument: str, kind: str) -> None:
    assert kind_of(argument) == kind


DICT_FILLED = (
    "qdel qhold qrls qmod qstat qstatus qsched qacct qping qhost qrdel qevent qrstat qquota qexplain qselect sge_share_mon"
).split()


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.name in DICT_FILLED], ids=lambda command: command.name)
def test_every_option_fills_the_settings_of_its_command_or_is_refused_with_a_reason(command) -> None:  # type: ignore[no-untyped-def]
    for option in command.options:
        filled = {"now": 1e9}
        with suppress(OptionError):
            option.apply(filled, ["1" for _ in option.arguments])
            assert filled != {"now": 1e9}, option.name
