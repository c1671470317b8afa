"""Rows of a question as the JSON text of its answer, as many of them as fit.

Owns how values are written, and the largest size of an answer. Called in the process that answers a question.
Source: gridengine/arco.py; adr/0177.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal

from daemons.dbwriter.database import Result
from gridengine import arco


def answer_text(found: Result, most: int, more_fields: Mapping[str, object]) -> bytes:
    """`columns`, `types`, `rows`, `more`, `too_large` and `more_fields` as a JSON object.

    most: rows at most. The text of all rows has `arco.ANSWER_BYTES` at most, whatever their number.
    """
    rows: list[str] = []
    size, more, too_large = 0, False, False
    for row in found.rows:
        if len(rows) == most:
            more = True
            break
        text = _row_text(row)
        size += len(text.encode()) + 1
        if size > arco.ANSWER_BYTES:
            more = too_large = True
            break
        rows.append(text)
    head = {"columns": found.columns, "types": found.types, "more": more, "too_large": too_large, **more_fields}
    return f'{json.dumps(head)[:-1]}, "rows": [{",".join(rows)}]}}'.encode()


def _row_text(row: tuple[object, ...]) -> str:
    finite = [str(value) if isinstance(value, float) and value - value != 0 else value for value in row]
    return json.dumps(finite, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
