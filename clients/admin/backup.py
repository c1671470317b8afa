"""`gridengine backup`, `verify` and `restore`: a whole cell in one file.

Owns the options. The program `sge_backup`, which knows the spool, replaces this process and does the work. Called by `program`.
Source: docs/operations.md.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from clients.admin.cell import CellFiles, InstalledCell, cell_of_environment
from clients.admin.cell_options import CellName, Root
from clients.admin.errors import AdminError
from clients.admin.installation import find_installation

BACKUP = "sge_backup"
RESTORE_PLAN = "restore-plan"
"""In `common/`: the plan of a restore that has begun and must be completed."""

File = Annotated[Path, typer.Argument(help="The backup file.")]


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write. It holds the keys of the cell: keep it closed.")],
    root: Root = None,
    cell: CellName = "default",
    accounting: Annotated[
        bool, typer.Option("--accounting", help="With common/accounting and common/reporting, which may be large.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Save the cell in one file, on the master host: spool, common directory and keys. The cell may run."""
    _run_program("backup", file, {"--accounting": accounting, "--force": force}, cell_of_environment(root, cell))


def verify(file: File) -> None:
    """Check whether a backup is complete, and list its contents; on any machine. Exit code 1: the backup is damaged."""
    _run_program("verify", file, {}, None)


def restore(
    file: File,
    root: Root = None,
    cell: CellName = "default",
    force: Annotated[
        bool,
        typer.Option("--force", help="Accept a backup of another cell, directory or master host, or with an invalid spool."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the changes.")] = False,
) -> None:
    """Restore a cell, which must not run, from a backup. Replaced files are kept as NAME.before-restore-TIME."""
    _run_program("restore", file, {"--force": force, "--dry-run": dry_run}, cell_of_environment(root, cell))


def complete_restore(cell: InstalledCell) -> None:
    """Complete an interrupted restore, if there is one. AdminError: the restore cannot be completed."""
    if not (cell.files.common / RESTORE_PLAN).exists():
        return
    command = [find_installation().program(BACKUP), "complete"]
    done = subprocess.run(command, env={**os.environ, **cell.environment()}, capture_output=True, text=True)
    if done.returncode:
        raise AdminError(done.stderr.strip().removeprefix("gridengine: "))
    typer.echo(done.stdout, nl=False)


def _run_program(command: str, file: Path, options: dict[str, bool], files: CellFiles | None) -> NoReturn:
    """Replace this process by the program. `files`: of the cell, None if no cell is needed."""
    program = find_installation().program(BACKUP)
    flags = [option for option, given in options.items() if given]
    variables = {} if files is None else {"SGE_ROOT": str(files.root), "SGE_CELL": files.name}
    os.execve(program, [program, command, *flags, "--", str(file)], {**os.environ, **variables})
