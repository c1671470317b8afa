"""The rows of a query as the JSON text of its answer, up to a size limit.

Owns the text form of values, and the largest size of an answer. Called in the process that runs a query.
Source: gridengine/protocols/arco.py; adr/0177.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from daemons.dbwriter.database import Result
from gridengine.protocols import arco
from gridengine.protocols.arco_rows import truncate


class AnswerLimits(NamedTuple):
    """Limits of an answer: `rows`, `bytes` of the text of all rows, characters of one text (`text_length`, 0: no limit)."""

    rows: int = arco.ROWS
    bytes: int = arco.ANSWER_BYTES
    text_length: int = 0


DEFAULT_LIMITS = AnswerLimits()


def answer_text(result: Result, answer_limits: AnswerLimits, more_fields: Mapping[str, object]) -> bytes:
    """`columns`, `types`, `rows`, `more`, `too_large` and `more_fields` as a JSON object."""
    rows: list[str] = []
    size, more, too_large = 0, False, False
    for row in result.rows:
        if len(rows) == answer_limits.rows:
            more = True
            break
        text = _row_text(row, answer_limits.text_length)
        size += len(text.encode()) + 1
        if size > answer_limits.bytes:
            more = too_large = True
            break
        rows.append(text)
    head = {"columns": result.columns, "types": result.types, "more": more, "too_large": too_large, **more_fields}
    return f'{json.dumps(head)[:-1]}, "rows": [{",".join(rows)}]}}'.encode()


def _row_text(row: tuple[object, ...], text_length: int) -> str:
    values = [str(value) if isinstance(value, float) and value - value != 0 else value for value in row]
    if text_length:
        values = [_shorten(value, text_length) for value in values]
    return json.dumps(values, default=_json_value, ensure_ascii=False)


def _shorten(value: object, text_length: int) -> object:
    """Shorten texts; lists and structures by their text form."""
    if value is None or isinstance(value, (bool, int, float, Decimal, date, timedelta)):
        return value
    return truncate(str(value), text_length)


def _json_value(value: object) -> object:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
