"""`gridengine policy try`: the effects that a change of the scheduler's configuration, or of other objects, would have now.

Owns the syntax of the settings. The qmaster decides which changes are refused; `effects` shows the rest. Source: adr/0335.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

from clients import gdi
from clients.admin.cell import cell_of_environment, select_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.changes import plan_changes
from clients.admin.effects import show_effects
from clients.admin.errors import AdminError
from gridengine.kinds import KIND, KIND_BY_OPTION_NAME, title
from gridengine.terminal.hints import did_you_mean


class TriedValue(NamedTuple):
    """A proposed value of an attribute of an object; `name`: "" for the only object of its kind."""

    kind: str
    name: str
    attribute: str
    value: str


def try_settings(
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="SETTING...",
            help="ATTRIBUTE=VALUE of the scheduler's configuration, or KIND/NAME:ATTRIBUTE=VALUE of another object.",
        ),
    ],
    when: Annotated[bool, typer.Option("--when", help="Also forecast the starts of the first pending jobs.")] = False,
    root: Root = None,
    cell: CellName = "default",
) -> None:
    """Show the effects of settings on queues, jobs, reservations, order and starts; change nothing."""
    select_cell(cell_of_environment(root, cell))
    changes = changes_of([parse_setting(each) for each in settings])
    if not changes:
        typer.echo("the cell has these values, nothing would change")
        return
    if plan_changes(changes):
        raise typer.Exit(1)
    show_effects(changes, when)


def parse_setting(text: str) -> TriedValue:
    """A setting of the command line. AdminError: its form is wrong, or there is no such kind of object."""
    place, equals, value = text.partition("=")
    known, colon, attribute = place.rpartition(":")
    if not equals or not attribute:
        raise AdminError(f'"{text}": the form is ATTRIBUTE=VALUE or KIND/NAME:ATTRIBUTE=VALUE')
    if not colon:
        return TriedValue("scheduler", "", attribute, value)
    option, _, name = known.partition("/")
    kind = KIND_BY_OPTION_NAME.get(option, option)
    if kind not in KIND:
        raise AdminError(f'"{text}": there is no kind of object "{option}": {", ".join(sorted(KIND))}')
    if not (name or KIND[kind].single):
        raise AdminError(f'"{text}": a name is missing, the form is {option}/NAME:{attribute}=VALUE')
    return TriedValue(kind, name, attribute, value)


def changes_of(settings: list[TriedValue]) -> list[dict[str, Any]]:
    """The changes of objects, in the form of `config_change`. AdminError: there is no such object or attribute."""
    changes: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, name, attribute, value in settings:
        change = changes.get((kind, name))
        if change is None:
            before = _stored(kind, name)
            change = changes[kind, name] = {"kind": kind, "name": name, "before": before, "after": dict(before)}
        if attribute not in change["after"]:
            hint = did_you_mean(attribute, change["after"])
            raise AdminError(f'{title(kind, name)} has no attribute "{attribute}"' + (f": {hint}" if hint else ""))
        change["after"][attribute] = value
    return [change for change in changes.values() if change["before"] != change["after"]]


def _stored(kind: str, name: str) -> dict[str, str]:
    try:
        answer = gdi.call("config_show", {"kind": kind, "names": None if KIND[kind].single else [name]})
    except gdi.Unreachable as error:
        raise AdminError(str(error)) from None
    objects = [each for each in answer.data or () if each["name"] == name]
    if not objects:
        raise AdminError(f"there is no {title(kind, name)}")
    attributes: dict[str, str] = objects[0]["attributes"]
    return attributes
