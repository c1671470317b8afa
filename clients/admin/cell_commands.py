"""`gridengine init`, `join` and `uninstall`: make a cell or add a host to a cell, and remove the cell from a host.

Owns their options and their output; `creation`, `join` and `uninstall` do the work. Called by `program`.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated

import typer

from clients.admin.cell import CellFiles, cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.cell_plan import QMASTER_PORT, RAY_PORT, RAY_PORTS, CellOptions, CellPlan, plan_cell
from clients.admin.certificate import utc_now
from clients.admin.creation import create_cell
from clients.admin.initial_config import initial_mailer
from clients.admin.installation import Installation, find_installation
from clients.admin.join import join_cell
from clients.admin.live_checks import missing_mailer
from clients.admin.local_daemons import (
    DBWRITER,
    EXECD,
    QMASTER,
    WEB,
    execd_of,
    is_master_here,
    process_of,
    this_host,
)
from clients.admin.systemd_units import enabling_command, write_units
from clients.admin.token_input import read_token
from clients.admin.uninstall import uninstall
from gridengine.extensions import missing_libraries, require_libraries

_DATABASE = "An accounting database, in a file beside the spool (sge_dbwriter). Default: if its libraries are installed."


def init(
    root: Root = None,
    cell: CellName = "default",
    master_host: Annotated[str | None, typer.Option(help="The master host. Default: this host.")] = None,
    admin_user: Annotated[str | None, typer.Option(help="Owner of the cell's files. Default: you.")] = None,
    qmaster_port: Annotated[
        int | None,
        typer.Option(envvar="SGE_QMASTER_PORT", help=f"Requests, TLS. Default: {QMASTER_PORT}; without root free ports."),
    ] = None,
    ray_port: Annotated[int | None, typer.Option(help=f"Ray's head on the master host. Default: {RAY_PORT}.")] = None,
    ray_ports: Annotated[
        str | None, typer.Option(metavar="FIRST-LAST", help=f"Ray's nodes and sessions, on all hosts. Default: {RAY_PORTS}.")
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Sockets, on each host. Default: /run/gridengine/CELL for root, else in /tmp.")
    ] = None,
    spool_dir: Annotated[
        Path | None,
        typer.Option(help="Spool, local to each host. Default: /var/spool/gridengine/CELL for root, else in the cell."),
    ] = None,
    exec_host: Annotated[list[str] | None, typer.Option(help="Exec host; repeat for several.")] = None,
    slots: Annotated[int | None, typer.Option(help="Slots of all.q on each exec host. Default: processors of this host.")] = None,
    load_thresholds: Annotated[
        str | None, typer.Option(help="load_thresholds of all.q; NONE where several hosts share a machine.")
    ] = None,
    alias: Annotated[
        list[str] | None, typer.Option(metavar="NAME=OTHER", help="A line of host_aliases; repeat for several.")
    ] = None,
    database: Annotated[bool | None, typer.Option("--arco/--no-arco", help=_DATABASE)] = None,
    memory: Annotated[
        str, typer.Option(help="Count memory of exec hosts (h_vmem): total (of this machine), or a size for each.")
    ] = "",
) -> None:
    """Make a cell: its common directory, secrets, spool directories and first configuration."""
    plan = plan_cell(
        CellOptions(
            root,
            cell,
            master_host,
            admin_user,
            qmaster_port,
            ray_port,
            ray_ports,
            run_dir,
            spool_dir,
            exec_host or [],
            slots,
            load_thresholds,
            alias or [],
            _with_database(database),
            memory,
        )
    )
    installation = find_installation()
    create_cell(plan, installation, utc_now())
    _print_next_steps(plan, memory, installation)


def _with_database(requested: bool | None) -> bool:
    """Whether the new cell gets a database. MissingLibraryError: the user requests one, and a library is missing."""
    if requested:
        require_libraries("arco")
    if requested is None and (missing := missing_libraries("arco")):
        typer.echo(f"no accounting database: {missing}")
        return False
    return requested is not False


def _print_next_steps(plan: CellPlan, memory: str, installation: Installation) -> None:
    """Print the name of the new cell, and the next commands."""
    start = "gridengine start"
    typer.echo(f"made the cell {plan.files.directory}, master host {plan.master_host}")
    if is_master_here(here := read_cell(plan.files)):
        also = [EXECD] if this_host(here) in plan.exec_hosts else []
        needed = [QMASTER, *([DBWRITER] if plan.arco else []), *also]
        start = _start_command(here.files, needed, [WEB], installation) or start
    if uncounted := [host for host in plan.exec_hosts if memory == "total" and host not in plan.memory]:
        typer.echo(f"to count the memory of other hosts: gridengine host add {' '.join(uncounted)} (when they run)")
    mailer = initial_mailer(plan.files.initial_config)
    if is_master_here(here) and not os.access(mailer, os.X_OK):
        typer.echo(str(missing_mailer(mailer)))
    typer.echo("next:")
    for line in first_commands(plan, start):
        typer.echo(f"    {line}")


def first_commands(plan: CellPlan, start: str = "gridengine start") -> list[str]:
    """The next commands after `init`: up to the first job, or up to the first host if the cell has none. `start`: the command
    that starts the daemons of this host."""
    here = {plan.master_host, socket.gethostname()}
    elsewhere = [host for host in plan.exec_hosts if host not in here]
    lines = [f". {plan.files.common}/settings.sh", start]
    if not plan.exec_hosts:
        return [*lines, "gridengine token join", "gridengine join (on each exec host, as printed)"]
    if elsewhere:
        lines.append(f"gridengine start (on {' '.join(elsewhere)})")
    return [*lines, "qhost", "qsub -b y -sync y hostname"][:4]


def join(
    master: Annotated[str, typer.Argument(metavar="MASTER[:PORT]", help="The master host of the cell.")],
    token: Annotated[
        str | None, typer.Option(metavar="-", help="Read the token from standard input. Default: ask at the terminal.")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="Read the token from this file, which only you may read.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of this host. Default: its own.")] = None,
    root: Annotated[
        Path | None, typer.Option("--root", help="Where the files of the cell shall be. Default: where the master has them.")
    ] = None,
) -> None:
    """Make this machine a host of a cell, by a token: the host gets its own keys and its entries in the configuration."""
    installation = find_installation()
    cell, host_name = join_cell(master, read_token(token, token_file), name or socket.gethostname(), root, installation)
    typer.echo(f"this is host {host_name} of the cell {cell.files.directory}, master host {cell.master_host}")
    as_host = "" if this_host(cell) == host_name else f" --host-name {host_name}"
    in_unit = "" if as_host else _start_command(cell.files, [EXECD], [], installation)
    # a daemon that still runs has keys that are revoked now
    first = f"gridengine stop{as_host} && " if process_of(execd_of(cell, host_name)) is not None else ""
    typer.echo(f"next: . {cell.files.common}/settings.sh && {first}{in_unit or f'gridengine start{as_host}'}")


def uninstall_command(
    root: Root = None,
    cell: CellName = "default",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    end: Annotated[bool, typer.Option("--stop", help="End the daemons of this host before.")] = False,
    purge: Annotated[bool, typer.Option("--purge", help="Remove the spool, too: jobs, keys and daily backups are gone.")] = False,
) -> None:
    """Remove the cell from this host, after showing the files. Refused while tasks run here; without --purge the spool stays."""
    uninstall(read_cell(cell_of_environment(root, cell)), yes, end, purge)


def _start_command(files: CellFiles, needed: list[str], others: list[str], installation: Installation) -> str:
    """Write systemd units for the daemons of this host, and return the command that starts them now and at boot; "" without
    systemd, or where another cell has the units."""
    written = write_units(files, [*needed, *others], installation)
    enabled = [program for program in needed if program in written]
    if enabled and enabled != needed:
        typer.echo(f"units of another cell stay as they are: start {' '.join(set(needed) - set(enabled))} with gridengine start")
    return enabling_command(enabled) if enabled else ""
