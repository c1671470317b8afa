"""Sections of the page of `gridengine` about its sub-commands, generated from the options that the program itself reads.

Owns the form of these sections. Called by `command_pages`.
"""

from __future__ import annotations

from collections.abc import Iterator

from clients.admin.command_tree import Parameter, sub_commands
from clients.admin.program import app


def sections() -> Iterator[str]:
    """Lines of Markdown: a section for each sub-command, by name."""
    for command in sub_commands(app):
        call = [command.name, *["[options]"][: len(command.options)], *map(_operand, command.operands)]
        yield from (f"## {command.name}", "", f"    {' '.join(call)}", "", command.purpose, "")
        rows = [*map(_operand_row, command.operands), *map(_option_row, command.options)]
        if rows:
            yield from ("| option | what it does |", "|---|---|", *rows, "")


def _operand(operand: Parameter) -> str:
    placeholder = f"{operand.placeholder}{'...' if operand.is_repeatable else ''}"
    return placeholder if operand.is_required else f"[{placeholder}]"


def _operand_row(operand: Parameter) -> str:
    return _row(_operand(operand), operand.help)


def _option_row(option: Parameter) -> str:
    signature = " ".join([", ".join(option.names), *([option.placeholder] if option.placeholder else [])])
    return _row(signature, f"{option.help}{f' Without it: `${option.variable}`.' if option.variable else ''}")


def _row(signature: str, text: str) -> str:
    bar = "\\|"
    return f"| {' | '.join(cell.replace('|', bar) for cell in (f'`{signature}`', text))} |"
