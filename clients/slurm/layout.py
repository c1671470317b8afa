"""Formats of squeue and sinfo: `%.18i %9P`, one code for each column.

Owns the grammar, `%[[.]WIDTH]CODE`; each command has its own codes. Source: squeue(1) of 22.05 --format.
"""

import re

from clients.slurm.arguments import SlurmError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    Columns = Mapping[str, tuple[str, Callable[[Any], str]]]
    """Heading and text by code."""

_FIELD = re.compile(r"%(\.?)(\d*)([A-Za-z])")


def lines(form: str, columns: "Columns", rows: "Iterable[Any]", heading: bool) -> "Iterator[str]":
    """The heading, if requested, and a line for each row; texts wider than their column are cut. Raises SlurmError."""
    for _, _, code in _FIELD.findall(form):
        if code not in columns:
            raise SlurmError(f"Invalid format specification: %{code}; there are %{', %'.join(columns)}")
    if heading:
        yield _line(form, lambda code: columns[code][0])
    for row in rows:
        yield _line(form, lambda code, row=row: columns[code][1](row))  # type: ignore[misc]


def _line(form: str, text_of: "Callable[[str], str]") -> str:
    def field(match: "re.Match[str]") -> str:
        right, width, code = match.groups()
        text = text_of(code)
        if not width:
            return text
        return text[: int(width)].rjust(int(width)) if right else text[: int(width)].ljust(int(width))

    return _FIELD.sub(field, form) + "\n"
