"""The end of an accounting file: the lines since a moment, without a reading of the years before.

Owns the search for the place. The records are in the order of their writing, nearly the order of their ends: a bisection
finds the place, and a day before the moment covers clocks that differ. Called for reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 4 << 30
"""Limit of bytes that are read, from the end of the file: about 12 million records."""
_WINDOW = 1 << 16
_MARGIN_S = 86_400.0
_LONGEST_LINE = 1 << 20
_END_TIME = 10
"""Index of the field `end_time`."""


class AccountingEnd:
    """The lines of the file `path` since the moment `begin` (epoch s), with some lines before them.

    `first`: end time of the first record that is read, None for a file without records. `reaches_back`: whether the records reach
    back to the moment: no if the file begins later, or has more than `most_bytes` since then.
    """

    def __init__(self, path: Path, begin: float, most_bytes: int = MOST_BYTES) -> None:
        """Raises OSError."""
        self.path = path
        with path.open("rb") as file:
            self._size = file.seek(0, 2)
            place = _place(file, self._size, begin - _MARGIN_S)
            self._offset = max(place, self._size - most_bytes)
            ends = _ends(file, self._offset)
        self.first = min(ends) if ends else None
        self.reaches_back = self._offset == place and self.first is not None and (place > 0 or self.first <= begin)

    def lines(self) -> Iterator[bytes]:
        """Whole lines, up to the present end of the file. Raises OSError."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            left = self._size - self._offset
            if self._offset:
                left -= len(file.readline(_LONGEST_LINE))  # the rest of a line
            while left > 0 and (line := file.readline(_LONGEST_LINE)):
                left -= len(line)
                if left >= 0:  # else it is being written
                    yield line


def _place(file: BinaryIO, size: int, moment: float) -> int:
    """The offset of a part of the file, behind which all records are that ended since the moment."""
    low, high = 0, size
    while high - low > _WINDOW:
        middle = (low + high) // 2
        ends = _ends(file, middle)
        # a part without a record decides nothing: then more is read than necessary
        if ends and max(ends) < moment:
            low = middle
        else:
            high = middle
    return low


def _ends(file: BinaryIO, offset: int) -> list[float]:
    """The end times of the whole records in the part of the file behind an offset."""
    file.seek(offset)
    lines = file.read(_WINDOW).split(b"\n")[1 if offset else 0 : -1]
    found = []
    for line in lines:
        fields = line.split(b":", _END_TIME + 1)
        if len(fields) > _END_TIME and line[:1] != b"#":
            try:
                found.append(float(fields[_END_TIME]))
            except ValueError:
                continue
    return found
