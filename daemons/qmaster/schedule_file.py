"""The schedule file: `common/schedule`, what each scheduling run found and planned.

Owns the appending alone; the lines come with the scheduler's orders. A disk that does not take them must not stop scheduling.
Called by the scheduler's driver. Source: sge_sched_conf(5) params MONITOR; SC-10.
"""

from __future__ import annotations

import logging
from pathlib import Path

_log = logging.getLogger(__name__)


class ScheduleFile:
    """The file of one cell, made when first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: list[str]) -> None:
        """Append the lines of one run; an error of the disk is logged, not raised."""
        try:
            with self.path.open("a") as file:
                file.write("".join(f"{line}\n" for line in lines))
        except OSError as error:
            _log.warning("the schedule file %s cannot be written: %s", self.path, error)
