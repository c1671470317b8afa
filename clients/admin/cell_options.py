"""The options of several sub-commands that select the cell. Called by `cell_commands` and `daemon_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Root = Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells, seen by all hosts.")]
CellName = Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")]
