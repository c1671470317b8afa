"""`gridengine backup`, `verify` and `restore`: a cell in one file.

Owns the options and what they mean to a person; the work is that of the program `sge_backup`, which knows the spool and takes
over the process. Called by `program`. Source: docs/operations.md.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from clients.admin.cell import CellFiles, InstalledCell, cell_of_environment
from clients.admin.installation import find_installation
from clients.admin.refusal import Refusal

BACKUP = "sge_backup"
RESTORE_PLAN = "restore-plan"
"""In `common/`: a restore that has begun and is to be completed."""

Root = Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")]
CellName = Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")]
File = Annotated[Path, typer.Argument(help="The backup.")]


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write. It holds the keys of the cell: keep it closed.")],
    root: Root = None,
    cell: CellName = "default",
    accounting: Annotated[
        bool, typer.Option("--accounting", help="With common/accounting and common/reporting, which may be large.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Save the cell in one file, on the master host: spool, common directory and keys. It may run."""
    _hand_over("backup", file, {"--accounting": accounting, "--force": force}, cell_of_environment(root, cell))


def verify(file: File) -> None:
    """Look whether a backup is whole, and what it holds; on any machine. Exit code 1: it is damaged."""
    _hand_over("verify", file, {}, None)


def restore(
    file: File,
    root: Root = None,
    cell: CellName = "default",
    force: Annotated[
        bool,
        typer.Option("--force", help="Also a backup of another cell, place or master host, or with a spool that breaks a law."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Make a backup the cell, which must not run. What it replaces is kept, as NAME.before-restore-TIME."""
    _hand_over("restore", file, {"--force": force, "--dry-run": dry_run}, cell_of_environment(root, cell))


def complete_restore(cell: InstalledCell) -> None:
    """Complete a restore that was interrupted; nothing without one. Refusal: it cannot."""
    if not (cell.files.common / RESTORE_PLAN).exists():
        return
    command = [find_installation().program(BACKUP), "complete"]
    done = subprocess.run(command, env={**os.environ, **cell.environment()}, capture_output=True, text=True)
    if done.returncode:
        raise Refusal(done.stderr.strip().removeprefix("gridengine: "))
    typer.echo(done.stdout, nl=False)


def _hand_over(command: str, file: Path, options: dict[str, bool], files: CellFiles | None) -> NoReturn:
    """Become the program. `files`: of the cell, None where none is needed."""
    program = find_installation().program(BACKUP)
    said = [option for option, given in options.items() if given]
    variables = {} if files is None else {"SGE_ROOT": str(files.root), "SGE_CELL": files.name}
    os.execve(program, [program, command, *said, "--", str(file)], {**os.environ, **variables})
