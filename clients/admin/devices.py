"""`gridengine devices`: the GPUs that hosts have found, their health, and the configuration that fits them.

Owns the output. `device_plan` owns the rules. Called by `program` and, for the GPUs of a new host, by `host`. Source: adr/0345.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clients.admin.cell import cell_of_environment, read_cell, select_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.device_plan import COMPLEXES, is_to_configure, planned_units, planned_values
from clients.admin.errors import AdminError
from gridengine.syntax.resource_map import RSMAP
from gridengine.values.gpus import GPUS

if TYPE_CHECKING:
    from clients.admin.cell_directory import Objects

FOUND = "found"
"""The value of `--gpus` for the GPUs that a host has reported."""
_MOST = 9999
_HEADER = ("unit", "model", "memory", "numa", "near cores", "identifier", "state")


def devices(
    hosts: Annotated[list[str] | None, typer.Argument(metavar="HOST...", help="Exec hosts. Default: all with GPUs.")] = None,
    root: Root = None,
    cell: CellName = "default",
    apply: Annotated[bool, typer.Option("--apply", help="Configure the hosts with the GPUs that they have found.")] = False,
    shares: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST, help="Requests that may have one GPU together. Default: as configured, else 1."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the GPUs that hosts have found, with their health, and the configuration that fits them."""
    select_cell(read_cell(cell_of_environment(root, cell)).files)
    rows, number = _read(hosts or []), shares or 0
    if apply:
        _apply(rows, number)
    elif as_json:
        planned = [row | {"planned_values": planned_values(row, number), "planned_units": planned_units(row)} for row in rows]
        typer.echo(json.dumps(planned, indent=2))
    else:
        for row in rows:
            _print(row, number)
        if not rows:
            typer.echo("no host has found a GPU; a host looks when its daemon starts, and each minute")


def _read(hosts: list[str]) -> list[dict[str, Any]]:
    """Rows of the request `devices`. AdminError: an unknown host."""
    from clients.admin.qmaster_requests import read

    rows: list[dict[str, Any]] = read("devices", {"hosts": hosts})["hosts"]
    return rows


def _print(row: dict[str, Any], shares: int) -> None:
    typer.echo(f"host {row['host']}:{' cannot read its devices: ' + row['fault'] if row['fault'] else ''}")
    closed = row["closed"].get(GPUS, {})
    lines = [_HEADER, *(_cells(device, closed) for device in row["devices"])]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        typer.echo("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    known = {device["unit"] for device in row["devices"]}
    for unit, reason in closed.items():
        if unit not in known:
            typer.echo(f"  {unit}  closed: {reason}")
    if row["devices"] and (shares or is_to_configure(row)):
        typer.echo(f"  not configured so; gridengine devices {row['host']} --apply configures it:")
        typer.echo(f"    complex_values {planned_values(row, shares)}")
        typer.echo(f"    units          {planned_units(row)}")


def _cells(device: dict[str, Any], closed: dict[str, str]) -> tuple[str, ...]:
    fault = closed.get(device["unit"]) or device.get("fault", "")
    state = f"closed: {fault}" if fault else "divided" if device.get("divided") else "ok"
    memory = f"{device['memory'] / 2**30:.1f}G" if device.get("memory") else "-"
    node = str(device["numa_node"]) if device.get("numa_node", -1) >= 0 else "-"
    return (
        device["unit"], device.get("model") or "-", memory, node, device.get("cores") or "-", device["identifier"] or "-", state
    )


def _apply(rows: list[dict[str, Any]], shares: int) -> None:
    """AdminError: a host has found nothing, or the qmaster's reason."""
    from clients.admin.cell_directory import changes_between, describe
    from clients.admin.qmaster_requests import carry_out, read_objects

    if empty := [row["host"] for row in rows if not row["devices"] or row["fault"]]:
        raise AdminError(f"{', '.join(empty)}: no GPU is known there now; nothing was changed")
    before = after = read_objects()
    for row in rows:
        after = _with_devices(after, row, shares)
    changes = changes_between(before, after)
    for change in changes:
        for line in describe(change):
            typer.echo(line)
    if not changes:
        typer.echo("the GPUs that were found are configured already")
        return
    carry_out("config_change", {"changes": changes})


def _with_devices(objects: Objects, row: dict[str, Any], shares: int) -> Objects:
    """The configuration with the GPUs of a host, and with the complexes of GPUs that are missing."""
    from gridengine.config.complexes import Complex
    from gridengine.config.kinds import KINDS

    made = copy.deepcopy(objects)
    complexes, host = made["complex"], row["host"]
    for name, attributes in COMPLEXES.items():
        if name not in complexes:
            if any(other["shortcut"] == name for other in complexes.values()):
                raise AdminError(f'the name of the complex "{name}", by which GPUs are described, is a shortcut already')
            complexes[name] = {**Complex.template(name).attributes(), **attributes}
    counted = complexes[GPUS]
    if counted["consumable"] == "NO" or counted["type"] not in ("INT", RSMAP):
        raise AdminError(f'the complex "{GPUS}" is no consumable of the type INT or {RSMAP}')
    counted["type"] = RSMAP
    made["exec_host"][host]["complex_values"] = planned_values(
        {**row, "complex_values": made["exec_host"][host]["complex_values"]}, shares
    )
    units = made.setdefault("host_units", {}).setdefault(host, KINDS["host_units"].template(host).attributes())
    units["units"] = planned_units(row)
    return made


def gpu_number(text: str) -> int:
    """The value of `--gpus`: a number, 0 for `found`. AdminError: the value is neither."""
    if text == FOUND:
        return 0
    if not (text.isascii() and text.isdecimal() and int(text) <= _MOST):
        raise AdminError(f'--gpus "{text}": give a number up to {_MOST}, or {FOUND}')
    return int(text)


def with_found_devices(objects: Objects, host: str) -> Objects:
    """The configuration with the GPUs that a host has found. AdminError: it has reported none."""
    known = host in objects.get("exec_host", {})
    try:
        [row] = _read([host]) if known else [{"devices": []}]
    except AdminError:
        row = {"devices": []}  # the host is not added yet
    if not row["devices"]:
        advice = f"when it runs: gridengine devices {host} --apply"
        raise AdminError(f"--gpus {FOUND}: {host} has reported no GPU yet; add it without, and {advice}")
    return _with_devices(objects, row, 0)
