"""The stories of jobs as the spool keeps them: when their lines are written, and when they are removed.

Owns the tables `story` and `story_end`. A transaction's lines are not written with it, but those of many transactions in one
commit, in the order of the table: until then they are made from what the journal has, also after a restart. A story is removed
some time after its job has gone. Called by `spool` alone, within its commits. Why: docs/adr/0107, 0119.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

import apsw

from daemons.qmaster.spooling import spool_file
from daemons.qmaster.tell import story
from gridengine.state.events import AnyEvent
from gridengine.units import INFINITY

SCHEMA = """
create table if not exists story(job_id integer, revision integer, number integer, time real, task_id integer, event text,
    cause text, primary key (job_id, revision, number)) without rowid;
create table if not exists story_end(id integer primary key, job_id integer, time real);
"""
AT_ONCE = 500
"""Transactions whose lines are written in one commit."""
MOST_REMOVED = 2 * AT_ONCE
"""Stories that one commit removes; as many jobs can hardly end in between."""
_TOLD = "told"
"""Key of the last revision whose lines are in the table."""


class Untold(NamedTuple):
    """A transaction whose lines are not in the table yet."""

    revision: int
    time: float
    user: str
    host: str
    events: list[AnyEvent]

    def lines(self) -> Iterator[story.Line]:
        """What it adds to the stories of jobs, in order."""
        return story.lines(self.events, self.time, self.user, self.host)


class StoryTable:
    """The stories in a spool whose tables are there."""

    def __init__(self, db: apsw.Connection, ended: Container[int]) -> None:
        """`ended`: jobs that are gone though their payload is kept."""
        self._db = db
        self._ended = ended
        self._untold: list[Untold] = []
        self._told = 0

    def begin(self) -> None:
        """The journal is about to be read, from its beginning. Raises apsw.Error."""
        self._untold.clear()
        first_untold = spool_file.recall(self._db, _TOLD)
        self._told = int(first_untold) if first_untold else self._take_over()

    def _take_over(self) -> int:
        """Lines used to be written with their transactions: all are there, and of no story it is known that it is over."""
        over = "select job_id, max(time) from story where job_id not in (select job_id from payload) group by job_id order by 2"
        self._db.execute(f"insert into story_end(job_id, time) {over}")
        last = self._db.execute("select max(revision) from journal").fetchone()
        return self._note_told(int(last[0] or 0) if last else 0)

    def _note_told(self, revision: int) -> int:
        spool_file.remember(self._db, _TOLD, str(revision))
        return revision

    def note(self, transaction: Untold) -> None:
        """A transaction is in the journal; costs next to nothing."""
        if transaction.revision > self._told:
            self._untold.append(transaction)

    @property
    def due(self) -> bool:
        return len(self._untold) >= AT_ONCE

    def write(self, now: float, keep_s: float) -> None:
        """Write all lines that are not in the table, and remove stories that ended more than `keep_s` ago; `written` is to be
        told when that is on the disk. Raises apsw.Error."""
        if not self._untold:
            return
        rows = sorted(
            (line.job, each.revision, number, line.time, line.task, line.event, line.cause)
            for each in self._untold
            for number, line in enumerate(each.lines())
        )
        self._db.executemany("insert or replace into story values(?,?,?,?,?,?,?)", rows)
        self._note_ends({row[0]: row[3] for row in rows})
        self._note_told(self._untold[-1].revision)
        if keep_s != INFINITY:
            self._remove(now - keep_s)

    def written(self) -> None:
        """The commit of what was written last has succeeded."""
        if self._untold:
            self._told = self._untold[-1].revision
            self._untold.clear()

    def _note_ends(self, last: dict[int, float]) -> None:
        """Note which of these jobs are gone: no job has their payload. last: when something last happened to each."""
        among = "select value from json_each(?)"  # SQLite takes no more than 32,766 parameters
        kept = {row[0] for row in self._db.execute(f"select job_id from payload where job_id in ({among})", (str([*last]),))}
        gone = sorted((time, job_id) for job_id, time in last.items() if job_id not in kept or job_id in self._ended)
        self._db.executemany("insert into story_end(time, job_id) values(?,?)", gone)

    def _remove(self, before: float) -> None:
        """Remove the stories of jobs that ended before a moment; what a later job of the same number did stays."""
        ends = self._db.execute("select id, job_id, time from story_end order by id limit ?", (MOST_REMOVED,)).fetchall()
        old = [(number, job_id, time) for number, job_id, time in ends if float(time) < before]  # type: ignore[arg-type]
        self._db.executemany("delete from story where job_id=? and time<=?", [(job_id, time) for _, job_id, time in old])
        self._db.executemany("delete from story_end where id=?", [(number,) for number, _, _ in old])

    def of(self, job_id: int, most: int) -> list[story.Line]:
        """The last `most` lines of a story, in order; none if nothing is known of the job."""
        columns = "job_id, time, task_id, event, cause"
        query = f"select {columns} from story where job_id=? order by revision desc, number desc limit ?"
        lines = [story.Line(*row) for row in self._db.execute(query, (job_id, most))][::-1]
        return [*lines, *(line for each in self._untold for line in each.lines() if line.job == job_id)][-most:]
