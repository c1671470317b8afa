"""The command line of `gridengine`: options and what they start.

Owns the wording of the options. Must not do the work itself. Called by `__main__`.
"""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from clients.admin.accounting_upgrade import upgrade_accounting
from clients.admin.arco.commands import arco
from clients.admin.backup import backup, complete_restore, restore, verify
from clients.admin.cell import CellFiles, InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_plan import QMASTER_PORT, RAY_PORT, RAY_PORTS, CellPlan, CellWishes, plan_cell
from clients.admin.certificate import utc_now
from clients.admin.clusters.commands import SETTINGS, dask, ray
from clients.admin.command_tree import sub_commands
from clients.admin.completion import bash_completion, zsh_completion
from clients.admin.config import config
from clients.admin.creation import create_cell
from clients.admin.daemon_releases import release_of
from clients.admin.demo import run_demo
from clients.admin.doctor import examine
from clients.admin.fish_completion import fish_completion
from clients.admin.host import host
from clients.admin.host_keys import provide_authority, provide_hosts
from clients.admin.import_sge import import_sge
from clients.admin.initial_config import initial_mailer
from clients.admin.installation import Installation, find_installation
from clients.admin.join import join_cell
from clients.admin.live_checks import missing_mailer
from clients.admin.local_daemons import (
    DBWRITER,
    EXECD,
    QMASTER,
    WEB,
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
    this_host,
)
from clients.admin.progress import Progress
from clients.admin.refusal import Refusal
from clients.admin.shadow import shadow
from clients.admin.standing import joined, standing
from clients.admin.systemd_units import write_units
from clients.admin.token import token
from clients.admin.token_input import read_token
from clients.admin.top import top
from clients.admin.uninstall import uninstall
from clients.admin.upgrade import upgrade
from clients.admin.web import print_link, print_token, print_tokens, serve_here, serve_pages, stop_pages

app = typer.Typer(
    name="gridengine",
    help="Make, start, stop and check a Grid Engine cell.",
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.add_typer(arco, name="arco")
app.add_typer(config, name="config")
app.add_typer(host, name="host")
app.add_typer(shadow, name="shadow")
app.add_typer(token, name="token")
for command in (backup, verify, restore, top, upgrade):
    app.command()(command)
app.command("import-sge")(import_sge)
for cluster in (ray, dask):
    app.command(context_settings=SETTINGS)(cluster)

Root = Annotated[
    Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells, seen by all hosts.")
]
CellName = Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")]
HostNames = Annotated[
    list[str] | None,
    typer.Option("--host-name", help="Exec host that this machine plays; repeat for several. Default: its own name."),
]


@app.command()
def init(
    root: Root = None,
    cell: CellName = "default",
    master_host: Annotated[str | None, typer.Option(help="Default: this host.")] = None,
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
    slots: Annotated[
        int | None, typer.Option(help="Slots of all.q on each exec host. Default: processors of this host.")
    ] = None,
    load_thresholds: Annotated[
        str | None, typer.Option(help="load_thresholds of all.q; NONE where several hosts share a machine.")
    ] = None,
    alias: Annotated[
        list[str] | None, typer.Option(metavar="NAME=OTHER", help="A line of host_aliases; repeat for several.")
    ] = None,
    database: Annotated[
        bool, typer.Option("--arco/--no-arco", help="A database of what is used, in a file beside the spool (sge_dbwriter).")
    ] = True,
    memory: Annotated[
        str, typer.Option(help="Count memory of exec hosts (h_vmem): total, what this machine has, or a size for each.")
    ] = "",
) -> None:
    """Make a cell: its common directory, secrets, spool directories and first configuration."""
    plan = plan_cell(
        CellWishes(
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
            database,
            memory,
        )
    )
    installation = find_installation()
    create_cell(plan, installation, utc_now())
    _tell_of_cell(plan, memory, installation)


def _tell_of_cell(plan: CellPlan, memory: str, installation: Installation) -> None:
    """What was made, and what comes next."""
    typer.echo(f"made the cell {plan.files.directory}, master host {plan.master_host}")
    if is_master_here(here := read_cell(plan.files)):
        also = [EXECD] if this_host(here) in plan.exec_hosts else []
        _offer_boot(here.files, [QMASTER, *([DBWRITER] if plan.arco else []), *also], [WEB], installation)
    if uncounted := [host for host in plan.exec_hosts if memory == "total" and host not in plan.memory]:
        typer.echo(f"memory of other hosts is counted from: gridengine host add {' '.join(uncounted)} (when they run)")
    mailer = initial_mailer(plan.files.initial_config)
    if is_master_here(here) and not os.access(mailer, os.X_OK):
        typer.echo(str(missing_mailer(mailer)))
    typer.echo("next:")
    for line in _first_commands(plan):
        typer.echo(f"    {line}")


def _first_commands(plan: CellPlan) -> list[str]:
    """What whoever made a cell types next: up to the first job, or to the first host where there is none yet."""
    here = {plan.master_host, socket.gethostname()}
    elsewhere = [host for host in plan.exec_hosts if host not in here]
    lines = [f". {plan.files.common}/settings.sh", "gridengine start"]
    if not plan.exec_hosts:
        return [*lines, "gridengine host add HOST", "gridengine start (on HOST)"]
    if elsewhere:
        lines.append(f"gridengine start (on {' '.join(elsewhere)})")
    return [*lines, "qhost", "qsub -b y -sync y hostname"][:4]


@app.command()
def join(
    master: Annotated[str, typer.Argument(metavar="MASTER[:PORT]", help="The master host of the cell.")],
    token: Annotated[
        str | None, typer.Option(metavar="-", help="Read the token from standard input. Default: ask at the terminal.")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="Read the token from this file, which nobody else may read.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of this host. Default: its own.")] = None,
    root: Annotated[
        Path | None, typer.Option("--root", help="Where the files of the cell shall be. Default: where the master has them.")
    ] = None,
) -> None:
    """Make this machine a host of a cell: it gets keys of its own, and a place in the cell, by a token."""
    installation = find_installation()
    cell, host_name = join_cell(master, read_token(token, token_file), name or socket.gethostname(), root, installation)
    typer.echo(f"this is host {host_name} of the cell {cell.files.directory}, master host {cell.master_host}")
    _offer_boot(cell.files, [EXECD], [], installation)
    as_host = "" if this_host(cell) == host_name else f" --host-name {host_name}"
    # a daemon of before has keys that are void now
    first = f"gridengine stop{as_host} && " if process_of(execd_of(cell, host_name)) is not None else ""
    typer.echo(f"next: . {cell.files.common}/settings.sh && {first}gridengine start{as_host}")


@app.command("start")
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
    progress = Progress(Console(soft_wrap=True))
    _may_start(here)
    if is_master_here(here):
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
    for seen in joined(here, hosts):
        typer.echo(seen.text, err=seen.state != "joined")
        refused |= seen.state == "refused"
    raise typer.Exit(1 if refused else 0)


@app.command("stop")
def stop_command(root: Root = None, cell: CellName = "default", host_name: HostNames = None) -> None:
    """Stop the daemons of this machine. Running jobs go on, and are found again at the next start."""
    here = read_cell(cell_of_environment(root, cell))
    wanted = [execd_of(here, name) for name in host_name] if host_name else daemons_of_this_machine(here)
    stopped = stop(wanted)
    for daemon in stopped:
        typer.echo(f"stopped {daemon}")
    if not stopped:
        typer.echo("no daemon of this cell runs on this machine")


@app.command()
def status(root: Root = None, cell: CellName = "default") -> None:
    """Say which daemons of this machine run, and whether the master knows its hosts. Exit code 1 when one does not."""
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
        release = release_of(daemon)
        state = f"{verb}, pid {process.pid}{release and f', release {release}'}" if process else "does not run"
        typer.echo(f"{daemon.program:<12} {daemon.host:<24} {state}")
        if process and daemon.program == EXECD:
            seen = standing(here, daemon.host)
            missing += seen.state == "refused"
            typer.echo(f"{'':<12} {'':<24} {seen.text}")
    if not daemons:
        typer.echo("no daemon of this cell has run on this machine")
    raise typer.Exit(1 if missing else 0)


@app.command()
def doctor(root: Root = None, cell: CellName = "default") -> None:
    """Look for what is wrong with this installation and the cell, and say how to mend it. Exit code 1: something is."""
    findings = examine(cell_of_environment(root, cell), find_installation(), utc_now())
    for finding in findings:
        typer.echo(str(finding))
    wrong = sum(finding.wrong for finding in findings)
    typer.echo(f"{len(findings)} checks, {wrong or 'none'} found something wrong")
    raise typer.Exit(1 if wrong else 0)


@app.command("web")
def web_command(
    root: Root = None,
    cell: CellName = "default",
    login: Annotated[bool, typer.Option("--login", help="Only print a link that logs you in, once.")] = False,
    token: Annotated[bool, typer.Option("--token", help="Print a token of yours for programs.")] = False,
    days: Annotated[int, typer.Option(help="How long the token is good for.")] = 90,
    scope: Annotated[str, typer.Option(help="What the token may be used for: read, submit (jobs, reservations) or all.")] = "all",
    label: Annotated[str, typer.Option(help="What you call the token.")] = "",
    listing: Annotated[bool, typer.Option("--list", help="Show your tokens, and when they were last used.")] = False,
    foreground: Annotated[bool, typer.Option("--foreground", help="Be the server: do not detach, print no link.")] = False,
    end: Annotated[bool, typer.Option("--stop", help="End the web server of this host.")] = False,
) -> None:
    """Show the cell in a browser: start the web server of this host, and print a link that logs you in."""
    here = read_cell(cell_of_environment(root, cell))
    if end:
        stop_pages(here)
        return
    if foreground:
        serve_here(here)
    if not (login or token or listing):
        serve_pages(here)
    if listing:
        print_tokens(here)
    elif token:
        print_token(here, days, scope, label)
    else:
        print_link(here)


@app.command()
def demo(
    pages: Annotated[bool, typer.Option("--web", help="With its pages for a browser; it runs until Ctrl-C then.")] = False,
) -> None:
    """Run a throw-away cell of three exec hosts on this machine, show what it does, and leave nothing behind."""
    run_demo(find_installation(), Progress(Console(soft_wrap=True), steps=8 if pages else 7), pages)


@app.command("upgrade-accounting")
def upgrade_accounting_command(
    old: Annotated[Path, typer.Argument(help="An accounting file, of this or an older version.")],
    new: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
) -> None:
    """Copy an accounting file, giving records of older versions the columns that they lack (reservations)."""
    added, complete = upgrade_accounting(old, new)
    typer.echo(f"{new}: {added} records upgraded, {complete} copied as they were")


@app.command()
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell to complete in.")]) -> None:
    """Print the completion of all commands: `source <(gridengine completion bash)` in ~/.bashrc; the same for zsh; for fish
    `gridengine completion fish | source`.
    """
    scripts = {"bash": bash_completion, "zsh": zsh_completion, "fish": fish_completion}
    typer.echo(scripts[shell](sub_commands(app)), nl=False)


@app.command("uninstall")
def uninstall_command(
    root: Root = None,
    cell: CellName = "default",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    end: Annotated[bool, typer.Option("--stop", help="End the daemons of this host before.")] = False,
    purge: Annotated[bool, typer.Option("--purge", help="Remove the spool, too: jobs, keys and daily backups are gone.")] = False,
) -> None:
    """Take the cell off this host, after showing what that is. Refused while tasks run here; the spool stays without --purge."""
    uninstall(read_cell(cell_of_environment(root, cell)), yes, end, purge)


def _may_start(cell: InstalledCell) -> None:
    """Refusal: the caller is neither root nor the admin user."""
    admin_user = cell.settings["admin_user"]
    try:
        allowed = {0, pwd.getpwnam(admin_user).pw_uid}
    except KeyError:
        raise Refusal(f"this host has no user {admin_user}, the admin user of the cell") from None
    if os.geteuid() not in allowed:
        who = "root" if allowed == {0} else f"root or {admin_user}"
        raise Refusal(f"only {who} starts the daemons of this cell")


def _offer_boot(files: CellFiles, needed: list[str], others: list[str], installation: Installation) -> None:
    """Write units for the daemons of this host, and say how they start at boot."""
    written = write_units(files, [*needed, *others], installation)
    if enabled := [program for program in needed if program in written]:
        typer.echo(f"to start at boot: systemctl enable {' '.join(enabled)}")


def _start(
    daemon: LocalDaemon, cell: InstalledCell, installation: Installation, progress: Progress, options: list[str] | None = None
) -> None:
    if (process := process_of(daemon)) and not is_ending(daemon):
        typer.echo(f"{daemon} runs already, pid {process.pid}")
        return
    with progress.step(f"starting {daemon}"):
        start(daemon, cell, installation, options or [])
