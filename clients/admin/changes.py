"""Changes of many objects at once: shown with their effect on queue instances, or applied.

Owns the output. The qmaster decides which changes are refused, and their effect on queue instances. Called by `config` and
`import_sge`. Source: docs/gdi.md `config_change`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer

from clients.admin.cell_directory import describe
from clients.admin.qmaster_requests import carry_out, read

_FATES = {
    "appear": "appear",
    "go": "go",
    "orphaned": "are orphaned, their jobs go on (o)",
    "revived": "are no longer orphaned",
    "settled": "are no longer ambiguous",
    "changed": "change",
}
_SHOWN = 8


def carry_out_changes(changes: list[dict[str, Any]]) -> None:
    """Have the qmaster apply all changes. AdminError: no change was applied."""
    for change in changes:
        _print(describe(change))
    carry_out("config_change", {"changes": changes})


def plan_changes(changes: list[dict[str, Any]]) -> int:
    """Print changes and their effects; 1 if the qmaster would refuse them. AdminError: the qmaster does not answer."""
    for change in changes:
        _print(describe(change))
    plan = read("config_change", {"changes": changes, "plan": True})
    instances = plan["instances"]
    for fate, description in _FATES.items():
        if names := instances.get(fate):
            typer.echo(f"{len(names)} queue instances {description}: {_first_names(names)}")
    for name, attribute, between in instances.get("ambiguous", ()):
        typer.echo(f"{name} becomes ambiguous (c): {attribute} has values for {', '.join(between)}")
    _print(plan["warnings"])
    return 1 if plan["refused"] else 0


def _first_names(names: list[str]) -> str:
    return " ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
