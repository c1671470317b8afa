"""The jobs of a snapshot as the spool keeps them: many jobs to a row, so that a snapshot writes only the changed rows.

Owns the table `jobs`. If a thousand of a million jobs have changed, a snapshot costs as much as these thousand. Rows are read
one after the other: a reader has the jobs and the text of one row in memory. Called only by `spool`, within its commits.
Reasons: docs/adr/0156.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apsw

from gridengine.state.jobs import Job
from gridengine.state.parts import pack_jobs

SCHEMA = "create table if not exists jobs(part integer primary key, records blob);\n"
JOBS_A_PART = 64
"""Jobs with consecutive numbers share a row; this number of jobs is similar enough to be compressed to a twentieth."""


class JobParts:
    """The jobs in a spool with an existing table, and the set of jobs that have changed since."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._changed: set[int] = set()

    def begin(self) -> None:
        """Prepare for reading the spool from its beginning."""
        self._changed.clear()

    def note(self, jobs: Iterable[int]) -> None:
        """Note that the table has outdated records of these jobs."""
        self._changed.update([number // JOBS_A_PART for number in jobs])

    def read(self) -> Iterator[bytes]:
        """The rows, in the order of job numbers. Raises apsw.Error."""
        for (row,) in self._db.execute("select records from jobs order by part"):
            yield bytes(row)

    def write(self, jobs: Mapping[int, Job]) -> None:
        """Update the table to the present jobs; the caller calls `written` after the commit. Raises apsw.Error."""
        for part in sorted(self._changed):
            if there := _jobs_of_part(jobs, part):
                self._db.execute("insert or replace into jobs values(?,?)", (part, pack_jobs(there)))
            else:
                self._db.execute("delete from jobs where part=?", (part,))

    def written(self) -> None:
        """Note that the commit of the last `write` has succeeded."""
        self._changed.clear()

    def parts(self, jobs: Mapping[int, Job]) -> list[bytes]:
        """All present jobs, as rows; unchanged jobs come from the table. Raises apsw.Error."""
        kept: dict[Any, Any] = dict(self._db.execute("select part, records from jobs order by part"))
        for part in sorted(self._changed):
            if there := _jobs_of_part(jobs, part):
                kept[part] = pack_jobs(there)
            else:
                kept.pop(part, None)
        return [bytes(kept[part]) for part in sorted(kept)]


def _jobs_of_part(jobs: Mapping[int, Job], part: int) -> list[Job]:
    numbers = range(part * JOBS_A_PART, (part + 1) * JOBS_A_PART)
    return [jobs[number] for number in numbers if number in jobs]
