"""`gridengine config`: the configuration of a cell as files, planned changes, history and undo.

Owns the wording of these sub-commands. The files are `cell_directory`'s; what would be refused and what would become of
queue instances is the qmaster's answer. Called by `program`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from clients.admin.asking import mean_cell, objects_now, read
from clients.admin.cell import cell_of_environment
from clients.admin.cell_directory import (
    changes_between,
    describe,
    differences,
    read_directory,
    write_directory,
)
from clients.admin.changes import carry_out_changes, plan_changes
from clients.admin.refusal import Refusal
from gridengine.kinds import KIND, KIND_BY_OPTION_NAME

config = typer.Typer(help="Keep the configuration of a cell as files, plan changes, look at its history and undo.")

Directory = Annotated[Path, typer.Argument(help="One file an object, in the syntax of qconf.")]
_LOOKED_BACK = 50


@config.callback()
def cell(
    root: Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")] = None,
    name: Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")] = "default",
) -> None:
    """Say for all sub-commands which cell is meant."""
    mean_cell(cell_of_environment(root, name))


@config.command()
def export(directory: Directory) -> None:
    """Write the whole configuration into a directory. Files of objects that are gone are removed from it."""
    written, removed = write_directory(directory, objects_now())
    typer.echo(f"{directory}: {written} files written, {removed} removed")


@config.command()
def diff(directory: Directory) -> None:
    """Show what a directory has otherwise than the cell. Exit code 1: there is something."""
    lines = differences(objects_now(), read_directory(directory), directory)
    _print(lines)
    raise typer.Exit(1 if lines else 0)


@config.command()
def plan(directory: Directory) -> None:
    """Say what `apply` would change, what would become of queue instances, and what would be refused; change nothing."""
    changes = changes_between(objects_now(), read_directory(directory))
    if not changes:
        typer.echo("the cell is as the directory says, nothing would change")
        return
    raise typer.Exit(plan_changes(changes))


@config.command()
def apply(directory: Directory) -> None:
    """Make the configuration what the directory says: all of it in one transaction, or nothing."""
    changes = changes_between(objects_now(), read_directory(directory))
    if not changes:
        typer.echo("the cell is as the directory says, nothing was changed")
        return
    carry_out_changes(changes)


@config.command()
def history(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many changes.")] = 20,
    kind: Annotated[str, typer.Option(help="Only changes of this kind of object, like cluster_queue.")] = "",
    name: Annotated[str, typer.Option(help="Only changes of objects of this name.")] = "",
) -> None:
    """Show who changed what, when and from where, the newest change first."""
    kind = KIND_BY_OPTION_NAME.get(kind, kind)
    if kind and kind not in KIND:
        raise Refusal(f'"{kind}" is no kind of object: {", ".join(sorted(KIND))}')
    for change in read("config_history", {"limit": limit, "kind": kind, "name": name}):
        when = datetime.fromtimestamp(change["time"]).strftime("%Y-%m-%d %H:%M:%S")
        typer.echo(f"change {change['revision']}  {when}  {change['user']}@{change['host']}")
        for each in change["objects"]:
            _print(f"    {line}" for line in describe(each))


@config.command()
def undo(
    change: Annotated[int, typer.Argument(help="Number of the change in the history. Default: the last one.")] = 0,
    plan_only: Annotated[bool, typer.Option("--plan", help="Only say what would happen.")] = False,
) -> None:
    """Take a change back. Refused when what it changed was changed again since, or when it would break something."""
    changes = read("config_history", {"limit": 1, "revision": change})
    if not changes:
        raise Refusal(f"there is no change {change} in the history" if change else "nothing was changed yet")
    reverse = [
        {"kind": each["kind"], "name": each["name"], "before": each["after"], "after": each["before"]}
        for each in reversed(changes[0]["objects"])
    ]
    typer.echo(f"undo of change {changes[0]['revision']}, made by {changes[0]['user']}@{changes[0]['host']}")
    if undone := _undone_by(changes[0]):
        typer.echo(f"which took change {undone} back: that is made again")
    if plan_only:
        raise typer.Exit(plan_changes(reverse))
    carry_out_changes(reverse)


def _undone_by(change: dict[str, Any]) -> int:
    """The number of the change that this one took back, 0 for none: the last one of which it is the reverse."""
    reverse = {(each["kind"], each["name"], repr(each["after"]), repr(each["before"])) for each in change["objects"]}
    for earlier in read("config_history", {"limit": _LOOKED_BACK, "before": change["revision"]}):
        if {(each["kind"], each["name"], repr(each["before"]), repr(each["after"])) for each in earlier["objects"]} == reverse:
            return int(earlier["revision"])
    return 0


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
