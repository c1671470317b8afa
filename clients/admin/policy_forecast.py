"""`gridengine policy forecast`: how often jobs started in the range of their forecast.

Owns the question; the qmaster has a sample of forecasts made every half hour. Source: adr/0330.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from clients.admin.cell import cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.policy_explain import ask
from clients.render.forecasts import calibration_lines


def forecast(
    sample: Annotated[bool, typer.Option("--sample", help="Make forecasts to compare now (managers, each ten minutes).")] = False,
    root: Root = None,
    cell: CellName = "default",
) -> None:
    """Show how often jobs started in the range of their forecast, by how far ahead it was."""
    here = read_cell(cell_of_environment(root, cell))
    os.environ.update(here.environment())
    if sample:
        ask("sample", [])
    for line in calibration_lines(ask("calibration", [])["classes"]):
        typer.echo(line)
