"""The table of accounting records in the spool, and how it is searched: a page at a time, so that no answer is long.

Owns the table `accounting`. A job's records come from the index; any other search walks the table in the order of the
jobs' ends, and where it asks for sums, sums are all that it gives. Called through `spool`, within its commits, and by
`accounting_reader`, a process that only reads. Light: no state, no Ray. Source: AC-2, QA-1 … QA-8; adr/0126.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import msgspec

from gridengine.accounting import PLAIN, AccountingRecord, Sums, fields_getter, record_filter

SCHEMA = """
create table if not exists accounting(id integer primary key, job_id integer, task_id integer, record blob);
create index if not exists accounting_job on accounting(job_id, task_id);
"""
MOST_ROWS = 250_000
"""Rows that one search looks at: a second, for which those wait who ask next."""
MOST_RECORDS = 5_000
"""Records in one answer: some megabytes."""

Body = dict[str, Any]
_LONGEST_ID = 9
_decoded = msgspec.json.Decoder(list[str]).decode


class AccountingTable:
    """The records in a spool whose tables are there."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def add(self, records: Iterable[tuple[int, int, AccountingRecord]]) -> None:
        """(job id, task id, record) of tries that ended. Raises apsw.Error."""
        rows = ((job_id, task_id, msgspec.json.encode(record)) for job_id, task_id, record in records)
        self._db.executemany("insert into accounting(job_id, task_id, record) values(?,?,?)", rows)

    def records(
        self, job_ids: list[int] | None = None, after: int = 0, most: int = -1
    ) -> Iterator[tuple[int, AccountingRecord]]:
        """Records as (row id, record) in the order of their end; of the given jobs, or of all, after a row, so many (-1: all)."""
        where, values = _of_jobs(job_ids, after)
        for row_id, record in self._db.execute(f"select id, record {where} order by id limit ?", (*values, most)):
            yield row_id, AccountingRecord(_decoded(record))

    def of_task(self, job_id: int, task_id: int) -> list[AccountingRecord]:
        """All records of a task, in the order of their end."""
        query = "select record from accounting where job_id=? and task_id=? order by id"
        return [AccountingRecord(_decoded(record)) for (record,) in self._db.execute(query, (job_id, task_id))]

    def last(self) -> int:
        """The row id of the newest record, 0 when there is none."""
        row = self._db.execute("select max(id) from accounting").fetchone()
        return int(row[0] or 0) if row else 0

    def search(self, body: Body, most_rows: int = MOST_ROWS, most_records: int = MOST_RECORDS) -> Body:
        """What the request `accounting` asks for (docs/gdi.md) behind the row `after`, and behind which row it goes on, or None.

        `records`: those that the filter means, or `fields` of them; with `group_by` instead `sums`
        (`gridengine.accounting.Sums`). Raises SyntaxFault.
        """
        meant = record_filter(body)
        sums = Sums(body["group_by"]) if "group_by" in body else None
        last, job_ids = body.get("after", 0), asked_ids(body)
        rows, end = self._rows(body, job_ids, last, most_rows)
        shown = fields_getter(body["fields"]) if "fields" in body else lambda record: record
        records: list[tuple[str, ...]] = []
        looked_at = 0
        for last, text in rows:  # noqa: B007 - where it stopped
            looked_at += 1
            record = AccountingRecord(_decoded(text))
            if meant(record):
                if sums is not None:
                    sums.add(record)
                else:
                    records.append(shown(record))
                    if len(records) == most_records:
                        break
        else:
            last = (last if looked_at == most_rows else 0) if job_ids is not None else end
        found: Body = {"records": records} if sums is None else {"sums": sums.rows()}
        return found | {"next": last or None}

    def _rows(self, body: Body, job_ids: list[int] | None, after: int, most: int) -> tuple[Iterator[tuple[int, bytes]], int]:
        """(row id, record as it is kept) of those that may be meant, and the row up to which these are all, 0 if of the table."""
        if job_ids is not None:
            where, values = _of_jobs(job_ids, after)
            return self._db.execute(f"select id, record {where} order by id limit ?", (*values, most)), 0
        end = after + most
        texts = [msgspec.json.encode(str(body[name])) for name in PLAIN if body.get(name)]
        # a record that does not have such a text anywhere need not be decoded
        tests = "".join(" and instr(record, ?)" for _ in texts)
        query = f"select id, record from accounting where id > ? and id <= ?{tests} order by id"
        return self._db.execute(query, (after, end, *texts)), end if end < self.last() else 0

    def holds_more_than(self, most: int, body: Body) -> bool:
        """Whether this search has to look at more rows than so many."""
        job_ids, after = asked_ids(body), int(body.get("after", 0))
        if job_ids is None:
            return self.last() - after > most
        where, values = _of_jobs(job_ids, after)
        # the index alone knows
        row = self._db.execute(f"select count(*) from (select 1 {where} limit ?)", (*values, most + 1)).fetchone()
        return row is not None and int(row[0]) > most


def asked_ids(body: Body) -> list[int] | None:
    """The numbers of the jobs that are asked for; None if they are not asked for by number."""
    parts = str(body.get("job", "")).split(",")
    return [int(part) for part in parts if len(part) <= _LONGEST_ID] if all(map(str.isdecimal, parts)) else None


def _of_jobs(job_ids: list[int] | None, after: int) -> tuple[str, tuple[int, ...]]:
    """The part of a query that says which rows: those of the jobs, or of all, after a row."""
    if job_ids is None:
        return "from accounting where id > ?", (after,)
    return f"from accounting where job_id in ({','.join('?' * len(job_ids))}) and id > ?", (*job_ids, after)
