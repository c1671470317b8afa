"""`gridengine shadow`: the hosts that may be the master in place of another, and which of them is.

Owns the wording of these sub-commands and the writing of `common/shadow_masters`. Who is the master is settled between the seats
of those hosts; they are asked at `run_dir/seat.sock`. Called by `program`. Source: shadow_masters(5), SH-1 to SH-4, adr/0146.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from clients.admin.authority import give
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.host_keys import add_host, authority_of
from clients.admin.local_daemons import answers, is_master_here, process_of, qmaster_of, seat_of, shadow_masters, this_host
from clients.admin.refusal import Refusal
from clients.admin.socket_request import NoReplyError, ask

shadow = typer.Typer(help="Hosts that take over when the master is lost.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A host with a disk for a copy of the spool.")]
_SOCKET = "seat.sock"
_ANSWER_S, _TAKE_OVER_S, _POLL_S = 10.0, 120.0, 0.2


@shadow.callback()
def which_cell(
    context: typer.Context,
    root: Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")] = None,
    name: Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")] = "default",
) -> None:
    """Say for all sub-commands which cell is meant."""
    context.obj = cell_of_environment(root, name)


@shadow.command()
def add(context: typer.Context, name: Name) -> None:
    """Let a host be the master when the present one is lost: on the master host, which goes on."""
    cell = _master_cell(context)
    known = {each.name for each in authority_of(cell).hosts()}
    listed = shadow_masters(cell) or [cell.master_host]
    try:
        if cell.master_host not in known:
            authority_of(cell).add_master(cell.master_host)
    except OSError as error:
        raise Refusal(f"cannot use the keys of {cell.master_host}: {error.filename}: {error.strerror}") from error
    if name not in known:
        add_host(cell, name)
    if name not in listed:
        listed.append(name)
    _write(cell, listed)
    typer.echo(f"host {name} may be the master in place of {', '.join(listed[:-1])}")
    typer.echo(f"next: gridengine start on {name}, which starts sge_shadowd there")
    typer.echo(f"where {name} has a common directory of its own it follows within seconds if sge_execd runs there")
    if len(listed) == 2:
        typer.echo("the qmaster of this host starts anew within seconds, as one of them; jobs go on")


@shadow.command()
def remove(context: typer.Context, name: Name) -> None:
    """Let a host never be the master any more: on the master host."""
    cell = _master_cell(context)
    listed = shadow_masters(cell)
    if name not in listed:
        raise Refusal(f'host "{name}" is not in {cell.files.common / "shadow_masters"}')
    if name == cell.master_host:
        raise Refusal(f"host {name} is the master: let another one take over first (gridengine shadow take-over, there)")
    _write(cell, [host for host in listed if host != name])
    typer.echo(f"host {name} will not be the master: gridengine stop there ends its sge_shadowd, gridengine start its sge_execd")


@shadow.command("show")
def show(context: typer.Context) -> None:
    """Show which hosts may be the master, which one is, and which could take over now. Exit code 1: none could."""
    cell = read_cell(context.obj)
    listed = shadow_masters(cell)
    if len(listed) < 2:
        raise Refusal("no host takes over in this cell when the master is lost (gridengine shadow add NAME)")
    status = _ask(cell, "status")
    if not status["known"]:
        raise Refusal("nothing is heard of a master on this host")
    ready = [host for host in status["in_sync"] if host != status["master"] and host in listed]
    for host in listed:
        word = "master" if host == status["master"] else "has everything" if host in ready else "lacks something, or is away"
        typer.echo(f"{host:<24} {word}")
    for names in status["voters"]:
        typer.echo(f"{'voters':<24} {' '.join(names)}")
    for host, why in status["away"].items():
        typer.echo(f"{'voter ' + host:<24} {why}")
    by_itself = status["leads"] is False or any(len(names) > 1 for names in status["voters"])
    if not by_itself:
        typer.echo("no host takes over by itself: that needs an exec host as a third voter")
    raise typer.Exit(0 if ready and by_itself else 1)


@shadow.command("take-over")
def take_over(
    context: typer.Context,
    force: Annotated[
        bool,
        typer.Option("--force", help="Though the master is lost and had acknowledged what this host may not have."),
    ] = False,
) -> None:
    """Make this host the master. The present one ends its term first; nothing is lost, and jobs go on."""
    cell = read_cell(context.obj)
    _ask(cell, "take_over", patience_s=_TAKE_OVER_S, force=force)
    end = time.monotonic() + _TAKE_OVER_S
    while not (status := _ask(cell, "status"))["leads"] or not answers(qmaster_of(cell).socket):
        if not (status["leads"] or status["wants"]):
            raise Refusal(f"host {this_host(cell)} is not the master, but {status['master']} is: see its messages file")
        if time.monotonic() > end:
            raise Refusal(f"host {this_host(cell)} is not the master after {_TAKE_OVER_S:.0f} s: see its messages file")
        time.sleep(_POLL_S)
    typer.echo(f"host {this_host(cell)} is the master")


def _ask(cell: InstalledCell, request: str, patience_s: float = _ANSWER_S, **fields: object) -> dict[str, Any]:
    try:
        return ask(cell.run_dir / _SOCKET, request, fields, patience_s)
    except NoReplyError as silence:
        raise Refusal(_why_silent(cell, str(silence))) from None


def _why_silent(cell: InstalledCell, reason: str) -> str:
    """Why no seat answers on this host."""
    host, listed = this_host(cell), shadow_masters(cell)
    if host not in (listed or [cell.master_host]):
        others = " or ".join(listed) or cell.master_host
        return f"host {host} may not be the master: ask on {others} (gridengine shadow add {host}, on {cell.master_host})"
    seat = seat_of(cell)
    if seat is None or process_of(seat) is None:
        return f"{seat or host} does not run: gridengine start"
    return f"{seat} runs and does not answer ({reason}): see {seat.pid_file.parent / 'messages'}"


def _write(cell: InstalledCell, hosts: list[str]) -> None:
    path = cell.files.common / "shadow_masters"
    draft = path.with_name(".shadow_masters")
    try:
        draft.write_text("".join(f"{host}\n" for host in hosts))
        draft.chmod(0o644)
        give(draft, cell.settings["admin_user"])
        draft.rename(path)
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror}") from error


def _master_cell(context: typer.Context) -> InstalledCell:
    cell = read_cell(context.obj)
    if not is_master_here(cell):
        raise Refusal(f"which hosts may be the master is said on the master host, {cell.master_host}")
    return cell
