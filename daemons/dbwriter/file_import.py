"""The import of a large accounting file, in pieces between batches of new records, so that neither delays the other.

Owns the progress and the counters of an import. An interrupted import continues, since its checkpoint is written with its rows.
Records that the database has already are skipped, so a file may overlap with earlier input. Called by the writer.
Source: DB-12, AC-1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from daemons.dbwriter.records import TaskUsage
from daemons.dbwriter.rotated_file import RotatedFile

MAX_REJECTIONS_SHOWN = 20
"""Rejected lines that are shown with their reasons. The database has all of them, and all are counted."""


@dataclass(slots=True)
class FileImport:
    """One file, `path`. `state`: waiting, running, done, or the error message; `bytes` of `size` are read."""

    path: Path
    state: str = "waiting"
    bytes: int = 0
    size: int = 0
    #: number of records that were new
    records: int = 0
    #: number of records that the database had already
    known: int = 0
    #: number of lines that are no records; `rejected`: the first of these, (line number, reason) each
    rejections: int = 0
    rejected: list[tuple[int, str]] = field(default_factory=list)
    #: the first end of a task in the file, epoch seconds, 0 for none; `end`: the last one
    begin: float = 0.0
    end: float = 0.0
    """Epoch seconds: the first and the last end of a job; derived values of this range are recomputed."""

    @property
    def source(self) -> str:
        """The name of its checkpoint."""
        return f"import {self.path}"

    @property
    def has_ended(self) -> bool:
        return self.state not in ("waiting", "running")

    def add_rejection(self, line: int, reason: str) -> None:
        self.rejections += 1
        if len(self.rejected) < MAX_REJECTIONS_SHOWN:
            self.rejected.append((line, reason))

    def include_facts(self, facts: list[TaskUsage]) -> None:
        """Extend the range to the ends of these tasks."""
        ends = [float(end) for fact in facts if isinstance(end := fact.values["end_time"], int)]
        if ends:
            self.include_range(min(ends), max(ends))

    def include_range(self, begin: float, end: float) -> None:
        """Extend the range to another range."""
        self.begin = min(self.begin or begin, begin)
        self.end = max(self.end, end)


class ImportedFile(RotatedFile):
    """One file without rotated predecessors: files beside it are unrelated."""

    def _find_files(self) -> list[Path]:
        return [self.path] if self.path.is_file() else []
