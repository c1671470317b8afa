"""The options of sub-commands that select the cell. Called by most sub-commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clients.admin.cell import cell_of_environment, select_cell

Root = Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")]
CellName = Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")]


def read_cell_options(context: typer.Context, root: Root = None, name: CellName = "default") -> None:
    """Select the cell, for all sub-commands of a group, and for requests to its qmaster."""
    context.obj = cell_of_environment(root, name)
    select_cell(context.obj)
