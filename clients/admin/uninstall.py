"""`gridengine uninstall`: removes a cell from this host.

Owns the list of a cell's files on one host, and of the kept files. Running daemons are stopped only on request, and tasks only if
their spool is purged too. The configuration of the cell (`gridengine host remove`) and the installed programs are not changed.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import typer

from clients.admin.cell import InstalledCell
from clients.admin.errors import AdminError
from clients.admin.installation import find_installation
from clients.admin.local_daemons import STOP_S, LocalDaemon, daemons_of_this_machine, is_master_here, process_of, stop
from clients.admin.systemd_units import units_of
from gridengine.errors import plain_fault
from gridengine.values.units import counted

_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Remains:
    """The files and processes of a cell on this host. `kept`: removed only with --purge; `shared`: possibly in use by other
    hosts.
    """

    daemons: tuple[LocalDaemon, ...]
    tasks: tuple[Path, ...]
    removed: tuple[Path, ...]
    kept: tuple[Path, ...]
    shared: tuple[Path, ...]


def uninstall(cell: InstalledCell, yes: bool, end: bool, purge: bool) -> None:
    """Show the files and processes of a cell on this host, and remove them. AdminError: processes run, or the user did not
    confirm.
    """
    left = remains(cell)
    for verb, paths in (("removes", left.removed), ("removes" if purge else "keeps", left.kept), ("leaves", left.shared)):
        for path in paths:
            typer.echo(f"{verb:<8} {path}")
    for daemon in left.daemons:
        typer.echo(f"{'ends' if end else 'runs':<8} {daemon}")
    for task in left.tasks:
        typer.echo(f"{'ends' if end and purge else 'runs':<8} task {task.name}")
    if left.tasks and not (end and purge):
        raise AdminError(
            f"this host runs {counted(len(left.tasks), 'task')}: drain it and wait until no task runs, or qdel them; "
            "if the cell no longer knows this host, --stop --purge ends them"
        )
    if left.daemons and not end:
        raise AdminError("daemons run on this host: gridengine stop, or --stop")
    if not yes and not (sys.stdin.isatty() and typer.confirm("Remove all this?")):
        raise AdminError("nothing was changed (--yes removes it)")
    stop(left.daemons)
    for task in left.tasks:
        _end(task)
    for path in (*left.removed, *(left.kept if purge else ())):
        _remove(path)
    for empty in (cell.execd_spool_dir, cell.qmaster_spool_dir.parent, cell.files.directory):
        with suppress(OSError):  # other files are there
            empty.rmdir()
    if not any(cell.files.root.glob("*/common")) and not left.shared:
        typer.echo(
            f"no cell is left in {cell.files.root}, which may be removed; the programs in {find_installation().bin} stay, "
            "for other cells"
        )


def remains(cell: InstalledCell) -> Remains:
    """The files and processes of a cell on this host."""
    execds = sorted(path for path in cell.execd_spool_dir.glob("*") if path.is_dir())
    tasks = [path for each in execds for path in each.glob("active_jobs/*")]
    beside = cell.qmaster_spool_dir.parent
    spools = [cell.qmaster_spool_dir, beside / "dbwriter", beside / "web", *execds]
    common = (cell.files.common,) if cell.files.common.exists() else ()
    ours = is_master_here(cell) or not cell.files.initial_config.exists()  # a host that joined by a token has its own copy
    removed = [*units_of(cell.files), *([cell.run_dir] if cell.run_dir.exists() else []), *(common if ours else ())]
    return Remains(
        tuple(daemon for daemon in daemons_of_this_machine(cell) if process_of(daemon) is not None),
        tuple(path for path in tasks if _runs(path)),
        tuple(removed),
        tuple(path for path in spools if path.exists()),
        () if ours else common,
    )


def _runs(task: Path) -> bool:
    return process_of(_shepherd_of(task)) is not None and not (task / "exit").exists()


def _end(task: Path) -> None:
    """Have a task's shepherd kill it, as an execd does (docs/architecture.md section 5.2). AdminError: the task does not end."""
    if (shepherd := process_of(_shepherd_of(task))) is None:
        return
    try:
        with (task / "commands").open("a") as commands:
            commands.write("kill\n")
        shepherd.send_signal(signal.SIGRTMIN)
        until = time.monotonic() + STOP_S
        while _runs(task):
            if time.monotonic() > until:
                raise AdminError(f"task {task.name} does not end: kill process {shepherd.pid} and its children")
            time.sleep(_LOOK_S)
    except psutil.NoSuchProcess:
        pass  # it has just ended
    except OSError as error:
        if task.exists():
            raise AdminError(f"task {task.name} cannot be ended: {plain_fault(error)}") from error


def _shepherd_of(task: Path) -> LocalDaemon:
    return LocalDaemon("sge_shepherd", task.name, task / "pid", task)


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    except OSError as error:
        raise AdminError(f"cannot remove {error.filename or path}: {error.strerror}") from error
