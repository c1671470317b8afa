"""Rows of a question as the JSON text of its answer, as many of them as fit.

Owns how values are written, and the largest size of an answer. Called in the process that answers a question.
Source: gridengine/arco.py; adr/0177.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from daemons.dbwriter.database import Result
from gridengine import arco
from gridengine.arco_rows import cut


class Shape(NamedTuple):
    """What an answer has at most: rows, bytes of the text of all of them, characters of a text in a cell (0: as it is)."""

    rows: int = arco.ROWS
    bytes: int = arco.ANSWER_BYTES
    cell: int = 0


WHOLE = Shape()


def answer_text(found: Result, shape: Shape, more_fields: Mapping[str, object]) -> bytes:
    """`columns`, `types`, `rows`, `more`, `too_large` and `more_fields` as a JSON object."""
    rows: list[str] = []
    size, more, too_large = 0, False, False
    for row in found.rows:
        if len(rows) == shape.rows:
            more = True
            break
        text = _row_text(row, shape.cell)
        size += len(text.encode()) + 1
        if size > shape.bytes:
            more = too_large = True
            break
        rows.append(text)
    head = {"columns": found.columns, "types": found.types, "more": more, "too_large": too_large, **more_fields}
    return f'{json.dumps(head)[:-1]}, "rows": [{",".join(rows)}]}}'.encode()


def _row_text(row: tuple[object, ...], cell: int) -> str:
    finite = [str(value) if isinstance(value, float) and value - value != 0 else value for value in row]
    if cell:
        finite = [_cut(value, cell) for value in finite]
    return json.dumps(finite, default=_plain, ensure_ascii=False)


def _cut(value: object, cell: int) -> object:
    """Lists, structures and the like are cut as their text."""
    if value is None or isinstance(value, (bool, int, float, Decimal, date, timedelta)):
        return value
    return cut(str(value), cell)


def _plain(value: object) -> object:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
