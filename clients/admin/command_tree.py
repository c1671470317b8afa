"""The sub-commands of `gridengine` with their options, read from the program itself.

Owns the walk and its result; completion and the manual page are built from the result. Called by `completion` and by
`tools/program_page.py`.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer
from typer.main import get_command


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option, or an operand without names. `placeholder`: the name of its value, "" for a flag."""

    names: tuple[str, ...]
    placeholder: str
    help: str
    is_required: bool
    is_repeatable: bool
    variable: str


@dataclass(frozen=True, slots=True)
class SubCommand:
    """`name`: the full name, such as `gridengine host add`."""

    name: str
    purpose: str
    options: tuple[Parameter, ...]
    operands: tuple[Parameter, ...]


def sub_commands(program: Any) -> list[SubCommand]:
    """All sub-commands that do something, by name. `program`: the command of `gridengine`, or its `typer.Typer`."""
    return list(_below("gridengine", get_command(program) if isinstance(program, typer.Typer) else program))


def _below(name: str, command: Any) -> Iterator[SubCommand]:
    inner = getattr(command, "commands", None)
    if inner is None:
        of_kind: dict[str, list[Parameter]] = {"option": [], "argument": []}
        for parameter in command.params:
            of_kind[parameter.param_type_name].append(_parameter(parameter))
        purpose = " ".join((command.help or "").split())
        yield SubCommand(name, purpose, tuple(of_kind["option"]), tuple(of_kind["argument"]))
        return
    for each in sorted(inner):
        yield from _below(f"{name} {each}", inner[each])


def _parameter(given: Any) -> Parameter:
    is_option = given.param_type_name == "option"
    names = (*given.opts, *given.secondary_opts) if is_option else ()
    placeholder = "" if is_option and given.is_flag else _placeholder(given)
    variable = given.envvar if isinstance(given.envvar, str) else ""
    is_repeatable = given.multiple if is_option else given.nargs == -1
    return Parameter(names, placeholder, given.help or "", given.required, is_repeatable, variable)


def _placeholder(given: Any) -> str:
    """The choices between bars, or a name in capitals."""
    annotation = given.type_descriptor.annotation
    if typing.get_origin(annotation) is typing.Literal:
        return "|".join(map(str, typing.get_args(annotation)))
    name = str(given.metavar or given.name.upper())
    return (name[1:-1] if name.startswith("[") else name).removesuffix("...")
