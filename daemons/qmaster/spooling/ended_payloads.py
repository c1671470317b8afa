"""Script and environment of the last jobs that have ended, to submit them again.

Owns the selection of rows of the table `payload` that are kept for ended jobs. The end of a job writes nothing here: its row
stays, and the row of the oldest ended job is deleted. Called only by `spool`, within its commits. Source: docs/gdi.md,
resubmit_jobs.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import apsw

from gridengine.state.jobs import KEPT_JOBS


class EndedPayloads:
    """Keeps the payloads of the last `KEPT_JOBS` ended jobs. The order of ends is in memory; a start uses the job numbers."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._ended: dict[int, None] = {}  # ordered
        self._committed: dict[int, None] | None = None  # as before the current commit, if it changes them

    def __contains__(self, job_id: object) -> bool:
        return job_id in self._ended

    def begin(self, jobs: Container[int]) -> None:
        """Read the rows. `jobs`: the existing jobs; a row of any other job belongs to an ended job. Raises apsw.Error."""
        rows = self._db.execute("select job_id from payload order by job_id")
        self._ended = {number: None for (number,) in rows if number not in jobs}

    def written(self, jobs: Container[int]) -> None:
        """Note that these jobs have a new row; an ended job with the same number is forgotten."""
        if again := [number for number in self._ended if number in jobs]:
            self._note_change()
            for number in again:
                del self._ended[number]

    def end(self, jobs: Sequence[int]) -> None:
        """Note the end of these jobs. Raises apsw.Error."""
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
        """Note that the changes are on disk."""
        self._committed = None

    def rolled_back(self) -> None:
        """Note that the commit has failed: undo its changes."""
        if self._committed is not None:
            self._ended, self._committed = self._committed, None
