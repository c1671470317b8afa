"""Text files of `common/` that follow rows in the spool: accounting and reporting, whatever happens between commit and file.

Owns which rows a file has. Nothing but the rows is kept: what could not be written, or was not when the qmaster died, is found
there and written later. How far the file has come is noted in the spool now and then, after it was brought to the disk; at the
start, what follows that note is compared with the end of the file. The spool is read and written where the master is, the files
wherever `carry_out` does that: one thing at a time for each file, so a disk that hangs keeps back its own lines alone. Called by
the master.
Source: sge_accounting(5), sge_reporting(5); AC-1, AC-2, RP-1.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.qmaster.spooling.text_file import TextFile
from daemons.qmaster.tell.accounting import line

_log = logging.getLogger(__name__)

HEADER = "# Version: 8.1.9\n# \n# This file is written by the qmaster; it is only ever appended to.\n# \n"
MOST_ROWS = 1000
"""Rows that are written at once; more of them wait for the next tick, so that others are served between."""
NOTE_S = 5.0
"""Seconds between two notes: each waits for the disk."""

LAST_ROW = 2**63 - 1
HANGS_S = 10.0
"""Seconds for which a disk may keep a file waiting before somebody is told."""

CarryOut = Callable[[Callable[[], Any], Callable[[Any], None]], None]
"""carry_out(work, then): has `work` done, anywhere and in the order of the calls, and then calls `then` with what it returned,
where the master is. The result is None if work failed for no reason that it knows."""


def at_once(work: Callable[[], Any], then: Callable[[Any], None]) -> None:
    """The plainest way to carry something out, which waits for the disk."""
    then(work())


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
    """The file at `path`, which has the lines of these rows in their order.

    `_row` is the last that is in the file, `_noted` that of the note. While something is carried out `_busy` is set, and nothing
    else begins; `_behind`: there may be more to append; `_left_out`: rows behind the note are not in it, as nobody wanted them.
    `last_allowed`: rows behind it are no business of the file yet.
    """

    def __init__(self, path: Path, spool: Spool, rows: Rows, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """is_wanted: whether rows that come now are to be in the file; it never has those that were not."""
        self.path = path
        self._spool, self._rows, self._is_wanted = spool, rows, is_wanted
        self._file = TextFile(path, rows.header)
        self.carry_out: CarryOut = at_once
        self._busy, self._behind, self._left_out = False, True, False
        self._noted_at = self._idle_at = 0.0
        self._hangs = False
        self.last_allowed = LAST_ROW
        if spool.recall(rows.key):
            self._noted = self._row = self._last_row()
        else:  # of a new cell, or of a version without notes, which is believed to have written all
            self._row, self._noted, self._behind = rows.last(), -1, False
            self._note(self._row, self._synced())

    def follow(self) -> None:
        """Append what the spool has and the file does not, as far as the disk takes it."""
        self._behind = self._busy
        if self._busy:
            return
        if not self._is_wanted():
            self._row, self._left_out = min(self._rows.last(), self.last_allowed), True
        elif self._left_out:
            self._behind = True  # once the note has come past what was left out
            self._begin(self._synced, partial(self._note, self._row))
        elif rows := [row for row in self._rows.after(self._row, MOST_ROWS) if row[0] <= self.last_allowed]:
            lines = [text for _, text in rows]
            self._begin(partial(self._file.append, lines), partial(self._appended, rows[-1][0], len(rows) == MOST_ROWS))

    def _appended(self, row: int, more: bool, written: bool | None) -> None:
        """Rows up to this one are in the file if they were written; there may be more behind them."""
        self._busy, asked = False, self._behind
        self._behind = more or not written
        if written:
            self._row = row
            if asked:
                self.follow()

    def tend(self, steady: float) -> None:
        """Go on where the file is behind, and note how far it is. `steady`: seconds of a clock that nobody sets."""
        self._watch(steady)
        if self._behind:
            self.follow()
        if self._row != self._noted and not self._busy and steady - self._noted_at >= NOTE_S:
            self._noted_at = steady
            self._begin(self._synced, partial(self._note, self._row))

    def _watch(self, steady: float) -> None:
        """Say once that the disk does not answer, and when it does again."""
        if not self._busy or not self._idle_at:
            self._idle_at = steady
        waited = steady - self._idle_at
        hangs = waited >= HANGS_S
        if hangs != self._hangs:
            self._hangs = hangs
            if hangs:
                _log.error("%s has waited for its disk for %.0f s; what comes is kept in the spool", self.path, waited)
            else:
                _log.warning("%s: its disk answers again", self.path)

    def _begin(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self._busy = True
        self.carry_out(work, then)

    def _synced(self) -> tuple[int, int] | None:
        """Bring the file to the disk; which file that is, and its size. None if the disk does not take it."""
        try:
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
                status = os.fstat(file.fileno())
                return status.st_ino, status.st_size
        except FileNotFoundError:
            return 0, 0
        except OSError:
            return None

    def _note(self, row: int, synced: tuple[int, int] | None) -> None:
        """Note that the file, which is on the disk, is as far as this; the earlier note holds if one of the disks is full."""
        self._busy = False
        if synced is None:
            return
        try:
            self._spool.remember(self._rows.key, f"{row} {synced[0]} {synced[1]}")
            self._noted, self._left_out = row, False
            self._rows.written(row)
        except SpoolError:
            return
        if self._behind:
            self.follow()

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
