"""`gridengine host`: add hosts to the cell and remove them, drain and resume them, and manage their keys.

Owns the output of these sub-commands. `host_objects` owns a host's part of the configuration, `host_keys` the keys, and the
qmaster the drain. Called by `program`. Source: adr/0153, docs/operations.md, docs/security.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from clients.admin.cell import InstalledCell, read_cell
from clients.admin.cell_directory import Objects, changes_between, describe
from clients.admin.cell_options import read_cell_options
from clients.admin.devices import FOUND, gpu_number, with_found_devices
from clients.admin.errors import AdminError
from clients.admin.host_consumables import MEMORY, counts_memory, memory_size, value_of
from clients.admin.host_keys import add_host, addresses_of, open_authority, require_master, unique_name
from clients.admin.host_objects import ROLES, HostOptions, queues_of, quota_references, references, with_host, without_host
from clients.admin.local_daemons import is_master_here, qmaster_of, restart_in_place
from clients.admin.qmaster_requests import carry_out, read, read_objects
from clients.admin.racks import NO_RACK, checked_rack, place_in_rack, rack_of, read_racks

host = typer.Typer(
    callback=read_cell_options, help="Add hosts to the cell, drain and remove them; make, show and revoke their keys."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The exec host, as qconf -sel shows it.")]
HostNames = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of hosts.")]
Drained = Annotated[list[str], typer.Argument(metavar="NAME...", help="Exec hosts, or groups of them (@NAME).")]
Into = Annotated[
    Path | None, typer.Option(help="A new directory for the keys, to be copied to the host. Default: common/secrets.")
]
Roles = Annotated[list[str] | None, typer.Option("--role", help="admin, submit or exec; repeat. Default: all three.")]
Queues = Annotated[list[str] | None, typer.Option("--queue", help="Add the hosts to this cluster queue; repeat for several.")]
NewQueue = Annotated[str, typer.Option("--new-queue", metavar="QUEUE", help="Make a new cluster queue for the hosts.")]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="@GROUP", help="Add the hosts to this host group; repeat. Without --queue: @allhosts."),
]
_SHOWN = 8


@host.command()
def add(
    context: typer.Context,
    names: HostNames,
    role: Roles = None,
    queue: Queues = None,
    new_queue: NewQueue = "",
    group: Groups = None,
    slots: Annotated[
        int | None, typer.Option(min=0, max=9999999, help="Slots in --queue, else in all queues. Default: its processors.")
    ] = None,
    memory: Annotated[
        str,
        typer.Option(help="Count memory (h_vmem) up to this size; total: the reported size. Default: total if the cell counts."),
    ] = "",
    gpus: Annotated[
        str, typer.Option(metavar="N|found", help="Count this number of GPUs (gpu); found: the GPUs that the host has reported.")
    ] = "0",
    rack: Annotated[
        str, typer.Option(metavar="RACK", help="Behind the Ray node of this rack; NONE: a node of its own. On the master host.")
    ] = "",
    into: Into = None,
) -> None:
    """Add hosts to the cell: roles, queues, keys. Existing settings of a host stay. On the master host."""
    cell = read_cell(context.obj)
    if into is not None and (into.exists() or len(names) > 1):
        raise AdminError(f"--into {into}: for the keys of one host, in a new directory")
    if memory not in ("", "total"):
        memory_size("--memory", memory)
    if checked_rack(rack):
        require_master(cell)
    everywhere = slots is not None and not queue and not new_queue
    options = HostOptions(
        chosen_roles(role), tuple(queue or ()), new_queue, tuple(group or ()), slots, everywhere, memory, gpu_number(gpus)
    )
    hosts = [unique_name(cell, name) for name in names]
    for name in hosts:
        addresses_of(cell, name)
    before = after = read_objects()
    for name in hosts:
        after = with_host(after, name, _with_reported_values(before, name, options))
        if gpus == FOUND:
            after = with_found_devices(after, name)
    _apply_changes(before, after)
    if rack:
        _print_moves(place_in_rack(cell, hosts, rack), rack)
    for name in hosts:
        _print_slots(after, name, options)
        _provide_keys(cell, name, into)


def _print_moves(moved: list[str], rack: str) -> None:
    where = "have a Ray node of their own" if rack == NO_RACK else f"are in rack {rack}"
    if moved:
        typer.echo(f"{', '.join(moved)} {where}, from their daemons' next message on; jobs go on")


def chosen_roles(requested: list[str] | None) -> tuple[str, ...]:
    """The roles of a host. AdminError: there is no such role."""
    if wrong := [role for role in requested or () if role not in ROLES]:
        raise AdminError(f'--role {wrong[0]}: a host is {", ".join(ROLES)}, or several of these')
    return tuple(requested or ROLES)


def _with_reported_values(objects: Objects, name: str, options: HostOptions) -> HostOptions:
    """The options, completed by the host's reported values. AdminError: its memory is requested and not known."""
    processors, memory = _reported(objects, name)
    slots = processors if options.slots is None else options.slots
    if options.memory == "total" and not memory:
        raise AdminError(f"--memory total: {name} has not reported its memory yet; give the size, or repeat this when it runs")
    return replace(options, slots=slots, memory=memory if _counts_all_memory(objects, name, options) else options.memory)


def _counts_all_memory(objects: Objects, name: str, options: HostOptions) -> bool:
    """Whether all memory of the host is to be counted: on request, or by default in a cell that counts memory."""
    if options.memory:
        return options.memory == "total"
    has = objects.get("exec_host", {}).get(name)
    return counts_memory(objects) and not (has and value_of(has, MEMORY))


def _reported(objects: Objects, name: str) -> tuple[int | None, str]:
    """Processors and memory of a host that has reported."""
    if name not in objects.get("exec_host", {}):
        return None, ""
    rows = read("status", {"hosts": {"hosts": [name]}})["hosts"]
    values = next(row["values"] for row in rows if row["name"] == name)
    return (int(values[1]) if values[1] else None), (f"{int(values[6] // 2**20)}M" if values[6] else "")


def _print_slots(objects: Objects, name: str, options: HostOptions) -> None:
    queues = sorted(queues_of(objects, name))
    if "exec" in options.roles and not queues:
        typer.echo(f"host {name} is in no queue: --queue, --new-queue or --group add it to queues", err=True)
    for queue in queues:
        typer.echo(f"slots of {queue} on {name}: {objects['cluster_queue'][queue]['slots']}")
    if queues and (unknown := _not_reported(objects, name, options)):
        slots = "" if options.slots is None else f" --slots {options.slots}"
        again = f"gridengine host add {name} {' '.join(f'--queue {queue}' for queue in queues)}{slots}"
        typer.echo(f"{name} has not reported its {' and '.join(unknown)} yet; when it runs: {again}")


def _not_reported(objects: Objects, name: str, options: HostOptions) -> list[str]:
    """The values that the host has not reported yet, and that would set its slots or memory."""
    slots = options.slots is None and _reported(objects, name)[0] is None
    memory = counts_memory(objects) and not value_of(objects["exec_host"][name], MEMORY)
    return [*(["processors"] if slots else []), *(["memory"] if memory else [])]


def _provide_keys(cell: InstalledCell, name: str, into: Path | None) -> None:
    if not is_master_here(cell):
        typer.echo(f"next, on {cell.master_host}: gridengine host keys {name}")
    elif into is None and name in {known.name for known in open_authority(cell).hosts()}:
        typer.echo(f"host {name} has keys already (gridengine host keys {name} makes new ones)")
    else:
        _new_keys(cell, name, into)


@host.command()
def keys(context: typer.Context, name: Name, into: Into = None) -> None:
    """Make new keys for a host, which revokes its earlier keys."""
    cell = master_cell(context)
    if into is not None and into.exists():
        raise AdminError(f"--into {into}: exists already")
    _new_keys(cell, name, into)


def _new_keys(cell: InstalledCell, name: str, into: Path | None) -> None:
    unique, location = add_host(cell, name, into)
    typer.echo(f"made keys for host {unique}: {location}")
    if into is None:
        typer.echo(f"next: gridengine start on {unique}, whose daemon moves them to its own disk")
    else:
        typer.echo(f"next: move that directory to {cell.execd_spool_dir}/{unique}/keys on {unique}, and gridengine start there")


@host.command()
def drain(
    names: Drained,
    reason: Annotated[str, typer.Option(help="The reason, shown to all users with your name and the time.")],
) -> None:
    """Start no more jobs on hosts. Running jobs go on; every queue instance there shows d."""
    raise typer.Exit(carry_out("drain_hosts", {"hosts": names, "reason": reason}))


@host.command()
def resume(names: Drained) -> None:
    """End the drain of hosts, which accept jobs again if their queues do."""
    raise typer.Exit(carry_out("drain_hosts", {"hosts": names, "end": True}))


@host.command()
def remove(
    context: typer.Context,
    names: HostNames,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Show the configuration and the jobs of hosts; then remove the hosts from the cell and revoke their keys. On the master
    host.
    """
    cell = master_cell(context)
    hosts = [unique_name(cell, name) for name in names]
    if cell.master_host in hosts:
        raise AdminError(f"{cell.master_host} is the master host of the cell: another host has to take over first")
    before = after = read_objects()
    known = {each.name for each in open_authority(cell).hosts()}
    busy = [name for name in hosts if _print_references(before, name, name in known)]
    if busy:
        first = f"drain it (gridengine host drain {' '.join(busy)} --reason TEXT) unless that is done"
        last = "wait until they are over, end them (qdel), or have them run elsewhere (qmod -rj)"
        raise AdminError(f"jobs run on {', '.join(busy)}: {first}, then {last}")
    if not yes and not (sys.stdin.isatty() and typer.confirm("Remove all this?")):
        raise AdminError("nothing was changed (--yes removes it)")
    for name in hosts:
        after = without_host(after, name)
    for name in [name for name in hosts if name in before.get("exec_host", {})]:
        _end_daemon(name)
    _apply_changes(before, after)
    place_in_rack(cell, hosts, NO_RACK)
    _revoke(cell, [name for name in hosts if name in known])
    for name in hosts:
        for what, where in quota_references(after, name):
            typer.echo(f"{what} still names {name} ({where})")
    typer.echo(f"next, on {', '.join(hosts)}: gridengine uninstall (with --stop --purge it also ends running tasks there)")


def _print_references(objects: Objects, name: str, has_keys: bool) -> bool:
    """Print the references to a host and its jobs; return whether jobs run there. AdminError: the cell does not know the host."""
    named = list(references(objects, name))
    if not named and not has_keys:
        raise AdminError(f'host "{name}" is not known in this cell')
    typer.echo(f"host {name}:")
    for what, where in named:
        typer.echo(f"    {what}{': ' if where else ''}{where}")
    if has_keys:
        typer.echo("    keys of its own")
    status = read("status", {"jobs": {"users": ["*"], "states": ["r", "s"]}, "reservations": {"users": ["*"]}})
    jobs = [f"{row[0]}{'.' + row[8] if row[8] else ''} of {row[3]}" for row in status["jobs"]["running"] if _is_at(row[6], name)]
    reserved = [str(each["id"]) for each in status["reservations"]["reservations"] if _is_at(each["granted"], name)]
    for what, shown in (("runs there", jobs), ("advance reservations there", reserved)):
        if shown:
            more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            typer.echo(f"    {what}: {', '.join(shown[:_SHOWN])}{more}")
    if not jobs:
        typer.echo("    no job runs there")
    return bool(jobs)


def _is_at(granted: list[Any], name: str) -> bool:
    return any(each[0].partition("@")[2] == name for each in granted)


def _end_daemon(name: str) -> None:
    try:
        carry_out("shutdown", {"what": "execd", "hosts": [name]})
    except AdminError as refusal:
        typer.echo(f"{refusal}: its daemon is refused from now on", err=True)


def _apply_changes(before: Objects, after: Objects) -> None:
    """AdminError: the qmaster's reason."""
    changes = changes_between(before, after)
    if not changes:
        typer.echo("the configuration has all of that already")
        return
    for change in changes:
        for line in describe(change):
            typer.echo(line)
    carry_out("config_change", {"changes": changes})


@host.command("list")
def list_command(context: typer.Context) -> None:
    """Show the exec hosts that have keys: name, serial number of the certificate, its last day, location of the keys, rack."""
    cell = master_cell(context)
    racks = read_racks(cell)
    for known in open_authority(cell).hosts():
        location = "in common/secrets" if known.waiting else "on the host"
        rack = f", in rack {name}" if (name := rack_of(racks, known.name)) else ""
        typer.echo(f"{known.name:<24} {known.serial:<40} {known.until:%Y-%m-%d} {location}{rack}")


@host.command()
def revoke(context: typer.Context, name: Name) -> None:
    """Revoke the keys of an exec host, at once and permanently. Jobs on other hosts run on."""
    cell = master_cell(context)
    _revoke(cell, [unique_name(cell, name)])
    typer.echo("running tasks there go on: gridengine uninstall --stop --purge, on that host, ends them")


def _revoke(cell: InstalledCell, hosts: list[str]) -> None:
    for name in hosts:
        try:
            open_authority(cell).revoke(name)
        except OSError as error:
            raise AdminError(f"cannot revoke {name}: {error.filename}: {error.strerror}") from error
        typer.echo(f"host {name} is revoked: it gets no jobs, and its requests are rejected")
    if hosts and restart_in_place(qmaster_of(cell)):
        typer.echo("sge_qmaster takes a new token for Ray: no job starts for some seconds, running jobs go on")


def master_cell(context: typer.Context) -> InstalledCell:
    """The cell. AdminError: its master is another host."""
    cell = read_cell(context.obj)
    require_master(cell)
    return cell
