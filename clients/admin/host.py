"""`gridengine host`: hosts come into the cell and leave it, take no jobs for a while, and have keys of their own.

Owns the wording of these sub-commands. What the configuration says of a host is `host_objects`', the keys are `host_keys`', and
what a drain is, the qmaster's. Called by `program`. Source: adr/0153, docs/operations.md, docs/security.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from clients.admin.asking import carry_out, mean_cell, objects_now, read
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_directory import Objects, changes_between, describe
from clients.admin.host_consumables import MEMORY, counts_memory, memory_size, value_of
from clients.admin.host_keys import add_host, addresses_of, opened_authority, require_master, unique_name
from clients.admin.host_objects import ROLES, HostWishes, mentions, queues_of, references, with_host, without_host
from clients.admin.local_daemons import is_master_here, qmaster_of, renew
from clients.admin.refusal import Refusal

host = typer.Typer(help="Bring hosts into the cell, drain and remove them; make, show and revoke their keys.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The exec host, as qconf -sel shows it.")]
HostNames = Annotated[list[str], typer.Argument(metavar="NAME...", help="Hosts.")]
Drained = Annotated[list[str], typer.Argument(metavar="NAME...", help="Exec hosts, or groups of them (@NAME).")]
Into = Annotated[
    Path | None, typer.Option(help="A new directory for the keys, to be carried to the host. Default: common/secrets.")
]
Roles = Annotated[list[str] | None, typer.Option("--role", help="admin, submit or exec; repeat. Default: all three.")]
Queues = Annotated[list[str] | None, typer.Option("--queue", help="Give it a place in this cluster queue; repeat for several.")]
NewQueue = Annotated[str, typer.Option("--new-queue", metavar="QUEUE", help="Make it a cluster queue of its own.")]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="@GROUP", help="Add it to this host group; repeat. Default: @allhosts without a queue."),
]
_SHOWN = 8


@host.callback()
def which_cell(
    context: typer.Context,
    root: Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")] = None,
    name: Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")] = "default",
) -> None:
    """Say for all sub-commands which cell is meant."""
    context.obj = cell_of_environment(root, name)
    mean_cell(context.obj)


@host.command()
def add(
    context: typer.Context,
    names: HostNames,
    role: Roles = None,
    queue: Queues = None,
    new_queue: NewQueue = "",
    group: Groups = None,
    slots: Annotated[
        int | None, typer.Option(min=0, max=9999999, help="In --queue, else all queues. Default: the processors it reports.")
    ] = None,
    memory: Annotated[
        str,
        typer.Option(help="Count memory (h_vmem) up to this size; total: what it reports. Default: total if the cell counts."),
    ] = "",
    gpus: Annotated[int, typer.Option(min=0, max=9999, help="Count so many GPUs (gpu).")] = 0,
    into: Into = None,
) -> None:
    """Bring hosts into the cell: roles, a place in queues, keys. What a host has already stays. On the master host."""
    cell = read_cell(context.obj)
    if into is not None and (into.exists() or len(names) > 1):
        raise Refusal(f"--into {into}: is for the keys of one host, and makes the directory")
    if memory not in ("", "total"):
        memory_size("--memory", memory)
    everywhere = slots is not None and not queue and not new_queue
    wishes = HostWishes(chosen_roles(role), tuple(queue or ()), new_queue, tuple(group or ()), slots, everywhere, memory, gpus)
    hosts = [unique_name(cell, name) for name in names]
    for name in hosts:
        addresses_of(cell, name)
    before = after = objects_now()
    for name in hosts:
        after = with_host(after, name, _fitting(before, name, wishes))
    _send(before, after)
    for name in hosts:
        _say_slots(after, name, wishes)
        _provide_keys(cell, name, into)


def chosen_roles(said: list[str] | None) -> tuple[str, ...]:
    """What a host is to be. Refusal: there is no such role."""
    if wrong := [role for role in said or () if role not in ROLES]:
        raise Refusal(f'--role {wrong[0]}: a host is {", ".join(ROLES)}, or several of these')
    return tuple(said or ROLES)


def _fitting(objects: Objects, name: str, wishes: HostWishes) -> HostWishes:
    """The wishes with what the host reports of itself, where that was not said. Refusal: its memory is wanted and not known."""
    processors, memory = _reported(objects, name)
    slots = processors if wishes.slots is None else wishes.slots
    if wishes.memory == "total" and not memory:
        raise Refusal(f"--memory total: {name} has not reported its memory yet; say how much, or do this again when it runs")
    return replace(wishes, slots=slots, memory=memory if _all_of_it(objects, name, wishes) else wishes.memory)


def _all_of_it(objects: Objects, name: str, wishes: HostWishes) -> bool:
    """Whether all memory of the host is to be counted: that was said, or is so in this cell where nobody says otherwise."""
    if wishes.memory:
        return wishes.memory == "total"
    has = objects.get("exec_host", {}).get(name)
    return counts_memory(objects) and not (has and value_of(has, MEMORY))


def _reported(objects: Objects, name: str) -> tuple[int | None, str]:
    """Processors and memory of a host that has reported."""
    if name not in objects.get("exec_host", {}):
        return None, ""
    rows = read("status", {"hosts": {"hosts": [name]}})["hosts"]
    values = next(row["values"] for row in rows if row["name"] == name)
    return (int(values[1]) if values[1] else None), (f"{int(values[6] // 2**20)}M" if values[6] else "")


def _say_slots(objects: Objects, name: str, wishes: HostWishes) -> None:
    queues = sorted(queues_of(objects, name))
    if "exec" in wishes.roles and not queues:
        typer.echo(f"host {name} is in no queue: --queue, --new-queue or --group give it jobs", err=True)
    for queue in queues:
        typer.echo(f"slots of {queue} on {name}: {objects['cluster_queue'][queue]['slots']}")
    if queues and (unknown := _not_reported(objects, name, wishes)):
        slots = "" if wishes.slots is None else f" --slots {wishes.slots}"
        again = f"gridengine host add {name} {' '.join(f'--queue {queue}' for queue in queues)}{slots}"
        typer.echo(f"{name} has not reported its {' and '.join(unknown)} yet; when it runs: {again}")


def _not_reported(objects: Objects, name: str, wishes: HostWishes) -> list[str]:
    """What the host would be given of what it has, once that is known."""
    slots = wishes.slots is None and _reported(objects, name)[0] is None
    memory = counts_memory(objects) and not value_of(objects["exec_host"][name], MEMORY)
    return [*(["processors"] if slots else []), *(["memory"] if memory else [])]


def _provide_keys(cell: InstalledCell, name: str, into: Path | None) -> None:
    if not is_master_here(cell):
        typer.echo(f"next, on {cell.master_host}: gridengine host keys {name}")
    elif into is None and name in {known.name for known in opened_authority(cell).hosts()}:
        typer.echo(f"host {name} has keys already (gridengine host keys {name} makes new ones)")
    else:
        _new_keys(cell, name, into)


@host.command()
def keys(context: typer.Context, name: Name, into: Into = None) -> None:
    """Make new keys for a host. Those that it had before are worth nothing from then on."""
    cell = _master_cell(context)
    if into is not None and into.exists():
        raise Refusal(f"--into {into}: is there already")
    _new_keys(cell, name, into)


def _new_keys(cell: InstalledCell, name: str, into: Path | None) -> None:
    unique, place = add_host(cell, name, into)
    typer.echo(f"made keys for host {unique}: {place}")
    if into is None:
        typer.echo(f"next: gridengine start on {unique}, whose daemon moves them to its own disk")
    else:
        typer.echo(f"next: move that directory to {cell.execd_spool_dir}/{unique}/keys on {unique}, and gridengine start there")


@host.command()
def drain(
    names: Drained,
    reason: Annotated[str, typer.Option(help="Why: everybody sees it, with who did it and since when.")],
) -> None:
    """Let no job begin on hosts any more. Those that run there run on; every queue there shows d."""
    raise typer.Exit(carry_out("drain_hosts", {"hosts": names, "reason": reason}))


@host.command()
def resume(names: Drained) -> None:
    """End the drain of hosts: they take jobs again, as far as their queues do."""
    raise typer.Exit(carry_out("drain_hosts", {"hosts": names, "end": True}))


@host.command()
def remove(
    context: typer.Context,
    names: HostNames,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Show what speaks of hosts and what runs there; then take them out of the cell and revoke their keys. On the master host."""
    cell = _master_cell(context)
    hosts = [unique_name(cell, name) for name in names]
    if cell.master_host in hosts:
        raise Refusal(f"{cell.master_host} is the master host of the cell: another one has to take over first")
    before = after = objects_now()
    known = {each.name for each in opened_authority(cell).hosts()}
    busy = [name for name in hosts if _show(before, name, name in known)]
    if busy:
        first = f"drain it (gridengine host drain {' '.join(busy)} --reason TEXT) unless that is done"
        last = "wait until they are over, end them (qdel), or have them run elsewhere (qmod -rj)"
        raise Refusal(f"jobs run on {', '.join(busy)}: {first}, then {last}")
    if not yes and not (sys.stdin.isatty() and typer.confirm("Remove all this?")):
        raise Refusal("nothing was changed (--yes removes it)")
    for name in hosts:
        after = without_host(after, name)
    for name in [name for name in hosts if name in before.get("exec_host", {})]:
        _end_daemon(name)
    _send(before, after)
    _revoke(cell, [name for name in hosts if name in known])
    for name in hosts:
        for what, where in mentions(after, name):
            typer.echo(f"{what} still names {name} ({where})")
    typer.echo(f"next, on {', '.join(hosts)}: gridengine uninstall (with --stop --purge it ends what still runs there)")


def _show(objects: Objects, name: str, has_keys: bool) -> bool:
    """Print what there is of a host; whether jobs run there. Refusal: there is nothing."""
    named = list(references(objects, name))
    if not named and not has_keys:
        raise Refusal(f'host "{name}" is not known in this cell')
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
    except Refusal as refusal:
        typer.echo(f"{refusal}: its daemon is refused from now on", err=True)


def _send(before: Objects, after: Objects) -> None:
    """Refusal: the qmaster's reason."""
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
    """Show the exec hosts that have keys: name, serial number of the certificate, its last day, where the keys are."""
    for known in opened_authority(_master_cell(context)).hosts():
        place = "in common/secrets" if known.waiting else "on the host"
        typer.echo(f"{known.name:<24} {known.serial:<40} {known.until:%Y-%m-%d} {place}")


@host.command()
def revoke(context: typer.Context, name: Name) -> None:
    """Cut an exec host off, at once and for good: its keys are worth nothing. Jobs on other hosts run on."""
    cell = _master_cell(context)
    _revoke(cell, [unique_name(cell, name)])
    typer.echo("tasks that run there run on: gridengine uninstall --stop --purge, on that host, ends them")


def _revoke(cell: InstalledCell, hosts: list[str]) -> None:
    for name in hosts:
        try:
            opened_authority(cell).revoke(name)
        except OSError as error:
            raise Refusal(f"cannot revoke {name}: {error.filename}: {error.strerror}") from error
        typer.echo(f"host {name} is revoked: it gets no jobs and speaks for nobody any more")
    if hosts and renew(qmaster_of(cell)):
        typer.echo("sge_qmaster takes a new token for Ray: no job starts for some seconds, those that run go on")


def _master_cell(context: typer.Context) -> InstalledCell:
    cell = read_cell(context.obj)
    require_master(cell)
    return cell
