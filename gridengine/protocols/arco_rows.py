"""Print forms of the database's values, for people and for programs, the same in a terminal and in a browser.

Pure, except for the time zone of this process. Called by the commands of `gridengine arco` and the pages of accounting.
Source: DB-22.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from gridengine.values.printable import printable

#: first characters of a formula in a spreadsheet
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def format_value(value: Any, kind: str) -> str:
    """A value for people: local times, h:mm:ss, numbers without insignificant digits."""
    if value is None:
        return ""
    if kind == "time":
        moment = datetime.fromisoformat(value).astimezone()
        return f"{moment:%Y-%m-%d %H:%M:%S}"
    if kind == "interval":
        return format_interval(value)
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(printable(" ".join(str(value).split())))  # the name of a job must not control the terminal


def truncate(text: str, max_length: int) -> str:
    """A text of at most `max_length` characters, the last of them `…` if it was cut."""
    return text if len(text) <= max_length else f"{text[: max(0, max_length - 1)]}…"


def format_interval(seconds: float) -> str:
    """`26:03:04`, to the second."""
    sign, whole = ("-" if seconds < 0 else ""), abs(round(seconds))
    return f"{sign}{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """RFC 4180 with a line of names; times in ISO form, intervals in seconds. No text is a formula for a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([without_formula(name) for name in columns])
    writer.writerows([["" if value is None else without_formula(value) for value in row] for row in rows])
    return text.getvalue()


def without_formula(value: Any) -> Any:
    """A cell that a spreadsheet shows and does not compute, since users choose names of jobs. Numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
