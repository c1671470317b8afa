"""The text file `common/accounting`, which follows the accounting index in the spool.

Owns which rows of the index the file has. Nothing but the index is kept: what could not be written, or was not when the qmaster
died, is found there and written later. How far the file has come is noted in the spool now and then, after it was brought to
the disk; at the start, what follows that note is compared with the end of the file. Called by the master.
Source: sge_accounting(5); AC-1, AC-2.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.qmaster.spooling.text_file import TextFile
from daemons.qmaster.tell.accounting import line

HEADER = "# Version: 8.1.9\n# \n# This file is written by the qmaster; it is only ever appended to.\n# \n"
MOST_ROWS = 1000
"""Rows that are written at once; more of them wait for the next tick, so that others are served between."""
NOTE_S = 5.0
"""Seconds between two notes: each waits for the disk."""
_NOTE = "accounting_row"
"""Key of the note in the spool: `ROW INODE SIZE`, the last row in the file and which file, of which size, that was."""


class AccountingFile:
    """The file at `path`. Rows are those of the spool's index, in its order."""

    def __init__(self, path: Path, spool: Spool) -> None:
        self.path = path
        self._spool = spool
        self._file = TextFile(path, HEADER)
        self._behind = True
        self._noted_at = 0.0
        if spool.recall(_NOTE):
            self._noted = self._row = self._last_row()
        else:  # of a new cell, or of a version without notes, which is believed to have written all
            self._row, self._noted = spool.last_accounting_row(), -1
            with suppress(OSError, SpoolError):  # a full disk
                self._note()

    def follow(self) -> None:
        """Append what the index has and the file does not, as far as the disk takes it."""
        rows = list(self._spool.accounting(after=self._row, most=MOST_ROWS))
        written = not rows or self._file.append(line(fields) for _, fields in rows)
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
        self._spool.remember(_NOTE, f"{self._row} {inode} {size}")
        self._noted = self._row

    def _last_row(self) -> int:
        """The last row that is in the file, by the note and by what follows it there."""
        row, inode, size = map(int, self._spool.recall(_NOTE).split())
        wanted = [(number, line(fields)) for number, fields in self._spool.accounting(after=row)]
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
