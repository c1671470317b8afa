"""The commands of `gridengine arco`: usage by users, projects, hosts and reservations.

Owns the command lines and the texts. sge_dbwriter runs the queries; the commands use its socket. Called by `program`.
Source: DB-22.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from clients.admin.arco.dbwriter_client import Answer, DbwriterClient
from clients.admin.arco.prompt import run_prompt
from clients.admin.arco.tables import as_json, pivot_rows, plain_lines, print_table
from clients.admin.cell import cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.errors import AdminError
from gridengine.extensions import require_libraries
from gridengine.protocols import arco as contract
from gridengine.protocols.arco_rows import csv_text

arco = typer.Typer(help="Query the accounting database: stored queries, SQL, exports, plots; import old accounting files.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A stored query, or the beginning of its name.")]
Values = Annotated[list[str] | None, typer.Argument(metavar="FIELD=VALUE", help="Values of the query's fields.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write. Default: standard output.")]
_POLL_S = 0.5


@arco.callback()
def select_cell(
    context: typer.Context,
    root: Root = None,
    name: CellName = "default",
) -> None:
    """Select the cell for all sub-commands."""
    require_libraries("arco")
    context.obj = DbwriterClient(read_cell(cell_of_environment(root, name)))


@arco.command("list")
def list_queries(context: typer.Context) -> None:
    """Show the stored queries with their fields."""
    answer = context.obj.ask(contract.QUERIES)
    rows = [[query["category"], query["name"], _fields_of(query), query["description"]] for query in answer["queries"]]
    for line in plain_lines(["category", "name", "fields", "what it shows"], ["text"] * 4, sorted(rows)):
        typer.echo(line)
    for fault in answer["faults"]:
        typer.echo(f"gridengine: {fault}", err=True)


@arco.command()
def run(
    context: typer.Context,
    name: Name,
    values: Values = None,
    flat: Annotated[bool, typer.Option("--flat", help="Do not pivot the rows.")] = False,
) -> None:
    """Run a stored query and print a table; for some queries with a column for each month."""
    answer = run_stored_query(context.obj, name, values)
    print_table(_console(), answer if flat else pivot_rows(answer))


@arco.command()
def export(
    context: typer.Context,
    name: Name,
    values: Values = None,
    form: Annotated[Literal["csv", "json"], typer.Option("--format", help="Times in ISO form, intervals in seconds.")] = "csv",
    output: Output = None,
) -> None:
    """Run a stored query and write all rows into a file."""
    answer = run_stored_query(context.obj, name, values)
    if answer.too_large:
        raise AdminError(f"the answer is larger than {contract.ANSWER_BYTES >> 20} MB: ask for less")
    if answer.more:
        raise AdminError(f"there are more than {len(answer.rows)} rows: ask for less")
    text = csv_text(answer.columns, answer.rows) if form == "csv" else as_json(answer)
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text)
    except OSError as error:
        raise AdminError(f"cannot write {output}: {error.strerror}") from None
    typer.echo(f"{output}: {len(answer.rows)} rows")


@arco.command()
def plot(
    context: typer.Context,
    name: Name,
    values: Values = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture to write, as .png or .svg.")] = Path("plot.png"),
) -> None:
    """Run a stored query and draw its rows."""
    # else the first import on a host prints that it builds a cache of fonts
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from clients.admin.arco.plots import draw, save  # takes half a second: only for plots

    query = find_query(context.obj, name)
    answer = context.obj.rows(contract.RUN, query=query, values=parse_values(values))
    save(draw(answer, query, answer.plot), output)
    typer.echo(str(output))


@arco.command()
def sql(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="SQL", help="The question. Default: a prompt.")] = None,
) -> None:
    """Run custom SQL, which can only read."""
    if text is None:
        run_prompt(context.obj, _console())
    else:
        print_table(_console(), context.obj.rows(contract.SQL, sql=text))


@arco.command("import")
def import_file(context: typer.Context, file: Annotated[Path, typer.Argument(help="An accounting file.")]) -> None:
    """Import an old accounting file into the database. An interrupted import can be continued."""
    run_import(context.obj, file)


def run_import(dbwriter_client: DbwriterClient, file: Path) -> None:
    """Import a file into the database, and print the result. AdminError: the file cannot be read."""
    path = os.path.abspath(file)
    dbwriter_client.ask(contract.IMPORT, path=path)
    console = Console(stderr=True)
    rate = TextColumn("{task.fields[rate]}")
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), rate, TimeRemainingColumn()
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            ended = _follow_import(dbwriter_client, path, progress)
    except KeyboardInterrupt:
        raise AdminError(f"the import goes on in sge_dbwriter: gridengine arco status shows how far it is ({path})") from None
    for line, reason in ended["rejected"]:
        typer.echo(f"{path}, line {line}: {reason}", err=True)
    hidden = ended["rejections"] - len(ended["rejected"])
    if hidden:
        typer.echo(f"{path}: {hidden} lines more are no records (table sge_rejected_line has all)", err=True)
    if ended["state"] != "done":
        raise AdminError(ended["state"])
    typer.echo(
        f"{path}: {ended['records']} records imported, {ended['known']} were there already, {ended['rejections']} lines are none"
    )


@arco.command()
def status(context: typer.Context) -> None:
    """Show how far the database is behind the cell. Exit code 1 while the database cannot be written."""
    now = context.obj.ask(contract.STATUS)
    typer.echo(f"database {now['database']}, schema {now['schema']}, {now['lines']} lines read since the start")
    typer.echo(f"{now['behind']} bytes of the reporting file are still to be read")
    for one in now["imports"]:
        typer.echo(f"import of {one['path']}: {one['state']}, {one['bytes']} of {one['size']} bytes, {one['records']} records")
    if now["fault"]:
        raise AdminError(f"the database cannot be written now, retrying: {now['fault']}")


def run_stored_query(dbwriter_client: DbwriterClient, name: str, values: list[str] | None) -> Answer:
    """The rows of a stored query. AdminError: unknown query, or an invalid value."""
    return dbwriter_client.rows(contract.RUN, query=find_query(dbwriter_client, name), values=parse_values(values))


def find_query(dbwriter_client: DbwriterClient, name: str) -> str:
    """The name of the query with this name, or with this beginning of its name. AdminError: several match."""
    names = [query["name"] for query in dbwriter_client.ask(contract.QUERIES)["queries"]]
    prefix = " ".join(name.lower().split())
    matches = [one for one in names if one.lower() == prefix] or [one for one in names if one.lower().startswith(prefix)]
    if len(matches) > 1:
        raise AdminError(f'"{name}" can be: {", ".join(matches)}')
    return matches[0] if matches else name


def parse_values(texts: list[str] | None) -> dict[str, str]:
    """The dictionary of `FIELD=VALUE` arguments. AdminError: an argument has no `=`."""
    given = {}
    for text in texts or []:
        field, sign, value = text.partition("=")
        if not sign:
            raise AdminError(f'"{text}": say FIELD=VALUE')
        given[field] = value
    return given


def _fields_of(query: dict[str, Any]) -> str:
    """The fields as `ar_number days=31`: fields with a default are optional."""
    return " ".join(
        field["name"] if field["default"] is None else f"{field['name']}={field['default']}" for field in query["fields"]
    )


def _follow_import(dbwriter_client: DbwriterClient, path: str, progress: Progress) -> dict[str, Any]:
    """Show the progress of an import until its end."""
    task = progress.add_task(os.path.basename(path), total=None, rate="")
    begin = time.monotonic()
    while True:
        imports = dbwriter_client.ask(contract.STATUS)["imports"]
        newest: dict[str, Any] = next(each for each in reversed(imports) if each["path"] == path)
        rate = f"{(newest['records'] + newest['known']) / max(time.monotonic() - begin, 0.1):.0f} records/s"
        progress.update(task, total=newest["size"] or None, completed=newest["bytes"], rate=rate)
        if newest["state"] not in ("waiting", "running"):
            return newest
        time.sleep(_POLL_S)


def _console() -> Console:
    return Console(soft_wrap=False)
