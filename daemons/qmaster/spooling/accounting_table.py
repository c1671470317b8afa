"""The table of accounting records in the spool, and its search, a page at a time, which keeps each answer short.

Owns the table `accounting`. A job's records come from the index; any other search walks the table in the order of the
jobs' ends. A search for sums returns only sums. Called through `spool`, within its commits, and by `accounting_reader`,
a process that only reads. Light: no state, no Ray. Source: AC-2, QA-1 … QA-8; adr/0126.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import msgspec

from gridengine.usage.accounting import EXACT_FIELDS, AccountingRecord, Sums, fields_getter, record_filter

SCHEMA = """
create table if not exists accounting(id integer primary key, job_id integer, task_id integer, record blob);
create index if not exists accounting_job on accounting(job_id, task_id);
"""
MOST_ROWS = 250_000
"""Limit of rows that one search reads: about a second, during which other requests wait."""
MOST_RECORDS = 5_000
"""Limit of records in one answer: some megabytes."""

Body = dict[str, Any]
_LONGEST_ID = 9
_decode = msgspec.json.Decoder(list[str]).decode


class AccountingTable:
    """The accounting records in a spool with existing tables."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def add(self, records: Iterable[tuple[int, int, AccountingRecord]]) -> None:
        """Add (job id, task id, record) of ended attempts. Raises apsw.Error."""
        rows = ((job_id, task_id, msgspec.json.encode(record)) for job_id, task_id, record in records)
        self._db.executemany("insert into accounting(job_id, task_id, record) values(?,?,?)", rows)

    def records(
        self, job_ids: list[int] | None = None, after: int = 0, most: int = -1
    ) -> Iterator[tuple[int, AccountingRecord]]:
        """(row id, record) in the order of ends: of the given jobs or all jobs, after a row, at most `most` (-1: all)."""
        where, values = _select_clause(job_ids, after)
        for row_id, record in self._db.execute(f"select id, record {where} order by id limit ?", (*values, most)):
            yield row_id, AccountingRecord(_decode(record))

    def of_task(self, job_id: int, task_id: int) -> list[AccountingRecord]:
        """All records of a task, in the order of their end."""
        query = "select record from accounting where job_id=? and task_id=? order by id"
        return [AccountingRecord(_decode(record)) for (record,) in self._db.execute(query, (job_id, task_id))]

    def last(self) -> int:
        """The row id of the newest record, 0 when there is none."""
        row = self._db.execute("select max(id) from accounting").fetchone()
        return int(row[0] or 0) if row else 0

    def search(self, body: Body, most_rows: int = MOST_ROWS, most_records: int = MOST_RECORDS) -> Body:
        """Answer the request `accounting` (docs/gdi.md) for rows after `after`; `next`: the row to continue after, or None.

        `records`: the records that match the filter, or `fields` of them; with `group_by` instead `sums`
        (`gridengine.usage.accounting.Sums`). With `newest` the last rows come first, and `after` is the row before which the
        search continues. Raises InvalidValueError.
        """
        is_selected = record_filter(body)
        sums = Sums(body["group_by"]) if "group_by" in body else None
        last, job_ids = body.get("after", 0), requested_ids(body)
        rows, end = self._rows(body, job_ids, last, most_rows)
        shown = fields_getter(body["fields"]) if "fields" in body else lambda record: record
        records: list[tuple[str, ...]] = []
        looked_at = 0
        for last, text in rows:  # noqa: B007 - the row of the stop
            looked_at += 1
            record = AccountingRecord(_decode(text))
            if is_selected(record):
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
        """(row id, encoded record) of candidate rows, and the last row that was considered, 0 for the end of the table."""
        if job_ids is not None:
            where, values = _select_clause(job_ids, after)
            return self._db.execute(f"select id, record {where} order by id limit ?", (*values, most)), 0
        texts = [msgspec.json.encode(str(body[name])) for name in EXACT_FIELDS if body.get(name)]
        # a record without such a text anywhere need not be decoded
        tests = "".join(" and instr(record, ?)" for _ in texts)
        query = f"select id, record from accounting where id > ? and id <= ?{tests} order by id"
        if body.get("newest"):
            last = self._newest_before(after)
            first = max(0, last - most)
            return self._db.execute(f"{query} desc", (first, last, *texts)), first + 1 if first else 0
        end = after + most
        return self._db.execute(query, (after, end, *texts)), end if end < self.last() else 0

    def _newest_before(self, row: int) -> int:
        """The last row before a row; of all rows for 0."""
        return min(row - 1, self.last()) if row else self.last()

    def holds_more_than(self, most: int, body: Body) -> bool:
        """Whether this search has to read more than `most` rows."""
        job_ids, after = requested_ids(body), int(body.get("after", 0))
        if job_ids is None:
            return (self._newest_before(after) if body.get("newest") else self.last() - after) > most
        where, values = _select_clause(job_ids, after)
        # only the index is read
        row = self._db.execute(f"select count(*) from (select 1 {where} limit ?)", (*values, most + 1)).fetchone()
        return row is not None and int(row[0]) > most


def requested_ids(body: Body) -> list[int] | None:
    """The numbers of the requested jobs; None for a search that is not by job number."""
    parts = str(body.get("job", "")).split(",")
    return [int(part) for part in parts if len(part) <= _LONGEST_ID] if all(map(str.isdecimal, parts)) else None


def _select_clause(job_ids: list[int] | None, after: int) -> tuple[str, tuple[int, ...]]:
    """The part of a query that selects rows, and its values: rows of the jobs, or of all jobs, after a row."""
    if job_ids is None:
        return "from accounting where id > ?", (after,)
    return f"from accounting where job_id in ({','.join('?' * len(job_ids))}) and id > ?", (*job_ids, after)
