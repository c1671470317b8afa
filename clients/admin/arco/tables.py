"""Rows as a table for users, or as JSON for programs.

The format of a value is that of `gridengine/protocols/arco_rows.py`. Called by the commands of `gridengine arco`. Source: DB-22.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clients.admin.arco.dbwriter_client import Answer
from clients.admin.errors import AdminError
from gridengine.protocols.arco_rows import format_value

_RIGHT = ("number", "interval")
_MAX_SHOWN = 1000
"""Rows of a printed table; files have all rows."""


def print_table(console: Console, answer: Answer, most: int = _MAX_SHOWN) -> None:
    """Print a table: with lines on a terminal, in plain columns elsewhere."""
    texts = [[format_value(value, kind) for value, kind in zip(row, answer.types, strict=True)] for row in answer.rows[:most]]
    if console.is_terminal:
        table = Table(header_style="bold")
        for name, kind in zip(answer.columns, answer.types, strict=True):
            table.add_column(name, justify="right" if kind in _RIGHT else "left", overflow="fold")
        for row in texts:
            table.add_row(*map(Text, row))  # Text: brackets are not markup
        console.print(table)
    else:
        for line in plain_lines(answer.columns, answer.types, texts):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    count = len(answer.rows)
    if answer.more or count > most:
        left = f" of {'more than ' * answer.more}{count}" if count > most else ""
        text = f"the first {min(count, most)}{left} rows are shown: ask for less, or export them"
        console.print(text, markup=False, highlight=False)
    elif not count:
        console.print("no rows", markup=False, highlight=False)


def pivot_rows(answer: Answer) -> Answer:
    """Pivot the rows: a row for each value of one column and each figure, a column for each value of another column.

    A query without a pivot keeps its rows. AdminError: the pivot names unknown columns.
    """
    pivot = answer.pivot
    if not pivot:
        return answer
    missing = [name for name in (pivot["rows"], pivot["columns"], *pivot["values"]) if name not in answer.columns]
    if missing:
        raise AdminError(f"the pivot needs a column {missing[0]}; the query has {', '.join(answer.columns)}")
    rows, columns, *values = map(answer.columns.index, (pivot["rows"], pivot["columns"], *pivot["values"]))
    heads = list(dict.fromkeys(row[columns] for row in answer.rows))
    cells = {(row[rows], row[columns]): row for row in answer.rows}
    turned = [
        [key, answer.columns[value], *(cells[key, head][value] if (key, head) in cells else None for head in heads)]
        for key in sorted({row[rows] for row in answer.rows}, key=lambda key: (key is None, key))
        for value in values
    ]
    names = [answer.columns[rows], "", *_headings(heads, answer.types[columns])]
    return Answer(names, [answer.types[rows], "text", *["number"] * len(heads)], turned, answer.more)


def _headings(heads: Sequence[Any], kind: str) -> list[str]:
    texts = [format_value(head, kind) for head in heads]
    months = kind == "date" and all(text.endswith("-01") for text in texts)
    return [text[:-3] for text in texts] if months else texts


def plain_lines(columns: Sequence[str], types: Sequence[str], texts: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table: columns with two spaces between them, numbers aligned right."""
    widths = [max([len(name), *(len(row[index]) for row in texts)]) for index, name in enumerate(columns)]

    def line(cells: Sequence[str]) -> str:
        parts = [
            cell.rjust(width) if kind in _RIGHT else cell.ljust(width)
            for cell, width, kind in zip(cells, widths, types, strict=True)
        ]
        return "  ".join(parts).rstrip()

    return [line(columns), line(["-" * width for width in widths]), *(line(row) for row in texts)]


def as_json(answer: Answer) -> str:
    """A JSON list of objects, one for each row, with a key for each column."""
    return json.dumps([dict(zip(answer.columns, row, strict=True)) for row in answer.rows], indent=1, ensure_ascii=False) + "\n"
