"""Script and environment of the last jobs that have ended, to submit them again.

Owns which rows of the table `payload` are kept for jobs that are gone. The end of a job writes nothing here: its row stays as it
is, and that of the oldest ended job is deleted. Called by `spool` alone, within its commits. Source: docs/gdi.md, resubmit_jobs.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import apsw

from gridengine.state.jobs import KEPT_JOBS


class EndedPayloads:
    """Keeps `KEPT_JOBS` of them. The order of the ends is in memory; after a start that of the numbers stands for it."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._ended: dict[int, None] = {}  # ordered
        self._committed: dict[int, None] | None = None  # as before the commit that goes on, if it changes them

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._ended

    def begin(self, jobs: Container[int]) -> None:
        """`jobs`: those that there are; each row of another one is that of an ended job. Raises apsw.Error."""
        rows = self._db.execute("select job_id from payload order by job_id")
        self._ended = {number: None for (number,) in rows if number not in jobs}

    def written(self, jobs: Container[int]) -> None:
        """These jobs have got a row, also where one with the same number had ended."""
        if again := [number for number in self._ended if number in jobs]:
            self._note_change()
            for number in again:
                del self._ended[number]

    def end(self, jobs: Sequence[int]) -> None:
        """These jobs have ended. Raises apsw.Error."""
        if not jobs:
            return
        self._note_change()
        self._ended.update(dict.fromkeys(jobs))
        oldest = [number for number, _ in zip(self._ended, range(len(self._ended) - KEPT_JOBS), strict=False)]
        for number in oldest:
            del self._ended[number]
        self._db.executemany("delete from payload where job_id=?", [(number,) for number in oldest])

    def _note_change(self) -> None:
        if self._committed is None:
            self._committed = dict(self._ended)

    def committed(self) -> None:
        """The changes are on disk."""
        self._committed = None

    def rolled_back(self) -> None:
        """The commit has failed."""
        if self._committed is not None:
            self._ended, self._committed = self._committed, None
