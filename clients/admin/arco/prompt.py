r"""A prompt for SQL that only reads: statements end with `;`, `\d` shows what there is, `\q` ends it.

Called by `gridengine arco sql`.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from rich.console import Console

from clients.admin.arco.link import Link
from clients.admin.arco.tables import print_table
from clients.admin.refusal import Refusal
from gridengine import arco

_TABLES = (
    "SELECT table_name AS name, CASE WHEN table_type = 'VIEW' THEN 'view' ELSE 'table' END AS kind "
    "FROM information_schema.tables "
    "WHERE table_name LIKE 'sge\\_%' ESCAPE '\\' OR table_name LIKE 'view\\_%' ESCAPE '\\' ORDER BY 2, 1"
)
_COLUMNS = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '{}' ORDER BY ordinal_position"


def run_prompt(link: Link, console: Console) -> None:
    """Ask until the end of the input."""
    with suppress(ImportError):  # lines can be edited and called back where Python has it
        import readline  # noqa: F401
    if sys.stdin.isatty():
        console.print(r"SQL that only reads, ended by ; — \d shows tables and views, \d NAME columns, \q ends", markup=False)
    statement = ""
    while True:
        try:
            line = _line("arco> " if not statement else "  ... ")
        except EOFError:
            if statement.strip():
                _answer(link, console, statement)
            return
        except KeyboardInterrupt:
            statement = ""
            console.print()
            continue
        if not statement and line.strip().startswith("\\"):
            if line.strip() in ("\\q", "\\quit"):
                return
            _describe(link, console, line.strip())
            continue
        statement += f"{line}\n"
        if line.rstrip().endswith(";"):
            _answer(link, console, statement)
            statement = ""


def _line(prompt: str) -> str:
    if sys.stdin.isatty():
        return input(prompt)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _describe(link: Link, console: Console, line: str) -> None:
    command, _, name = line.partition(" ")
    if command != "\\d":
        console.print(f"{command} is not known here: \\d, \\d NAME, \\q", markup=False, highlight=False)
    elif not name.strip():
        _answer(link, console, _TABLES)
    elif name.strip().isidentifier():
        _answer(link, console, _COLUMNS.format(name.strip()))
    else:
        console.print(f"{name} is no name of a table", markup=False, highlight=False)


def _answer(link: Link, console: Console, statement: str) -> None:
    try:
        print_table(console, link.rows(arco.SQL, sql=statement))
    except Refusal as refusal:
        console.print(str(refusal), markup=False, highlight=False, soft_wrap=True)
