"""`gridengine start`, `stop` and `status`: the daemons of this machine.

Owns their options and their output; `local_daemons` and `membership` do the work. Called by `program`.
"""

from __future__ import annotations

import os
import pwd
from typing import Annotated

import typer

from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.daemon_releases import release_text
from clients.admin.errors import AdminError
from clients.admin.installation import Installation, find_installation
from clients.admin.local_daemons import (
    EXECD,
    LocalDaemon,
    answers,
    daemons_of_this_machine,
    dbwriter_of,
    exec_hosts_to_start,
    execd_of,
    has_database,
    is_closed,
    is_ending,
    is_master_here,
    is_shadow_here,
    known_exec_hosts,
    process_of,
    qmaster_of,
    shadowd_of,
    start,
    stop,
)
from clients.admin.membership import membership, wait_for_membership
from clients.admin.progress import Progress

HostNames = Annotated[
    list[str] | None,
    typer.Option("--host-name", help="Exec host that this machine plays; repeat for several. Default: its own name."),
]


def start_command(
    root: Root = None,
    cell: CellName = "default",
    host_name: HostNames = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="The spool is lost: begin with the first configuration and without jobs.")
    ] = False,
) -> None:
    """Start the daemons of this machine: sge_qmaster and sge_dbwriter on the master host, sge_execd on exec hosts."""
    here = read_cell(cell_of_environment(root, cell))
    installation = find_installation()
    progress = Progress()
    _require_admin_user(here)
    if is_master_here(here):
        # the import of the key modules costs exec hosts a quarter of a second
        from clients.admin.backup import complete_restore
        from clients.admin.host_keys import provide_authority, provide_hosts

        complete_restore(here)
        here = read_cell(here.files)
        founded = provide_authority(here, fresh)
        _start(qmaster_of(here), here, installation, progress, ["--fresh"] if fresh else [])
        if founded:
            hosts = known_exec_hosts(here, installation)
            provide_hosts(here, hosts)
            typer.echo(f"made keys for exec hosts, each of which has to be started (again): {', '.join(hosts) or 'none'}")
    if is_shadow_here(here) and not host_name:
        _start(shadowd_of(here), here, installation, progress)
    hosts = host_name or exec_hosts_to_start(here, installation)
    for name in hosts:
        _start(execd_of(here, name), here, installation, progress)
    if is_master_here(here) and has_database(here):
        _start(dbwriter_of(here), here, installation, progress)
    refused = False
    for seen in wait_for_membership(here, hosts):
        typer.echo(seen.text, err=seen.state != "joined")
        refused |= seen.state == "refused"
    raise typer.Exit(1 if refused else 0)


def stop_command(root: Root = None, cell: CellName = "default", host_name: HostNames = None) -> None:
    """Stop the daemons of this machine. Running jobs go on, and are recovered at the next start."""
    here = read_cell(cell_of_environment(root, cell))
    selected = [execd_of(here, name) for name in host_name] if host_name else daemons_of_this_machine(here)
    stopped = stop(selected)
    for daemon in stopped:
        typer.echo(f"stopped {daemon}")
    if not stopped:
        typer.echo("no daemon of this cell runs on this machine")


def status(root: Root = None, cell: CellName = "default") -> None:
    """Show which daemons of this machine run, and whether the master knows its hosts. Exit code 1 if a daemon does not run or a
    host is refused.
    """
    here = read_cell(cell_of_environment(root, cell))
    daemons = daemons_of_this_machine(here)
    typer.echo(f"cell {here.files.directory}, master host {here.master_host}")
    missing = 0
    for daemon in daemons:
        process = process_of(daemon)
        if process is None and is_closed(daemon):
            there = answers(daemon.socket)
            missing += not there
            typer.echo(f"{daemon.program:<12} {daemon.host:<24} {'answers' if there else 'does not answer'}")
            continue
        missing += process is None
        verb = "is ending" if is_ending(daemon) else "runs"
        release = release_text(daemon)
        state = f"{verb}, pid {process.pid}{release and f', release {release}'}" if process else "does not run"
        typer.echo(f"{daemon.program:<12} {daemon.host:<24} {state}")
        if process and daemon.program == EXECD:
            seen = membership(here, daemon.host)
            missing += seen.state == "refused"
            typer.echo(f"{'':<12} {'':<24} {seen.text}")
    if not daemons:
        typer.echo("no daemon of this cell has run on this machine")
    raise typer.Exit(1 if missing else 0)


def _require_admin_user(cell: InstalledCell) -> None:
    """AdminError: the caller is neither root nor the admin user."""
    admin_user = cell.settings["admin_user"]
    try:
        allowed = {0, pwd.getpwnam(admin_user).pw_uid}
    except KeyError:
        raise AdminError(f"this host has no user {admin_user}, the admin user of the cell") from None
    if os.geteuid() not in allowed:
        users = "root" if allowed == {0} else f"root or {admin_user}"
        raise AdminError(f"only {users} starts the daemons of this cell")


def _start(
    daemon: LocalDaemon, cell: InstalledCell, installation: Installation, progress: Progress, options: list[str] | None = None
) -> None:
    if (process := process_of(daemon)) and not is_ending(daemon):
        typer.echo(f"{daemon} runs already, pid {process.pid}")
        return
    with progress.step(f"starting {daemon}"):
        start(daemon, cell, installation, options or [])
