"""The text files of `common/` that the qmaster appends to: accounting, reporting, schedule and schedd_runlog.

Owns only the appending: a text is in the file whole or not at all. A full disk, or a process without free descriptors, stops
nothing else. The file is opened again for each text, so it may be renamed or emptied at any time. Called by the owners of the
files. Source: sge_accounting(5), sge_reporting(5), sge_sched_conf(5) params MONITOR, qconf(1) -tsm; AC-1, SC-10, QF-35.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

from daemons.runtime.log_once import LogOnce

_log = logging.getLogger(__name__)


class TextFile:
    """A text file, created on first use, with a `header` as its first lines; all users may read it."""

    def __init__(self, path: Path, header: str = "") -> None:
        self.path = path
        self._header = header
        self._logged = LogOnce()

    def append(self, lines: Iterable[str]) -> bool:
        """Append lines (without line ends). Returns False, and logs the error once, if nothing could be written."""
        try:
            self._append("".join(f"{line}\n" for line in lines))
        except OSError as error:
            if self._logged.is_new(reason := error.strerror or str(error)):
                _log.error("%s cannot be written: %s", self.path, reason)
            return False
        if self._logged.clear():
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
