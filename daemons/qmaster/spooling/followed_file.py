"""Text files of `common/` that follow rows in the spool: accounting and reporting, despite crashes between commit and file.

Owns the position of each file in its rows. Only the rows are kept: lines that could not be written, or were not written when the
qmaster died, are read from the spool and written later. A note in the spool has the position of the file; it is written now and
then, after a sync of the file. At the start the rows after the note are compared with the end of the file. The spool is used
in the thread of the master; `carry_out` decides where the files are used. Each file has at most one operation at a time, so a
disk that hangs delays only its own file. Called by the master.
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

from daemons.qmaster.notifications.accounting import line
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.qmaster.spooling.text_file import TextFile

_log = logging.getLogger(__name__)

HEADER = "# Version: 8.1.9\n# \n# This file is written by the qmaster; it is only ever appended to.\n# \n"
MOST_ROWS = 1000
"""Limit of rows in one write; further rows wait for the next tick, so that requests are served in between."""
NOTE_S = 5.0
"""Seconds between two notes; each note waits for the disk."""

LAST_ROW = 2**63 - 1
HANGS_S = 10.0
"""Seconds that a file may wait for its disk before the log has an error."""

CarryOut = Callable[[Callable[[], Any], Callable[[Any], None]], None]
"""carry_out(work, then): executes `work`, in any thread, in the order of the calls, and then calls `then` with its result in the
thread of the master. The result is None if `work` failed unexpectedly."""


def run_at_once(work: Callable[[], Any], then: Callable[[Any], None]) -> None:
    """Carry out work immediately; the caller waits for the disk."""
    then(work())


class Rows(Protocol):
    """The source of a file: lines by row number; row numbers only grow."""

    #: key of the note in the spool: `ROW INODE SIZE`: the last row in the file, and the inode and size of the file then
    key: str
    #: first lines of a new file
    header: str

    def after(self, row: int, most: int = -1) -> Iterator[tuple[int, str]]:
        """(row, line) after a row, in order; at most `most`, -1 for all."""

    def last(self) -> int:
        """The newest row, 0 without rows."""

    def written(self, row: int) -> None:
        """Note that the file on disk has all rows up to `row`. Raises SpoolError."""


class AccountingRows:
    """The accounting records of the spool, which keeps them."""

    key, header = "accounting_row", HEADER

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.last = spool.accounted.last

    def after(self, row: int, most: int = -1) -> Iterator[tuple[int, str]]:
        return ((number, line(record)) for number, record in self._spool.accounted.records(after=row, most=most))

    def written(self, row: int) -> None:
        pass


class ReportingRows:
    """The records of the reporting file; the spool has them only until they are in the file."""

    key, header = "reporting_row", ""

    def __init__(self, spool: Spool) -> None:
        self.after, self.last, self.written = spool.records, spool.last_record, spool.forget_records


class FollowedFile:
    """The file at `path`, which has the lines of these rows in their order.

    `_row`: the last row in the file; `_noted`: the row of the note. `_busy`: an operation is being carried out, and no other may
    begin. `_behind`: there may be more to append. `_left_out`: rows after the note are not in the file, because it was disabled.
    `last_allowed`: later rows must not be in the file yet.
    """

    def __init__(self, path: Path, spool: Spool, rows: Rows, is_enabled: Callable[[], bool] = lambda: True) -> None:
        """is_enabled: whether present rows belong in the file; the file never gets rows of a time when it was disabled."""
        self.path = path
        self._spool, self._rows, self._is_enabled = spool, rows, is_enabled
        self._file = TextFile(path, rows.header)
        self.carry_out: CarryOut = run_at_once
        self._busy, self._behind, self._left_out = False, True, False
        self._noted_at = self._idle_at = 0.0
        self._hangs = False
        self.last_allowed = LAST_ROW
        if spool.recall(rows.key):
            self._noted = self._row = self._last_row()
        else:  # of a new cell, or of a version without notes, which is assumed to have written all rows
            self._row, self._noted, self._behind = rows.last(), -1, False
            self._note(self._row, self._sync())

    def follow(self) -> None:
        """Append the rows of the spool that the file lacks, as far as the disk accepts them."""
        self._behind = self._busy
        if self._busy:
            return
        if not self._is_enabled():
            self._row, self._left_out = min(self._rows.last(), self.last_allowed), True
        elif self._left_out:
            self._behind = True  # once the note is behind the rows that were left out
            self._begin(self._sync, partial(self._note, self._row))
        elif rows := [row for row in self._rows.after(self._row, MOST_ROWS) if row[0] <= self.last_allowed]:
            lines = [text for _, text in rows]
            self._begin(partial(self._file.append, lines), partial(self._finish_append, rows[-1][0], len(rows) == MOST_ROWS))

    def _finish_append(self, row: int, more: bool, written: bool | None) -> None:
        """Take the result of a write: with `written` the file has the rows up to `row`. `more`: more rows may follow."""
        self._busy, asked = False, self._behind
        self._behind = more or not written
        if written:
            self._row = row
            if asked:
                self.follow()

    def tend(self, steady: float) -> None:
        """Continue an unfinished file, and note its position. `steady`: seconds of a monotonic clock."""
        self._watch(steady)
        if self._behind:
            self.follow()
        if self._row != self._noted and not self._busy and steady - self._noted_at >= NOTE_S:
            self._noted_at = steady
            self._begin(self._sync, partial(self._note, self._row))

    def _watch(self, steady: float) -> None:
        """Log once that the disk does not respond, and once that it responds again."""
        if not self._busy or not self._idle_at:
            self._idle_at = steady
        waited = steady - self._idle_at
        hangs = waited >= HANGS_S
        if hangs != self._hangs:
            self._hangs = hangs
            if hangs:
                _log.error("%s has waited for its disk for %.0f s; new lines are kept in the spool", self.path, waited)
            else:
                _log.warning("%s: its disk answers again", self.path)

    def _begin(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self._busy = True
        self.carry_out(work, then)

    def _sync(self) -> tuple[int, int] | None:
        """Sync the file to the disk; returns its inode and size, None if the sync fails."""
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
        """Note the position of the synced file; the earlier note stays valid if a disk is full."""
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
        """The last row in the file, according to the note and the lines after its position."""
        row, inode, size = map(int, self._spool.recall(self._rows.key).split())
        expected = list(self._rows.after(row))
        there = Counter(self._lines(inode, size, {text for _, text in expected})) if expected else Counter()
        for number, text in expected:
            if not there[text]:
                break
            there[text] -= 1
            row = number
        return row

    def _lines(self, inode: int, size: int, expected: set[str]) -> Iterator[str]:
        """The expected lines that the file has after the noted position; a torn last line is cut off."""
        try:
            with self.path.open("r+b") as file:
                status = os.fstat(file.fileno())
                file.seek(size if status.st_ino == inode and status.st_size >= size else 0)
                for raw in file:
                    if not raw.endswith(b"\n"):
                        file.truncate(file.tell() - len(raw))
                        break
                    if (text := raw[:-1].decode(errors="replace")) in expected:
                        yield text
        except OSError:
            return
