"""`gridengine host`: which exec hosts the cell believes. Each has keys of its own, which are made and revoked here.

Owns the wording of these sub-commands, and what a cell of an earlier version lacks. The keys are `authority`'s.
Called by `program` on the master host. Source: docs/security.md.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from clients.addresses import host_addresses
from clients.admin.authority import Authority
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_plan import HOST_NAME
from clients.admin.certificate import utc_now
from clients.admin.local_daemons import host_aliases, is_master_here, qmaster_of, renew
from clients.admin.refusal import Refusal

host = typer.Typer(help="Make, show and revoke the keys with which exec hosts belong to the cell.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The exec host, as qconf -sel shows it.")]


@host.callback()
def which_cell(
    context: typer.Context,
    root: Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")] = None,
    name: Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")] = "default",
) -> None:
    """Say for all sub-commands which cell is meant."""
    context.obj = cell_of_environment(root, name)


@host.command()
def add(
    context: typer.Context,
    name: Name,
    into: Annotated[
        Path | None, typer.Option(help="A new directory for the keys, to be carried to the host. Default: common/secrets.")
    ] = None,
) -> None:
    """Make new keys for an exec host. Those that it had before are worth nothing from then on."""
    cell = _master_cell(context)
    if into is not None and into.exists():
        raise Refusal(f"--into {into}: is there already")
    unique, place = add_host(cell, name, into)
    typer.echo(f"made keys for host {unique}: {place}")
    if into is None:
        typer.echo(f"next: start sge_execd on {unique}, which moves them to its own disk")
    else:
        typer.echo(f"next: move that directory to {cell.execd_spool_dir}/{unique}/keys on {unique}, and start sge_execd there")


@host.command("list")
def list_command(context: typer.Context) -> None:
    """Show the exec hosts that have keys: name, serial number of the certificate, its last day, where the keys are."""
    for known in _opened(_master_cell(context)).hosts():
        place = "in common/secrets" if known.waiting else "on the host"
        typer.echo(f"{known.name:<24} {known.serial:<40} {known.until:%Y-%m-%d} {place}")


@host.command()
def revoke(context: typer.Context, name: Name) -> None:
    """Cut an exec host off, at once and for good: its keys are worth nothing. Jobs on other hosts run on."""
    cell = _master_cell(context)
    unique = _unique(cell, name)
    try:
        _opened(cell).revoke(unique)
    except OSError as error:
        raise Refusal(f"cannot revoke {unique}: {error.filename}: {error.strerror}") from error
    typer.echo(f"host {unique} is revoked: it gets no jobs and speaks for nobody any more")
    if renew(qmaster_of(cell)):
        typer.echo("sge_qmaster takes a new token for Ray: no job starts for some seconds, those that run go on")


def add_host(cell: InstalledCell, name: str, into: Path | None = None) -> tuple[str, Path]:
    """Make keys for a host; return its unique name and where the keys lie. Refusal: no address, or no right to."""
    unique = _unique(cell, name)
    addresses = host_addresses(unique, _aliases(cell, unique))
    if not addresses:
        raise Refusal(f'host "{unique}": the name does not resolve on this host, and its keys need its address')
    try:
        return unique, _opened(cell).add(unique, addresses, utc_now(), into)
    except OSError as error:
        raise Refusal(f"cannot make keys for {unique}: {error.filename}: {error.strerror}") from error


def provide_authority(cell: InstalledCell, fresh: bool) -> bool:
    """Make the authority and the master host's keys where a cell never had them; say whether that was so.

    One that was lost with the spool is made anew only for a `fresh` start: it may be restored, and hosts believe in it.
    Refusal: no right to.
    """
    authority = authority_of(cell)
    try:
        if authority.exists or not (fresh or authority.never_was):
            return False
        addresses = host_addresses(cell.master_host, _aliases(cell, cell.master_host))
        authority.found(cell.master_host, addresses, utc_now())
    except OSError as error:
        raise Refusal(f"cannot make the authority of the cell: {error.filename}: {error.strerror}") from error
    return True


def provide_hosts(cell: InstalledCell, names: list[str]) -> None:
    """Make keys for all exec hosts of a cell that has just got its authority, in place of secrets that all of them had."""
    for name in names:
        add_host(cell, name)
    authority_of(cell).remove_shared_secrets()


def authority_of(cell: InstalledCell) -> Authority:
    return Authority(cell.files, cell.qmaster_spool_dir, cell.settings["admin_user"])


def _master_cell(context: typer.Context) -> InstalledCell:
    cell = read_cell(context.obj)
    if not is_master_here(cell):
        raise Refusal(f"the keys of hosts are made and revoked on the master host, {cell.master_host}")
    return cell


def _opened(cell: InstalledCell) -> Authority:
    authority = authority_of(cell)
    try:
        there = authority.exists
    except OSError as error:
        raise Refusal(f"{error.filename}: {error.strerror}: only {cell.settings['admin_user']} may do this") from error
    if not there:
        raise Refusal("the cell has no authority yet: gridengine start makes one on the master host")
    return authority


def _unique(cell: InstalledCell, name: str) -> str:
    unique = host_aliases(cell).get(name.lower(), name)
    if not re.fullmatch(HOST_NAME, unique):
        raise Refusal(f'host "{unique}": that is no host name')
    return unique


def _aliases(cell: InstalledCell, unique: str) -> list[str]:
    return [alias for alias, known in host_aliases(cell).items() if known == unique]
