"""`gridengine policy explain`: the order of the pending jobs, and how the priority of a job came about.

Owns the question; `qexplain -priority` prints the same lines. Source: sge_priority(5); PR-1 … PR-9.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from clients import gdi
from clients.admin.cell import cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.errors import AdminError
from clients.render.forecasts import order_lines, overview_lines
from gridengine.values.printable import printable


def explain(
    job: Annotated[str, typer.Argument(help="Number, name or pattern of jobs; without it the order of all.")] = "",
    root: Root = None,
    cell: CellName = "default",
) -> None:
    """Explain the order of pending jobs by weights, tickets and urgency; of a job in detail."""
    here = read_cell(cell_of_environment(root, cell))
    os.environ.update(here.environment())
    data = ask("order", [job] if job else [])
    for target in data["unknown"]:
        raise AdminError(f'job "{target}" does not exist')
    jobs = printable(data["jobs"])
    lines = [line for each in jobs for line in order_lines(each)] if job else [*overview_lines(printable(data["order"]))]
    for line in lines:
        typer.echo(line)


def ask(about: str, targets: list[str]) -> Any:
    """The data of the request `forecast` in the cell of the environment. Raises AdminError."""
    try:
        answer = gdi.call("forecast", {"about": about, "jobs": targets})
    except gdi.Unreachable as error:
        raise AdminError(str(error)) from None
    if answer.status:
        raise AdminError("; ".join(text for _, text in answer.answers))
    return answer.data
