"""Changes of many objects at once, shown with what would become of queue instances, or carried out.

Owns how they are printed. What would be refused, and what becomes of instances, is the qmaster's answer. Called by `config` and
`import_sge`. Source: docs/gdi.md `config_change`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer

from clients.admin.asking import carry_out, read
from clients.admin.cell_directory import describe

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
    """Have the qmaster make all of the changes. Refusal: it makes none of them."""
    for change in changes:
        _print(describe(change))
    carry_out("config_change", {"changes": changes})


def plan_changes(changes: list[dict[str, Any]]) -> int:
    """Print changes and what would come of them; 1 when they would be refused. Refusal: nobody answers."""
    for change in changes:
        _print(describe(change))
    found = read("config_change", {"changes": changes, "plan": True})
    instances = found["instances"]
    for fate, words in _FATES.items():
        if names := instances.get(fate):
            typer.echo(f"{len(names)} queue instances {words}: {_some(names)}")
    for name, attribute, between in instances.get("ambiguous", ()):
        typer.echo(f"{name} becomes ambiguous (c): {attribute} has values for {', '.join(between)}")
    _print(found["warnings"])
    return 1 if found["refused"] else 0


def _some(names: list[str]) -> str:
    return " ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
