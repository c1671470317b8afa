"""`gridengine config`: the configuration of a cell as files, planned changes, history and undo.

Owns the output of these sub-commands. `cell_directory` owns the files. The qmaster decides which changes are refused, and their
effect on queue instances. Called by `program`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from clients.admin.cell_directory import (
    changes_between,
    describe,
    differences,
    read_directory,
    write_directory,
)
from clients.admin.cell_options import read_cell_options
from clients.admin.changes import carry_out_changes, plan_changes
from clients.admin.effects import show_effects
from clients.admin.errors import AdminError
from clients.admin.qmaster_requests import read, read_objects
from gridengine.kinds import KIND, KIND_BY_OPTION_NAME

config = typer.Typer(
    callback=read_cell_options, help="Keep the configuration of a cell as files, plan changes, look at its history and undo."
)

Directory = Annotated[Path, typer.Argument(help="One file an object, in the syntax of qconf.")]
_LOOKED_BACK = 50


@config.command()
def export(directory: Directory) -> None:
    """Write the whole configuration into a directory. Files of deleted objects are removed from it."""
    written, removed = write_directory(directory, read_objects())
    typer.echo(f"{directory}: {written} files written, {removed} removed")


@config.command()
def diff(directory: Directory) -> None:
    """Show the differences between a directory and the cell. Exit code 1: there are differences."""
    lines = differences(read_objects(), read_directory(directory), directory)
    _print(lines)
    raise typer.Exit(1 if lines else 0)


@config.command()
def plan(
    directory: Directory,
    effects: Annotated[
        bool, typer.Option("--effects/--no-effects", help="Also show the effects on jobs, reservations and the order.")
    ] = True,
    when: Annotated[bool, typer.Option("--when", help="Also forecast the starts of the first pending jobs.")] = False,
) -> None:
    """Show the changes of `apply`, their effects on the cell as it is now, and the refused changes; change nothing."""
    changes = changes_between(read_objects(), read_directory(directory))
    if not changes:
        typer.echo("the cell matches the directory, nothing would change")
        return
    if status := plan_changes(changes):
        raise typer.Exit(status)
    if effects:
        show_effects(changes, when)


@config.command()
def apply(directory: Directory) -> None:
    """Apply the configuration of the directory: all changes in one transaction, or none."""
    changes = changes_between(read_objects(), read_directory(directory))
    if not changes:
        typer.echo("the cell matches the directory, nothing was changed")
        return
    carry_out_changes(changes)


@config.command()
def history(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Largest number of changes.")] = 20,
    kind: Annotated[str, typer.Option(help="Only changes of this kind of object, like cluster_queue.")] = "",
    name: Annotated[str, typer.Option(help="Only changes of objects of this name.")] = "",
) -> None:
    """Show the changes with user, host and time, the newest change first."""
    kind = KIND_BY_OPTION_NAME.get(kind, kind)
    if kind and kind not in KIND:
        raise AdminError(f'"{kind}" is no kind of object: {", ".join(sorted(KIND))}')
    for change in read("config_history", {"limit": limit, "kind": kind, "name": name}):
        when = datetime.fromtimestamp(change["time"]).strftime("%Y-%m-%d %H:%M:%S")
        typer.echo(f"change {change['revision']}  {when}  {change['user']}@{change['host']}")
        for each in change["objects"]:
            _print(f"    {line}" for line in describe(each))


@config.command()
def undo(
    change: Annotated[int, typer.Argument(help="Number of the change in the history. Default: the last one.")] = 0,
    plan_only: Annotated[bool, typer.Option("--plan", help="Only show the changes.")] = False,
) -> None:
    """Undo a change. Refused if the objects were changed since, or if the result would be invalid."""
    changes = read("config_history", {"limit": 1, "revision": change})
    if not changes:
        raise AdminError(f"there is no change {change} in the history" if change else "nothing was changed yet")
    reverse = [
        {"kind": each["kind"], "name": each["name"], "before": each["after"], "after": each["before"]}
        for each in reversed(changes[0]["objects"])
    ]
    typer.echo(f"undo of change {changes[0]['revision']}, made by {changes[0]['user']}@{changes[0]['host']}")
    if undone := _undone_by(changes[0]):
        typer.echo(f"change {undone}, which it undid, is applied again")
    if plan_only:
        raise typer.Exit(plan_changes(reverse))
    carry_out_changes(reverse)


def _undone_by(change: dict[str, Any]) -> int:
    """The number of the change that this change undid, 0 for none: the last change of which it is the reverse."""
    reverse = {(each["kind"], each["name"], repr(each["after"]), repr(each["before"])) for each in change["objects"]}
    for earlier in read("config_history", {"limit": _LOOKED_BACK, "before": change["revision"]}):
        if {(each["kind"], each["name"], repr(each["before"]), repr(each["after"])) for each in earlier["objects"]} == reverse:
            return int(earlier["revision"])
    return 0


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
