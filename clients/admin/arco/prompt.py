r"""A prompt for read-only SQL: statements end with `;`, `\d` lists tables and views, `\q` quits.

Called by `gridengine arco sql`.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from rich.console import Console

from clients.admin.arco.dbwriter_client import DbwriterClient
from clients.admin.arco.tables import print_table
from clients.admin.errors import AdminError
from gridengine.protocols import arco

_TABLES = (
    "SELECT table_name AS name, CASE WHEN table_type = 'VIEW' THEN 'view' ELSE 'table' END AS kind "
    "FROM information_schema.tables "
    "WHERE table_name LIKE 'sge\\_%' ESCAPE '\\' OR table_name LIKE 'view\\_%' ESCAPE '\\' ORDER BY 2, 1"
)
_COLUMNS = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '{}' ORDER BY ordinal_position"


def run_prompt(dbwriter_client: DbwriterClient, console: Console) -> None:
    """Read and run statements until the end of the input."""
    with suppress(ImportError):  # optional: editing and history of lines
        import readline  # noqa: F401
    if sys.stdin.isatty():
        console.print(r"Read-only SQL, ended by ; — \d lists tables and views, \d NAME columns, \q quits", markup=False)
    statement = ""
    while True:
        try:
            line = _read_line("arco> " if not statement else "  ... ")
        except EOFError:
            if statement.strip():
                _print_answer(dbwriter_client, console, statement)
            return
        except KeyboardInterrupt:
            statement = ""
            console.print()
            continue
        if not statement and line.strip().startswith("\\"):
            if line.strip() in ("\\q", "\\quit"):
                return
            _describe(dbwriter_client, console, line.strip())
            continue
        statement += f"{line}\n"
        if line.rstrip().endswith(";"):
            _print_answer(dbwriter_client, console, statement)
            statement = ""


def _read_line(prompt: str) -> str:
    if sys.stdin.isatty():
        return input(prompt)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _describe(dbwriter_client: DbwriterClient, console: Console, line: str) -> None:
    command, _, name = line.partition(" ")
    if command != "\\d":
        console.print(f"{command} is not known here: \\d, \\d NAME, \\q", markup=False, highlight=False)
    elif not name.strip():
        _print_answer(dbwriter_client, console, _TABLES)
    elif name.strip().isidentifier():
        _print_answer(dbwriter_client, console, _COLUMNS.format(name.strip()))
    else:
        console.print(f"{name} is no name of a table", markup=False, highlight=False)


def _print_answer(dbwriter_client: DbwriterClient, console: Console, statement: str) -> None:
    try:
        print_table(console, dbwriter_client.rows(arco.SQL, sql=statement))
    except AdminError as refusal:
        console.print(str(refusal), markup=False, highlight=False, soft_wrap=True)
