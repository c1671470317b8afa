"""The histories of jobs as the spool keeps them: when their lines are written, and when they are removed.

Owns the tables `story` and `story_end`. The lines of many transactions are written in one commit, in the order of the table.
Until then they are computed from the journal, also after a restart. A history is removed some time after the end of its job.
Called by `spool` alone, within its commits. Reasons: docs/adr/0107, 0119.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

import apsw

from daemons.qmaster.notifications import job_history
from daemons.qmaster.spooling import spool_file
from gridengine.state.events import AnyEvent
from gridengine.values.units import INFINITY

SCHEMA = """
create table if not exists story(job_id integer, revision integer, number integer, time real, task_id integer, event text,
    cause text, primary key (job_id, revision, number)) without rowid;
create table if not exists story_end(id integer primary key, job_id integer, time real);
"""
AT_ONCE = 500
"""Transactions whose lines are written in one commit."""
MOST_REMOVED = 2 * AT_ONCE
"""Histories that one commit removes; fewer jobs end in between."""
_LAST_WRITTEN_KEY = "told"
"""Key of the last revision whose lines are in the table."""


class PendingTransaction(NamedTuple):
    """A transaction of `events` whose lines are not in the table yet."""

    revision: int
    time: float
    user: str
    host: str
    events: list[AnyEvent]

    def lines(self) -> Iterator[job_history.Line]:
        """Its lines in the histories of jobs, in order."""
        return job_history.lines(self.events, self.time, self.user, self.host)


class HistoryTable:
    """The histories in a spool whose tables exist."""

    def __init__(self, db: apsw.Connection, ended: Container[int]) -> None:
        """`ended`: ended jobs whose payload is still kept."""
        self._db = db
        self._ended = ended
        self._pending: list[PendingTransaction] = []
        self._last_written = 0

    def begin(self) -> None:
        """Prepare to read the journal from its beginning. Raises apsw.Error."""
        self._pending.clear()
        last_written = spool_file.recall(self._db, _LAST_WRITTEN_KEY)
        self._last_written = int(last_written) if last_written else self._take_over()

    def _take_over(self) -> int:
        """Take over a spool of a version that wrote lines with their transactions: all lines are there, but no history is
        marked as ended."""
        over = "select job_id, max(time) from story where job_id not in (select job_id from payload) group by job_id order by 2"
        self._db.execute(f"insert into story_end(job_id, time) {over}")
        last = self._db.execute("select max(revision) from journal").fetchone()
        return self._store_last_written(int(last[0] or 0) if last else 0)

    def _store_last_written(self, revision: int) -> int:
        spool_file.remember(self._db, _LAST_WRITTEN_KEY, str(revision))
        return revision

    def note(self, transaction: PendingTransaction) -> None:
        """Note a transaction that is in the journal; costs next to nothing."""
        if transaction.revision > self._last_written:
            self._pending.append(transaction)

    @property
    def due(self) -> bool:
        return len(self._pending) >= AT_ONCE

    def write(self, now: float, keep_s: float) -> None:
        """Write all lines that are not in the table, and remove histories that ended more than `keep_s` ago. Call `written`
        when the commit is on disk. Raises apsw.Error."""
        if not self._pending:
            return
        rows = sorted(
            (line.job, each.revision, number, line.time, line.task, line.event, line.cause)
            for each in self._pending
            for number, line in enumerate(each.lines())
        )
        self._db.executemany("insert or replace into story values(?,?,?,?,?,?,?)", rows)
        self._note_ends({row[0]: row[3] for row in rows})
        self._store_last_written(self._pending[-1].revision)
        if keep_s != INFINITY:
            self._remove(now - keep_s)

    def written(self) -> None:
        """Note that the commit of the last write has succeeded."""
        if self._pending:
            self._last_written = self._pending[-1].revision
            self._pending.clear()

    def _note_ends(self, last: dict[int, float]) -> None:
        """Note which of these jobs have ended: no job has their payload. last: job -> time of its last line."""
        among = "select value from json_each(?)"  # SQLite takes no more than 32,766 parameters
        kept = {row[0] for row in self._db.execute(f"select job_id from payload where job_id in ({among})", (str([*last]),))}
        gone = sorted((time, job_id) for job_id, time in last.items() if job_id not in kept or job_id in self._ended)
        self._db.executemany("insert into story_end(time, job_id) values(?,?)", gone)

    def _remove(self, before: float) -> None:
        """Remove the histories of jobs that ended before a moment; the lines of a later job with the same number stay."""
        ends = self._db.execute("select id, job_id, time from story_end order by id limit ?", (MOST_REMOVED,)).fetchall()
        old = [(number, job_id, time) for number, job_id, time in ends if float(time) < before]  # type: ignore[arg-type]
        self._db.executemany("delete from story where job_id=? and time<=?", [(job_id, time) for _, job_id, time in old])
        self._db.executemany("delete from story_end where id=?", [(number,) for number, _, _ in old])

    def of(self, job_id: int, most: int) -> list[job_history.Line]:
        """The last `most` lines of a job's history, in order; empty if the job is unknown."""
        columns = "job_id, time, task_id, event, cause"
        query = f"select {columns} from story where job_id=? order by revision desc, number desc limit ?"
        lines = [job_history.Line(*row) for row in self._db.execute(query, (job_id, most))][::-1]
        return [*lines, *(line for each in self._pending for line in each.lines() if line.job == job_id)][-most:]
