"""Formats of squeue and sinfo: `%.18i %9P`, a letter a column.

Owns the grammar, `%[[.]WIDTH]LETTER`; the letters are those of each command. Source: squeue(1) of 22.05 --format.
"""

import re

from clients.slurm.words import SlurmError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    Columns = Mapping[str, tuple[str, Callable[[Any], str]]]
    """Heading and text by letter."""

_FIELD = re.compile(r"%(\.?)(\d*)([A-Za-z])")


def lines(form: str, columns: "Columns", rows: "Iterable[Any]", heading: bool) -> "Iterator[str]":
    """The heading, if it is wanted, and a line a row; texts that are wider than their column are cut. Raises SlurmError."""
    for _, _, letter in _FIELD.findall(form):
        if letter not in columns:
            raise SlurmError(f"Invalid format specification: %{letter}; there are %{', %'.join(columns)}")
    if heading:
        yield _line(form, lambda letter: columns[letter][0])
    for row in rows:
        yield _line(form, lambda letter, row=row: columns[letter][1](row))  # type: ignore[misc]


def _line(form: str, text_of: "Callable[[str], str]") -> str:
    def field(match: "re.Match[str]") -> str:
        right, width, letter = match.groups()
        text = text_of(letter)
        if not width:
            return text
        return text[: int(width)].rjust(int(width)) if right else text[: int(width)].ljust(int(width))

    return _FIELD.sub(field, form) + "\n"
