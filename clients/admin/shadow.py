"""`gridengine shadow`: the master candidates, and the present master.

Owns the output of these sub-commands and the writing of `common/shadow_masters`. The participants on the candidate hosts elect
the master; the local participant answers at `run_dir/seat.sock`. Called by `program`. Source: shadow_masters(5), SH-1 to SH-4,
adr/0146.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from clients.admin.cell import InstalledCell, read_cell
from clients.admin.cell_options import read_cell_options
from clients.admin.errors import AdminError
from clients.admin.local_daemons import (
    answers,
    is_master_here,
    process_of,
    qmaster_of,
    qmaster_or_shadowd,
    shadow_masters,
    this_host,
)
from clients.admin.socket_request import NoReplyError, ask
from gridengine.files.durable import durable_write

shadow = typer.Typer(callback=read_cell_options, help="Hosts that take over when the master is lost.")

NewCandidate = Annotated[str, typer.Argument(metavar="NAME", help="A host with disk space for a replica of the spool.")]
Candidate = Annotated[str, typer.Argument(metavar="NAME", help="A master candidate, as shadow show lists it.")]
_SOCKET = "seat.sock"
_ANSWER_S, _TAKE_OVER_S, _POLL_S = 10.0, 120.0, 0.2


@shadow.command()
def add(context: typer.Context, name: NewCandidate) -> None:
    """Make a host a master candidate, which takes over if the master is lost. On the master host."""
    # the import of the key modules takes nearly as long as the other sub-commands
    from clients.admin.host_keys import add_host, authority_of

    cell = _master_cell(context)
    known = {each.name for each in authority_of(cell).hosts()}
    listed = shadow_masters(cell) or [cell.master_host]
    try:
        if cell.master_host not in known:
            authority_of(cell).add_master(cell.master_host)
    except OSError as error:
        raise AdminError(f"cannot use the keys of {cell.master_host}: {error.filename}: {error.strerror}") from error
    if name not in known:
        add_host(cell, name)
    if name not in listed:
        listed.append(name)
    _write(cell, listed)
    typer.echo(f"host {name} may take over from {', '.join(listed[:-1])}")
    typer.echo(f"next: gridengine start on {name}, which starts sge_shadowd there")
    typer.echo(f"if {name} has its own common directory, it is updated within seconds while sge_execd runs there")
    if len(listed) == 2:
        typer.echo("the qmaster of this host restarts now as a master candidate; jobs go on")


@shadow.command()
def remove(context: typer.Context, name: Candidate) -> None:
    """Remove a host from the master candidates. On the master host."""
    cell = _master_cell(context)
    listed = shadow_masters(cell)
    if name not in listed:
        raise AdminError(f'host "{name}" is not in {cell.files.common / "shadow_masters"}')
    if name == cell.master_host:
        raise AdminError(f"host {name} is the master: let another host take over first (gridengine shadow take-over, there)")
    _write(cell, [host for host in listed if host != name])
    typer.echo(f"host {name} is no master candidate now: gridengine stop, then start there replaces sge_shadowd by sge_execd")


@shadow.command("show")
def show(context: typer.Context) -> None:
    """Show the master candidates, the present master, and the hosts that could take over now. Exit code 1: no host could."""
    cell = read_cell(context.obj)
    listed = shadow_masters(cell)
    if len(listed) < 2:
        raise AdminError("this cell has no host that takes over if the master is lost (gridengine shadow add NAME)")
    status = _ask(cell, "status")
    if not status["known"]:
        raise AdminError("this host has no connection to a master")
    ready = [host for host in status["in_sync"] if host != status["master"] and host in listed]
    for host in listed:
        role = "master" if host == status["master"] else "in sync" if host in ready else "out of sync, or away"
        typer.echo(f"{host:<24} {role}")
    for names in status["voters"]:
        typer.echo(f"{'voters':<24} {' '.join(names)}")
    for host, reason in status["away"].items():
        typer.echo(f"{'voter ' + host:<24} {reason}")
    by_itself = status["leads"] is False or any(len(names) > 1 for names in status["voters"])
    if not by_itself:
        typer.echo("no host takes over automatically: that needs an exec host as a third voter")
    raise typer.Exit(0 if ready and by_itself else 1)


@shadow.command("take-over")
def take_over(
    context: typer.Context,
    force: Annotated[
        bool,
        typer.Option("--force", help="Take over even if changes that the lost master acknowledged may be missing here."),
    ] = False,
) -> None:
    """Make this host the master. The present master ends its term first; no data is lost, and jobs go on."""
    cell = read_cell(context.obj)
    _ask(cell, "take_over", patience_s=_TAKE_OVER_S, force=force)
    end = time.monotonic() + _TAKE_OVER_S
    while not (status := _ask(cell, "status"))["leads"] or not answers(qmaster_of(cell).socket):
        if not (status["leads"] or status["wants"]):
            raise AdminError(f"host {this_host(cell)} is not the master, but {status['master']} is: see its messages file")
        if time.monotonic() > end:
            raise AdminError(f"host {this_host(cell)} is not the master after {_TAKE_OVER_S:.0f} s: see its messages file")
        time.sleep(_POLL_S)
    typer.echo(f"host {this_host(cell)} is the master")


def _ask(cell: InstalledCell, request: str, patience_s: float = _ANSWER_S, **fields: object) -> dict[str, Any]:
    try:
        return ask(cell.run_dir / _SOCKET, request, fields, patience_s)
    except NoReplyError as error:
        raise AdminError(_explain_no_reply(cell, str(error))) from None


def _explain_no_reply(cell: InstalledCell, reason: str) -> str:
    """The reason why no participant answers on this host."""
    host, listed = this_host(cell), shadow_masters(cell)
    if host not in (listed or [cell.master_host]):
        others = " or ".join(listed) or cell.master_host
        return f"host {host} may not be the master: ask on {others} (gridengine shadow add {host}, on {cell.master_host})"
    daemon = qmaster_or_shadowd(cell)
    if daemon is None or process_of(daemon) is None:
        return f"{daemon or host} does not run: gridengine start"
    return f"{daemon} runs and does not answer ({reason}): see {daemon.pid_file.parent / 'messages'}"


def _write(cell: InstalledCell, hosts: list[str]) -> None:
    from clients.admin.authority import owner_for

    path = cell.files.common / "shadow_masters"
    owner = owner_for(cell.settings["admin_user"])
    try:
        durable_write(path, "".join(f"{host}\n" for host in hosts).encode(), 0o644, owner=owner)
    except OSError as error:
        raise AdminError(f"cannot write {path}: {error.strerror}") from error


def _master_cell(context: typer.Context) -> InstalledCell:
    cell = read_cell(context.obj)
    if not is_master_here(cell):
        raise AdminError(f"master candidates are changed on the master host, {cell.master_host}")
    return cell
