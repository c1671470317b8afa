"""`gridengine token`: tokens with which bare hosts join the cell, so that nobody carries keys by hand.

Owns the wording of these sub-commands; what is kept of a token lies with the authority, on the master host. Called by `program`.
Source: adr/0153, docs/security.md.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from clients.admin.asking import mean_cell, objects_now
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.certificate import utc_now
from clients.admin.host import Groups, Queues, Roles, chosen_roles
from clients.admin.host_keys import opened_authority, require_master, unique_name
from clients.admin.host_objects import HostWishes, with_host
from clients.admin.refusal import Refusal
from gridengine.joining import RANDOM_BYTES, JoinRecord, new_token

token = typer.Typer(help="Make, show and revoke tokens with which hosts join the cell.")

_LONGEST_H = 24 * 30
Hosts = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME...]", help="Only these hosts may join by it, even if they have keys. Default: any without."),
]


@token.callback()
def which_cell(
    context: typer.Context,
    root: Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")] = None,
    name: Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")] = "default",
) -> None:
    """Say for all sub-commands which cell is meant."""
    context.obj = cell_of_environment(root, name)
    mean_cell(context.obj)


@token.command()
def join(
    context: typer.Context,
    names: Hosts = None,
    hours: Annotated[float, typer.Option(min=0.01, max=_LONGEST_H, help="How long it is good.")] = 1.0,
    role: Roles = None,
    queue: Queues = None,
    group: Groups = None,
    memory: Annotated[bool, typer.Option("--memory", help="Count the memory of hosts that join by it (h_vmem).")] = False,
) -> None:
    """Make a token with which hosts join, and print the command for them. On the master host."""
    cell = _master_cell(context)
    authority = opened_authority(cell)
    queues, groups = tuple(queue or ()), tuple(group or ())
    wishes = HostWishes(chosen_roles(role), queues, groups=groups, memory="1G" if memory else "")
    with_host(objects_now(), "host", wishes)  # so that it says now what is wrong with them
    placing: dict[str, object] = {"roles": wishes.roles, "queues": queues, "groups": groups, "memory": memory}
    hosts = tuple(unique_name(cell, name) for name in names or ())
    until = utc_now() + timedelta(hours=hours)
    try:
        made = new_token(os.urandom(RANDOM_BYTES), authority.masters_fingerprint())
        for known in authority.joins():
            if known.until <= utc_now().timestamp():
                authority.forget_join(known.number)
        authority.keep_join(JoinRecord(made.number, made.digest, until.timestamp(), hosts, (), placing))
    except OSError as error:
        raise Refusal(f"cannot make a token: {error.filename}: {error.strerror}") from error
    port = cell.settings["qmaster_port"]
    typer.echo(f"gridengine join {cell.master_host}:{port} --token {made}")
    who = ", ".join(hosts) or "any host that has no keys yet"
    typer.echo(f"good until {_local(until.timestamp())} for {who}; to end it: gridengine token revoke {made.number}", err=True)


@token.command("list")
def list_command(context: typer.Context) -> None:
    """Show the tokens that are good: number, until when, for whom, who has joined by it."""
    for known in opened_authority(_master_cell(context)).joins():
        if known.until > utc_now().timestamp():
            joined = f", joined: {' '.join(known.joined)}" if known.joined else ""
            typer.echo(f"{known.number}  until {_local(known.until)}  {' '.join(known.hosts) or 'any host'}{joined}")


@token.command()
def revoke(
    context: typer.Context,
    number: Annotated[str, typer.Argument(metavar="NUMBER", help="As gridengine token list shows it.")],
) -> None:
    """Make a token worthless. Hosts that have joined by it stay."""
    authority = opened_authority(_master_cell(context))
    if number not in {known.number for known in authority.joins()}:
        raise Refusal(f'there is no token "{number}" (gridengine token list)')
    authority.forget_join(number)
    typer.echo(f"token {number} is revoked")


def _local(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _master_cell(context: typer.Context) -> InstalledCell:
    cell = read_cell(context.obj)
    require_master(cell)
    return cell
