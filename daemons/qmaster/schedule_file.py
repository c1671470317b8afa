"""The scheduler's files: `common/schedule`, what each run found and planned, and `common/schedd_runlog`, why jobs waited.

Owns the appending alone; the lines come with the scheduler's orders. A disk that does not take them must not stop scheduling.
Called by the scheduler's driver. Source: sge_sched_conf(5) params MONITOR, qconf(1) -tsm; SC-10, QF-35.
"""

from __future__ import annotations

import logging
from pathlib import Path

_log = logging.getLogger(__name__)


class ScheduleFile:
    """One of them, made when first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: list[str]) -> None:
        """Append the lines of one run; an error of the disk is logged, not raised."""
        try:
            with self.path.open("a") as file:
                file.write("".join(f"{line}\n" for line in lines))
        except OSError as error:
            _log.warning("the scheduler's file %s cannot be written: %s", self.path, error)
