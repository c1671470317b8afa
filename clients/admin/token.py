"""`gridengine token`: tokens by which bare hosts join the cell, without copying keys by hand.

Owns the output of these sub-commands; the authority keeps the records of tokens, on the master host. Called by `program`. Source:
adr/0153, docs/security.md.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from typing import Annotated

import typer

from clients.admin.cell import InstalledCell
from clients.admin.cell_options import read_cell_options
from clients.admin.certificate import utc_now
from clients.admin.errors import AdminError
from clients.admin.host import Groups, Queues, Roles, chosen_roles, master_cell
from clients.admin.host_keys import addresses_of, open_authority, require_own_addresses, unique_name
from clients.admin.host_objects import HostOptions, with_host
from clients.admin.qmaster_requests import read_objects
from clients.admin.racks import checked_rack
from gridengine.addresses import join_port
from gridengine.protocols.joining import RANDOM_BYTES, JoinRecord, JoinToken, new_token

token = typer.Typer(callback=read_cell_options, help="Make, show and revoke tokens with which hosts join the cell.")

_LONGEST_H = 24 * 30
_MOST_HOSTS = 10_000
Hosts = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME...]", help="Hosts that may join, each once, even if they have keys. Default: any."),
]


@token.command()
def join(
    context: typer.Context,
    names: Hosts = None,
    count: Annotated[
        int | None, typer.Option("--hosts", min=1, max=_MOST_HOSTS, help="Number of hosts that may join. Default: 1.")
    ] = None,
    hours: Annotated[float, typer.Option(min=0.01, max=_LONGEST_H, help="Hours of validity.")] = 1.0,
    role: Roles = None,
    queue: Queues = None,
    group: Groups = None,
    memory: Annotated[bool, typer.Option("--memory", help="Count the memory (h_vmem) of hosts that join.")] = False,
    rack: Annotated[str, typer.Option(metavar="RACK", help="Hosts that join are behind the Ray node of this rack.")] = "",
) -> None:
    """Make and print a token by which one host, or the named hosts, may join. On the master host.

    The token goes to standard output, the commands that take it to standard error.
    """
    cell = master_cell(context)
    authority = open_authority(cell)
    queues, groups = tuple(queue or ()), tuple(group or ())
    options = HostOptions(chosen_roles(role), queues, groups=groups, memory="1G" if memory else "")
    with_host(read_objects(), "host", options)  # reports wrong options now
    placing: dict[str, object] = {"roles": options.roles, "queues": queues, "groups": groups, "memory": memory}
    placing |= {"rack": rack} if checked_rack(rack) else {}
    hosts = _permitted_hosts(cell, names or [])
    if hosts and count is not None:
        raise AdminError("--hosts: the token is for the hosts that are named, each once")
    most = len(hosts) or count or 1
    until = utc_now() + timedelta(hours=hours)
    try:
        made = new_token(os.urandom(RANDOM_BYTES), authority.masters_fingerprint())
        for known in authority.joins():
            if known.until <= utc_now().timestamp():
                authority.forget_join(known.number)
        authority.keep_join(JoinRecord(made.number, made.digest, until.timestamp(), hosts, (), placing, most))
    except OSError as error:
        raise AdminError(f"cannot make a token: {error.filename}: {error.strerror}") from error
    _print_instructions(cell, made, f"valid until {_local_time(until.timestamp())} for {_describe_hosts(hosts, most)}")


def _permitted_hosts(cell: InstalledCell, names: list[str]) -> tuple[str, ...]:
    """The hosts that may join. AdminError: a name under which no host could join, reported before the token is made."""
    hosts = tuple(dict.fromkeys(unique_name(cell, name) for name in names))
    for name in hosts:
        if name == cell.master_host:
            raise AdminError(f'"{name}" is the master host')
        require_own_addresses(cell, name, addresses_of(cell, name))
    return hosts


def _print_instructions(cell: InstalledCell, made: JoinToken, good: str) -> None:
    """Print the token; the instructions go to standard error, so that the output can be piped."""
    typer.echo(str(made))
    sys.stdout.flush()
    command = f"gridengine join {join_port(cell.master_host, cell.settings['qmaster_port'])}"
    typer.echo("on the new host:", err=True)
    typer.echo(f"{command}  (asks for the token)", err=True)
    typer.echo(f"{command} --token -  (reads it from standard input: gridengine token join | ssh HOST …)", err=True)
    typer.echo(f"{good}; to end it: gridengine token revoke {made.number}", err=True)


def _describe_hosts(hosts: tuple[str, ...], most: int) -> str:
    return ", ".join(hosts) or ("one host" if most == 1 else f"{most} hosts") + " without keys"


@token.command("list")
def list_command(context: typer.Context) -> None:
    """Show the valid tokens: number, end of validity, permitted hosts, joined hosts."""
    for known in open_authority(master_cell(context)).joins():
        if known.until > utc_now().timestamp():
            joined = f", joined: {' '.join(each.host for each in known.joined)}" if known.joined else ""
            used = ", used up" if known.is_used_up else ""
            hosts = _describe_hosts(known.hosts, known.most)
            typer.echo(f"{known.number}  until {_local_time(known.until)}  {hosts}{used}{joined}")


@token.command()
def revoke(
    context: typer.Context,
    number: Annotated[str, typer.Argument(metavar="NUMBER", help="Number of the token, as gridengine token list shows it.")],
) -> None:
    """Revoke a token. Hosts that have joined by it stay."""
    authority = open_authority(master_cell(context))
    if number not in {known.number for known in authority.joins()}:
        raise AdminError(f'there is no token "{number}" (gridengine token list)')
    authority.forget_join(number)
    typer.echo(f"token {number} is revoked")


def _local_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
