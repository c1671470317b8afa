"""`gridengine import-sge`: import of an existing Grid Engine's configuration and accounting file.

Owns the order of the steps and the output. `sources` owns the old texts, `objects` their conversion, `queues` the merge of queues
of one host. The qmaster decides which changes are refused. Called by `program`. Source: IN-4; adr/0159; docs/moving.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from clients.admin.arco.commands import run_import
from clients.admin.arco.dbwriter_client import DbwriterClient
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell, select_cell
from clients.admin.cell_directory import Objects, changes_between
from clients.admin.cell_options import CellName, Root
from clients.admin.changes import carry_out_changes, plan_changes
from clients.admin.errors import AdminError
from clients.admin.host_objects import quota_references, without_host
from clients.admin.import_sge.accounting import import_accounting, raise_job_numbers
from clients.admin.import_sge.objects import convert_objects
from clients.admin.import_sge.queues import merge_queues
from clients.admin.import_sge.sources import OldCell, read_live, read_saved
from clients.admin.local_daemons import has_database
from clients.admin.qmaster_requests import read_objects
from gridengine.kinds import title

LIVE = "live"
#: files in common/ that this system also has, in the same format
_SAME_FILES = ("host_aliases", "sge_request", "sge_qstat", "sge_qquota", "sge_qrstat", "sge_ar_request", "sge_aliases", "qtask")


def import_sge(
    source: Annotated[
        str, typer.Argument(metavar="DIRECTORY|live", help="The output of save_sge_config.sh, or live: ask the old qconf.")
    ],
    root: Root = None,
    cell: CellName = "default",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the changes.")] = False,
    sge_root: Annotated[Path | None, typer.Option("--sge-root", help="SGE_ROOT of the old cell, for live.")] = None,
    sge_cell: Annotated[str, typer.Option("--sge-cell", help="Name of the old cell, for live.")] = "default",
    qconf: Annotated[Path | None, typer.Option("--qconf", help="The old qconf. Default: the one below --sge-root.")] = None,
    accounting: Annotated[
        Path | None, typer.Option("--accounting", help="Accounting file of the old cell, for qacct and the database.")
    ] = None,
    merge: Annotated[
        list[str] | None, typer.Option("--merge", metavar="NAME=PATTERN", help="Merge these queues of one host each.")
    ] = None,
    keep_queues: Annotated[
        bool, typer.Option("--keep-queues", help="Do not merge queues that differ in their host alone.")
    ] = False,
    leave_out: Annotated[
        list[str] | None,
        typer.Option("--leave-out", metavar="KIND/NAME[/ATTRIBUTE]", help="Skip this object or attribute; repeat."),
    ] = None,
    without_hosts: Annotated[
        list[str] | None, typer.Option("--without-host", metavar="HOST", help="Skip a host that no longer exists; repeat.")
    ] = None,
) -> None:
    """Import an existing Grid Engine's configuration: all of it in one transaction, or nothing. Other objects stay.
    """
    here = cell_of_environment(root, cell)
    select_cell(here)
    installed = read_cell(here)
    old = _read(source, sge_root, sge_cell, qconf)
    now = read_objects()
    made = convert_objects(old, now, frozenset(leave_out or ()))
    if missed := sorted(set(leave_out or ()) - made.left_out):
        made.faults.append(f"--leave-out {missed[0]}: the old configuration has nothing of this name")
    for name in without_hosts or ():
        if without_host(made.objects, name) == made.objects:
            made.faults.append(f"--without-host {name}: the old configuration has no such host")
    if made.faults:
        raise AdminError("\n".join([*made.faults, "nothing was changed: fix it there, or --leave-out KIND/NAME[/ATTRIBUTE]"]))
    joined = merge_queues(made.objects, _parse_merges(merge or []), not keep_queues)
    objects = _without_hosts(joined.objects, without_hosts or (), made.remarks)
    changes = changes_between(now, {kind: {**now.get(kind, {}), **objects.get(kind, {})} for kind in {**now, **objects}})
    status = _carry_out(changes, dry_run)
    _print(f'merged: queue "{queue}" is "{name}" on host {host} now: -q {name}@{host}' for queue, name, host in joined.queues)
    remarks = (*_remarks_on_own_objects(now, objects), *_remarks_on_other_data(old, installed))
    _print(f"note: {remark}" for remark in (*joined.remarks, *made.remarks, *remarks))
    if not status and not dry_run:
        _import_accounting(installed, accounting, old.last_job)
    raise typer.Exit(status)


def _read(source: str, sge_root: Path | None, sge_cell: str, qconf: Path | None) -> OldCell:
    if source != LIVE:
        return read_saved(Path(source))
    if sge_root is None:
        raise AdminError("live: give --sge-root DIRECTORY, the SGE_ROOT of the old cell")
    return read_live(sge_root, sge_cell, qconf)


def _without_hosts(objects: Objects, hosts: Iterable[str], remarks: list[str]) -> Objects:
    """Remove hosts after the merge, so that a queue of a removed host alone is merged first."""
    for host in hosts:
        objects = without_host(objects, host)
        remarks += [f"{what} still names the host {host}" for what, _ in quota_references(objects, host)]
    return objects


def _parse_merges(texts: list[str]) -> dict[str, str]:
    merges = {}
    for text in texts:
        name, sign, pattern = text.partition("=")
        if not (name and sign and pattern) or name in merges:
            raise AdminError(f'--merge "{text}": give NAME=PATTERN, each name once')
        merges[name] = pattern
    return merges


def _carry_out(changes: list[dict[str, Any]], dry_run: bool) -> int:
    if not changes:
        typer.echo(f"the cell has all of it, nothing {'would change' if dry_run else 'was changed'}")
        return 0
    if dry_run:
        return plan_changes(changes)
    carry_out_changes(changes)
    return 0


def _remarks_on_own_objects(now: Objects, objects: Objects) -> Iterable[str]:
    """Remarks on objects of this cell alone that accept jobs or grant rights."""
    for kind in ("cluster_queue", "host_group", "resource_quota", "manager", "operator"):
        for name in sorted(now.get(kind, {}).keys() - objects.get(kind, {}).keys()):
            yield f"{title(kind, name)} is of this cell alone and stays"


def _remarks_on_other_data(old: OldCell, installed: InstalledCell) -> Iterable[str]:
    """Remarks on data of an old cell outside its configuration."""
    for name in (name for name in _SAME_FILES if name in old.files):
        yield f"the file common/{name} is not taken: copy it, or parts of it, to {installed.files.common}"
    if "shadow_masters" in old.files:
        yield "the file common/shadow_masters is not taken: gridengine shadow add makes a host a master candidate"
    for name in old.unread:
        yield f"{name} was not read: it is no file of a configuration"
    if any(text.kind == "share_tree" and text.text.strip() for text in old.texts):
        yield "past usage of the share tree is not in a saved configuration: all users and projects start at zero"
    yield "jobs and reservations are not taken: let the old cell finish its jobs, and resubmit pending jobs"


def _import_accounting(installed: InstalledCell, file: Path | None, last_job: int) -> None:
    if file is None:
        if last_job:
            raise_job_numbers(last_job)
            typer.echo(f"jobs get numbers from {last_job + 1} on")
        return
    records = import_accounting(file, last_job)
    typer.echo(f"{file}: {records.added} records imported, {records.known} were known, {records.rejected} lines are no records")
    if records.first_rejected:
        typer.echo(f"{file}: no records, the first of them: line {', '.join(map(str, records.first_rejected))}", err=True)
    if records.clashing:
        typer.echo(f"{file}: {records.clashing} records were left out, as jobs of this cell have their numbers now", err=True)
    if has_database(installed):
        run_import(DbwriterClient(installed), file)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
