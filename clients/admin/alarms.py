"""`gridengine alarms`: the active alarms of the cell, as the web server of this host has them.

Owns the output and the exit code. Source: gridengine/protocols/web.py; adr/0280.
"""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer

from clients.admin.cell import cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.web import ask_server
from gridengine.protocols import web
from gridengine.values.units import counted

_SERIOUS = ("critical", "warning")


def alarms(
    root: Root = None,
    cell: CellName = "default",
    as_json: Annotated[bool, typer.Option("--json", help="Print the alarms as JSON, as the REST API does.")] = False,
) -> None:
    """Show the active alarms with cause and next step. Exit code 1: an alarm is of severity warning or critical."""
    here = read_cell(cell_of_environment(root, cell))
    active: list[dict[str, Any]] = ask_server(here, web.ALARMS)["alarms"]
    if as_json:
        typer.echo(json.dumps(active, indent=2))
    else:
        for each in active:
            typer.echo(_text(each))
        typer.echo(counted(len(active), "alarm") if active else "no alarms")
    raise typer.Exit(1 if any(each["severity"] in _SERIOUS for each in active) else 0)


def _text(each: dict[str, Any]) -> str:
    """An alarm on several lines, as doctor shows its findings."""
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(each["since"]))
    lines = [f"{each['severity']:<8} {each['rule']}: {each['subject']}, since {since}", f"         {each['cause']}"]
    lines.append(f"         {each['step']}" + (f" {each['command']}" if each["command"] else ""))
    if known := each["acknowledged"]:
        lines.append(f"         acknowledged by {known['user']}: {known['word']}")
    return "\n".join(lines)
