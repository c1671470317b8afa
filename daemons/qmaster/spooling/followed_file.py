"""Text files of `common/` that follow rows in the spool: accounting and reporting, whatever happens between commit and file.

Owns which rows a file has. Nothing but the rows is kept: what could not be written, or was not when the qmaster died, is found
there and written later. How far the file has come is noted in the spool now and then, after it was brought to the disk; at the
start, what follows that note is compared with the end of the file. Called by the master.
Source: sge_accounting(5), sge_reporting(5); AC-1, AC-2, RP-1.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.qmaster.spooling.text_file import TextFile
from daemons.qmaster.tell.accounting import line

HEADER = "# Version: 8.1.9\n# \n# This file is written by the qmaster; it is only ever appended to.\n# \n"
MOST_ROWS = 1000
"""Rows that are written at once; more of them wait for the next tick, so that others are served between."""
NOTE_S = 5.0
"""Seconds between two notes: each waits for the disk."""


class Rows(Protocol):
    """What a file follows: lines by the numbers of their rows, which only grow."""

    #: of the note in the spool: `ROW INODE SIZE`, the last row in the file and which file, of which size, that was
    key: str
    #: what a new file begins with
    header: str

    def after(self, row: int, most: int = -1) -> Iterator[tuple[int, str]]:
        """(row, its line) after a row, in order; at most so many, -1 for all."""

    def last(self) -> int:
        """The newest row, 0 when there is none."""

    def written(self, row: int) -> None:
        """All rows up to this one are in the file, and the disk has it. Raises SpoolError."""


class AccountingRows:
    """The index of accounting records in the spool, which keeps them."""

    key, header = "accounting_row", HEADER

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.last = spool.accounted.last

    def after(self, row: int, most: int = -1) -> Iterator[tuple[int, str]]:
        return ((number, line(record)) for number, record in self._spool.accounted.records(after=row, most=most))

    def written(self, row: int) -> None:
        pass


class ReportingRows:
    """The records of the reporting file, which the spool has only until that has them."""

    key, header = "reporting_row", ""

    def __init__(self, spool: Spool) -> None:
        self.after, self.last, self.written = spool.records, spool.last_record, spool.forget_records


class FollowedFile:
    """The file at `path`, which has the lines of these rows in their order."""

    def __init__(self, path: Path, spool: Spool, rows: Rows) -> None:
        self.path = path
        self._spool, self._rows = spool, rows
        self._file = TextFile(path, rows.header)
        self._behind = True
        self._noted_at = 0.0
        if spool.recall(rows.key):
            self._noted = self._row = self._last_row()
        else:  # of a new cell, or of a version without notes, which is believed to have written all
            self._row, self._noted = rows.last(), -1
            with suppress(OSError, SpoolError):  # a full disk
                self._note()

    def follow(self) -> None:
        """Append what the spool has and the file does not, as far as the disk takes it."""
        rows = list(self._rows.after(self._row, MOST_ROWS))
        written = not rows or self._file.append(text for _, text in rows)
        self._behind = not written or len(rows) == MOST_ROWS
        if rows and written:
            self._row = rows[-1][0]

    def tend(self, steady: float) -> None:
        """Go on where the file is behind, and note how far it is. `steady`: seconds of a clock that nobody sets."""
        if self._behind:
            self.follow()
        if self._row != self._noted and steady - self._noted_at >= NOTE_S:
            self._noted_at = steady
            with suppress(OSError, SpoolError):  # a full disk: the earlier note holds
                self._note()

    def _note(self) -> None:
        """Note how far the file is. Raises OSError, SpoolError."""
        inode = size = 0
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            os.fsync(file.fileno())
            status = os.fstat(file.fileno())
            inode, size = status.st_ino, status.st_size
        self._spool.remember(self._rows.key, f"{self._row} {inode} {size}")
        self._noted = self._row
        self._rows.written(self._row)

    def _last_row(self) -> int:
        """The last row that is in the file, by the note and by what follows it there."""
        row, inode, size = map(int, self._spool.recall(self._rows.key).split())
        wanted = list(self._rows.after(row))
        there = Counter(self._lines(inode, size, {text for _, text in wanted})) if wanted else Counter()
        for number, text in wanted:
            if not there[text]:
                break
            there[text] -= 1
            row = number
        return row

    def _lines(self, inode: int, size: int, wanted: set[str]) -> Iterator[str]:
        """Those of the wanted lines that the file has behind the noted place; a torn last one is cut off."""
        try:
            with self.path.open("r+b") as file:
                status = os.fstat(file.fileno())
                file.seek(size if status.st_ino == inode and status.st_size >= size else 0)
                for raw in file:
                    if not raw.endswith(b"\n"):
                        file.truncate(file.tell() - len(raw))
                        break
                    if (text := raw[:-1].decode(errors="replace")) in wanted:
                        yield text
        except OSError:
            return
