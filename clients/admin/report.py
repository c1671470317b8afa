"""`gridengine report`: usage, waiting times, efficiency and failures of a period, from the accounting file of the cell.

Owns the output. The page Reports has the same figures; no web server and no database is needed. Called by `program`.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from typing import Annotated, Any, Literal

import typer

from clients import gdi
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.errors import AdminError
from gridengine.errors import InvalidValueError
from gridengine.files.accounting_end import AccountingEnd
from gridengine.usage.periods import LAST_MONTH, parse_period
from gridengine.usage.report import Tables
from gridengine.usage.report_form import CSV_COLUMNS, Basis, Report, as_html, as_json, as_text, basis_of, csv_rows

_PERIOD = "last-month, month, 30d, 2026-10, or 2026-10-01..2026-10-15."


def report(
    root: Root = None,
    cell: CellName = "default",
    by: Annotated[Literal["user", "project", "queue", "host"], typer.Option(help="The groups of the report.")] = "user",
    period: Annotated[str, typer.Option(help=f"The period: {_PERIOD}")] = LAST_MONTH,
    form: Annotated[Literal["text", "csv", "html", "json"], typer.Option("--format", help="The form of the output.")] = "text",
) -> None:
    """Report utilisation, waiting times, efficiency and failures of a period, compared with the period before."""
    here = read_cell(cell_of_environment(root, cell))
    os.environ.update(here.environment())
    made, name = _report(here, by, period), here.files.name
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        writer.writerows(csv_rows(made))
    elif form == "json":
        typer.echo(json.dumps(as_json(made), indent=2))
    else:
        typer.echo((as_html if form == "html" else as_text)(made, name, None), nl=False)


def _report(cell: InstalledCell, by: str, text: str) -> Report:
    """AdminError: an invalid period, or a file that cannot be read."""
    path = cell.files.common / "accounting"
    try:
        period, before = parse_period(text, time.time(), None)
        end = AccountingEnd(path, before.begin)
        tables = Tables(by, [period, before])
        tables.add_lines(end.lines())
    except InvalidValueError as fault:
        raise AdminError(f"--period: {fault}") from None
    except OSError as error:
        raise AdminError(f"cannot read {path}: {error.strerror}") from None
    table, table_before = tables.tables()
    return Report(by, period, before, table, table_before, end.first, end.reaches_back, tables.faults, _basis())


def _basis() -> Basis:
    """The present slots and targets; without a qmaster none, with a line on stderr."""
    try:
        answer = gdi.call("status", {"queues": {}, "share_tree": {}})
    except gdi.Unreachable as error:
        typer.echo(f"{error}\nthe report has no utilisation and no targets", err=True)
        return basis_of((), None)
    data: Any = answer.data or {"queues": [], "share_tree": None}
    return basis_of(((row["name"], row["total"]) for row in data["queues"]), data["share_tree"])
