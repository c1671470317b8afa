"""Script and environment of the last jobs that have ended, to submit them again.

Owns the rows of the table `payload` whose number is negative: -17 is job 17, which has ended. Called by `spool` alone, within its
commits. Source: docs/gdi.md, resubmit_jobs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import apsw

from gridengine.state.jobs import KEPT_JOBS


class EndedPayloads:
    """Keeps `KEPT_JOBS` of them. The order of the ends is in memory; after a start that of the numbers stands for it."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._ended: deque[int] | None = None

    def begin(self) -> None:
        """The table is to be read again: a commit has failed."""
        self._ended = None

    def end(self, jobs: Sequence[int]) -> None:
        """These jobs have ended. Raises apsw.Error."""
        self._db.executemany("delete from payload where job_id=?", [(number,) for number in jobs[:-KEPT_JOBS]])
        for number in jobs[-KEPT_JOBS:]:
            if self._ended is None:
                rows = self._db.execute("select -job_id from payload where job_id < 0 order by job_id desc")
                self._ended = deque(number for (number,) in rows)
            self._db.execute("update or replace payload set job_id = -job_id where job_id=?", (number,))
            if self._db.changes():
                self._ended.append(number)
            if len(self._ended) > KEPT_JOBS and (oldest := self._ended.popleft()) not in self._ended:
                self._db.execute("delete from payload where job_id=?", (-oldest,))
