"""What the page of `gridengine` says of its sub-commands, made of the options that the program itself reads.

Owns the form of these sections. Called by `command_pages`.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from clients.admin.program import app


def sections() -> Iterator[str]:
    """Lines of Markdown: a section for each sub-command, in alphabetical order."""
    yield from _sections("gridengine", get_command(app))


def _leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name in sorted(inner):
        yield from _leaves(f"{path} {name}", inner[name])


def _sections(path: str, program: Any) -> Iterator[str]:
    for name, command in _leaves(path, program):
        operands = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
        options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
        yield from (f"## {name}", "", f"    {' '.join([name, *['[options]'][: len(options)], *map(_operand, operands)])}", "")
        yield from (_purpose(command), "")
        rows = [*map(_operand_row, operands), *map(_option_row, options)]
        if rows:
            yield from ("| option | what it does |", "|---|---|", *rows, "")


def _purpose(command: Any) -> str:
    return " ".join((command.help or "").split())


def _word(parameter: Any) -> str:
    """What stands for the value: one of a few words, or a name in capitals."""
    annotation = parameter.type_descriptor.annotation
    if typing.get_origin(annotation) is typing.Literal:
        return "|".join(map(str, typing.get_args(annotation)))
    return str(parameter.metavar or parameter.name.upper()).removeprefix("[").removesuffix("]").removesuffix("...")


def _operand(parameter: Any) -> str:
    word = f"{_word(parameter)}{'...' if parameter.nargs == -1 else ''}"
    return word if parameter.required else f"[{word}]"


def _operand_row(parameter: Any) -> str:
    return _row(_operand(parameter), parameter.help or "")


def _option_row(parameter: Any) -> str:
    words = "/".join([", ".join(parameter.opts), *parameter.secondary_opts])
    if not parameter.is_flag:
        words += f" {_word(parameter)}"
    variable = parameter.envvar if isinstance(parameter.envvar, str) else ""
    return _row(words, f"{parameter.help or ''}{f' Without it: `${variable}`.' if variable else ''}")


def _row(words: str, text: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in (f'`{words}`', text))} |"
