"""The import of an accounting file of years: piece by piece between what is new, so that neither waits for the other.

Owns how far an import is, and what it counted. Where it stopped it goes on, as its checkpoint is written with its rows; records
that the database has are left out, so that a file may overlap with what was read before. Called by the writer.
Source: DB-12, AC-1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from daemons.dbwriter import records as of
from daemons.dbwriter.source import Source

SHOWN = 20
"""Rejected lines that are shown with their reasons; all are counted, and kept in the database."""


@dataclass(slots=True)
class Import:
    """One file. `state`: waiting, running, done, or a sentence about what went wrong; `bytes` of `size` are read."""

    path: Path
    state: str = "waiting"
    bytes: int = 0
    size: int = 0
    records: int = 0
    known: int = 0
    rejections: int = 0
    rejected: list[tuple[int, str]] = field(default_factory=list)
    begin: float = 0.0
    end: float = 0.0
    """Epoch seconds: the first and the last end of a job, of which values have to be derived anew."""

    @property
    def source(self) -> str:
        """Its name among the checkpoints."""
        return f"import {self.path}"

    @property
    def ended(self) -> bool:
        return self.state not in ("waiting", "running")

    def reject(self, line: int, reason: str) -> None:
        self.rejections += 1
        if len(self.rejected) < SHOWN:
            self.rejected.append((line, reason))

    def noted(self, facts: list[of.TaskUsage]) -> None:
        """Widen the range of the ends."""
        ends = [float(end) for fact in facts if isinstance(end := fact.values["end_time"], int)]
        if ends:
            self.noted_from(min(ends), max(ends))

    def noted_from(self, begin: float, end: float) -> None:
        """Widen the range by another."""
        self.begin = min(self.begin or begin, begin)
        self.end = max(self.end, end)


class ImportedFile(Source):
    """One file that nobody rotates: what lies beside it is something else."""

    def _files(self) -> list[Path]:
        return [self.path] if self.path.is_file() else []
