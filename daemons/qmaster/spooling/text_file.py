"""The text files of `common/` that the qmaster appends to: accounting, reporting, schedule and schedd_runlog.

Owns the appending alone: a text is in the file whole or not at all, and a disk that does not take it, or a process out of
descriptors, stops nothing. Each file is opened anew for each text: it may be renamed or emptied at any time. Called by the files'
owners. Source: sge_accounting(5), sge_reporting(5), sge_sched_conf(5) params MONITOR, qconf(1) -tsm; AC-1, SC-10, QF-35.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

_log = logging.getLogger(__name__)


class TextFile:
    """One of them, made when first needed, with a `header` before all else; all users may read it."""

    def __init__(self, path: Path, header: str = "") -> None:
        self.path = path
        self._header = header
        self._complaint = ""

    def append(self, lines: Iterable[str]) -> bool:
        """Append lines (without their ends); False, logged once, when that is not possible now and nothing was written."""
        try:
            self._append("".join(f"{line}\n" for line in lines))
        except OSError as error:
            if self._complaint != error.strerror:
                self._complaint = error.strerror or str(error)
                _log.error("%s cannot be written: %s", self.path, self._complaint)
            return False
        if self._complaint:
            self._complaint = ""
            _log.warning("%s can be written again", self.path)
        return True

    def _append(self, text: str) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            data = memoryview((text if size else self._header + text).encode(errors="backslashreplace"))
            try:
                while data:
                    data = data[os.write(descriptor, data) :]
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)
