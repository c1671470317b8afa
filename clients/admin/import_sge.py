"""`gridengine import-sge`: an existing Grid Engine's configuration, and its accounting file, taken over.

Owns the order of the steps and the wording. The texts are `import_sge_sources`', what becomes of each object
`import_sge_objects`', queues of one host `import_sge_queues`', and what would be refused is the qmaster's answer. Called by
`program`. Source: IN-4; adr/0159; docs/moving.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from clients.admin.arco.commands import run_import
from clients.admin.arco.dbwriter_client import DbwriterClient
from clients.admin.asking import mean_cell, objects_now
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_directory import Objects, changes_between
from clients.admin.changes import carry_out_changes, plan_changes
from clients.admin.host_objects import mentions, without_host
from clients.admin.import_sge_accounting import import_accounting, raise_job_numbers
from clients.admin.import_sge_objects import taken
from clients.admin.import_sge_queues import merged
from clients.admin.import_sge_sources import OldCell, read_live, read_saved
from clients.admin.local_daemons import has_database
from clients.admin.refusal import Refusal
from gridengine.kinds import title

LIVE = "live"
#: files in common/ of which this system has one, too, and reads them alike
_SAME_FILES = ("host_aliases", "sge_request", "sge_qstat", "sge_qquota", "sge_qrstat", "sge_ar_request", "sge_aliases", "qtask")


def import_sge(
    source: Annotated[
        str, typer.Argument(metavar="DIRECTORY|live", help="What save_sge_config.sh has made, or live: ask the old qconf.")
    ],
    root: Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")] = None,
    cell: Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")] = "default",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")] = False,
    sge_root: Annotated[Path | None, typer.Option("--sge-root", help="SGE_ROOT of the old cell, for live.")] = None,
    sge_cell: Annotated[str, typer.Option("--sge-cell", help="Name of the old cell, for live.")] = "default",
    qconf: Annotated[Path | None, typer.Option("--qconf", help="The old qconf. Default: the one below --sge-root.")] = None,
    accounting: Annotated[
        Path | None, typer.Option("--accounting", help="Its accounting file, for qacct and the database.")
    ] = None,
    merge: Annotated[
        list[str] | None, typer.Option("--merge", metavar="NAME=PATTERN", help="Make these queues of one host each one queue.")
    ] = None,
    keep_queues: Annotated[
        bool, typer.Option("--keep-queues", help="Do not merge queues that differ in their host alone.")
    ] = False,
    leave_out: Annotated[
        list[str] | None,
        typer.Option("--leave-out", metavar="KIND/NAME[/ATTRIBUTE]", help="Do not take this object, or attribute; repeat."),
    ] = None,
    without_hosts: Annotated[
        list[str] | None, typer.Option("--without-host", metavar="HOST", help="Take nothing of a host that is gone; repeat.")
    ] = None,
) -> None:
    """Take over an existing Grid Engine's configuration: all of it in one transaction, or nothing. What is only here stays."""
    here = cell_of_environment(root, cell)
    mean_cell(here)
    installed = read_cell(here)
    old = _read(source, sge_root, sge_cell, qconf)
    now = objects_now()
    made = taken(old, now, frozenset(leave_out or ()))
    if missed := sorted(set(leave_out or ()) - made.left_out):
        made.faults.append(f"--leave-out {missed[0]}: the old configuration has nothing of this name")
    for name in without_hosts or ():
        if without_host(made.objects, name) == made.objects:
            made.faults.append(f"--without-host {name}: the old configuration has no such host")
    if made.faults:
        raise Refusal("\n".join([*made.faults, "nothing was changed: mend it there, or --leave-out KIND/NAME[/ATTRIBUTE]"]))
    joined = merged(made.objects, _wishes(merge or []), not keep_queues)
    objects = _without(joined.objects, without_hosts or (), made.remarks)
    changes = changes_between(now, {kind: {**now.get(kind, {}), **objects.get(kind, {})} for kind in {**now, **objects}})
    status = _carry_out(changes, dry_run)
    _print(f'merged: queue "{queue}" is "{name}" on host {host} now: -q {name}@{host}' for queue, name, host in joined.queues)
    _print(f"note: {remark}" for remark in (*joined.remarks, *made.remarks, *_stays(now, objects), *_beside(old, installed)))
    if not status and not dry_run:
        _take_accounting(installed, accounting, old.last_job)
    raise typer.Exit(status)


def _read(source: str, sge_root: Path | None, sge_cell: str, qconf: Path | None) -> OldCell:
    if source != LIVE:
        return read_saved(Path(source))
    if sge_root is None:
        raise Refusal("live: say --sge-root DIRECTORY, the SGE_ROOT of the old cell")
    return read_live(sge_root, sge_cell, qconf)


def _without(objects: Objects, hosts: Iterable[str], remarks: list[str]) -> Objects:
    """After the merge, so that the queue of a host that is gone goes with it."""
    for host in hosts:
        objects = without_host(objects, host)
        remarks += [f"{what} still names the host {host}" for what, _ in mentions(objects, host)]
    return objects


def _wishes(texts: list[str]) -> dict[str, str]:
    wishes = {}
    for text in texts:
        name, sign, pattern = text.partition("=")
        if not (name and sign and pattern) or name in wishes:
            raise Refusal(f'--merge "{text}": say NAME=PATTERN, each name once')
        wishes[name] = pattern
    return wishes


def _carry_out(changes: list[dict[str, Any]], dry_run: bool) -> int:
    if not changes:
        typer.echo(f"the cell has all of it, nothing {'would change' if dry_run else 'was changed'}")
        return 0
    if dry_run:
        return plan_changes(changes)
    carry_out_changes(changes)
    return 0


def _stays(now: Objects, objects: Objects) -> Iterable[str]:
    """Objects that only this cell has and that take jobs, or give rights."""
    for kind in ("cluster_queue", "host_group", "resource_quota", "manager", "operator"):
        for name in sorted(now.get(kind, {}).keys() - objects.get(kind, {}).keys()):
            yield f"{title(kind, name)} is of this cell alone and stays"


def _beside(old: OldCell, installed: InstalledCell) -> Iterable[str]:
    """What an old cell has beside its configuration."""
    for name in (name for name in _SAME_FILES if name in old.files):
        yield f"the file common/{name} is not taken: copy it, or what you want of it, to {installed.files.common}"
    if "shadow_masters" in old.files:
        yield "the file common/shadow_masters is not taken: gridengine shadow add makes a host one that may be the master"
    for name in old.unread:
        yield f"{name} was not read: it is no file of a configuration"
    if any(text.kind == "share_tree" and text.text.strip() for text in old.texts):
        yield "past usage of the share tree is not in a saved configuration: all users and projects begin at zero"
    yield "jobs and reservations are not taken: let the old cell finish its jobs, and submit what waits anew"


def _take_accounting(installed: InstalledCell, file: Path | None, last_job: int) -> None:
    if file is None:
        if last_job:
            raise_job_numbers(last_job)
            typer.echo(f"jobs get numbers from {last_job + 1} on")
        return
    records = import_accounting(file, last_job)
    typer.echo(f"{file}: {records.added} records imported, {records.known} were there already, {records.rejected} lines are none")
    if records.first_rejected:
        typer.echo(f"{file}: no records, the first of them: line {', '.join(map(str, records.first_rejected))}", err=True)
    if records.clashing:
        typer.echo(f"{file}: {records.clashing} records were left out, as jobs of this cell have their numbers now", err=True)
    if has_database(installed):
        run_import(DbwriterClient(installed), file)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
