"""The jobs of a snapshot as the spool keeps them: many to a row, so that a snapshot writes the rows that changed.

Owns the table `jobs`. A snapshot of a million jobs, after which a thousand change, costs what these cost. Rows are read one
after the other: what a reader has in memory is the jobs, and the text of one row. Called by `spool` alone, within its commits.
Why: docs/adr/0156.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apsw

from gridengine.state.jobs import Job
from gridengine.state.parts import pack_jobs

SCHEMA = "create table if not exists jobs(part integer primary key, records blob);\n"
JOBS_A_PART = 64
"""Jobs whose numbers follow on each other are in one row: so many are alike enough to be compressed to a twentieth."""


class JobParts:
    """The jobs in a spool whose table is there, and which of them are others by now."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._changed: set[int] = set()

    def begin(self) -> None:
        """The spool is about to be read, from its beginning."""
        self._changed.clear()

    def note(self, jobs: Iterable[int]) -> None:
        """The records of these jobs are not what the table has of them."""
        self._changed.update([number // JOBS_A_PART for number in jobs])

    def read(self) -> Iterator[bytes]:
        """The rows, in the order of jobs. Raises apsw.Error."""
        for (row,) in self._db.execute("select records from jobs order by part"):
            yield bytes(row)

    def write(self, jobs: Mapping[int, Job]) -> None:
        """Bring the table up to the jobs as they are now; `written` is to be told when that is on the disk. Raises apsw.Error."""
        for part in sorted(self._changed):
            if there := _of_part(jobs, part):
                self._db.execute("insert or replace into jobs values(?,?)", (part, pack_jobs(there)))
            else:
                self._db.execute("delete from jobs where part=?", (part,))

    def written(self) -> None:
        """The commit of what was written last has succeeded."""
        self._changed.clear()

    def parts(self, jobs: Mapping[int, Job]) -> list[bytes]:
        """All jobs as they are now, as rows: of those that did not change, the rows that are there. Raises apsw.Error."""
        kept: dict[Any, Any] = dict(self._db.execute("select part, records from jobs order by part"))
        for part in sorted(self._changed):
            if there := _of_part(jobs, part):
                kept[part] = pack_jobs(there)
            else:
                kept.pop(part, None)
        return [bytes(kept[part]) for part in sorted(kept)]


def _of_part(jobs: Mapping[int, Job], part: int) -> list[Job]:
    numbers = range(part * JOBS_A_PART, (part + 1) * JOBS_A_PART)
    return [jobs[number] for number in numbers if number in jobs]
