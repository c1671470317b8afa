"""Accounting records from the accounting database, page by page.

Owns the question to sge_dbwriter, which runs on DuckDB and PostgreSQL, and the way from its rows to records. The database has no
-soft, no -masterq and no range of slots: all requests count as hard, and a job asks for the slots that it had. Called by
`command`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from gridengine.protocols import arco
from gridengine.usage.accounting import FIELDS, AccountingRecord

PAGE_ROWS = 20_000
_TIMES = ("j_submission_time", "ju_start_time", "ju_end_time")
_COLUMNS = (
    "ju_id",
    "j_job_number",
    "j_task_number",
    "j_job_name",
    "j_group",
    "j_owner",
    "j_project",
    "ju_failed",
    "ju_exit_status",
    "ju_granted_pe",
    "ju_slots",
    "ju_cpu",
    "ju_mem",
    "ju_io",
)
_REQUEST_LINES = "string_agg(jr_variable || '=' || jr_value, chr(10) ORDER BY jr_id)"
_REQUESTS = f"SELECT {_REQUEST_LINES} FROM sge_job_request WHERE jr_parent = j_id"
_NAMES = {"ju_failed": "failed", "ju_exit_status": "exit_status", "ju_granted_pe": "granted_pe", "ju_slots": "slots"}
_NAMES |= {"ju_cpu": "cpu", "ju_mem": "mem", "ju_io": "io"}
_NAMES |= {name: name.removeprefix("j_") for name in _COLUMNS if name.startswith("j_")}
_NAMES |= {name: name.partition("_")[2] for name in _TIMES}
_EMPTY = AccountingRecord(["NONE" if name in ("category", "pe_taskid") else "0" for name in FIELDS])


class QueryRows(Protocol):
    """Answers with rows: `clients.admin.arco.dbwriter_client.DbwriterClient`."""

    def rows(self, request: str, **fields: object) -> Any:
        """The answer, with `columns` and `rows`."""


def records_of_database(database: QueryRows) -> Iterator[AccountingRecord]:
    """The records of all tasks, in the order in which they were written. AdminError: sge_dbwriter does not answer."""
    last = 0
    while rows := database.rows(arco.SQL, sql=_question(last)).rows:
        for row in rows:
            yield _record(row)
        last = rows[-1][0]


def _question(last: int) -> str:
    """The next page behind the usage with the number `last`."""
    times = ", ".join(f"CAST(extract(epoch FROM {name}) AS bigint) AS {name}" for name in _TIMES)
    page = (
        f"SELECT j_id, {', '.join(_COLUMNS)}, {times} FROM sge_job JOIN sge_job_usage ON j_id = ju_parent "
        f"WHERE ju_id > {last} AND j_pe_taskid = 'NONE' ORDER BY ju_id LIMIT {PAGE_ROWS}"
    )
    return f"WITH page AS ({page}) SELECT {', '.join((*_COLUMNS, *_TIMES))}, ({_REQUESTS}) FROM page ORDER BY ju_id"


def _record(row: list[Any]) -> AccountingRecord:
    *values, requests = row
    known = zip((*_COLUMNS, *_TIMES), values, strict=True)
    fields = {_NAMES[name]: str(value) for name, value in known if name in _NAMES and value is not None}
    return _EMPTY.replace(**fields, category=_category(requests or "", fields.get("slots", "1")))


def _category(requests: str, slots: str) -> str:
    """The category of these requests, `NAME=VALUE` a line, which the database repeats for each run of a task; `q` and `pe` stand
    for the options."""
    options = []
    for line in dict.fromkeys(filter(None, requests.split("\n"))):
        name, _, value = line.partition("=")
        options.append(f"-q {value}" if name == "q" else f"-pe {value} {slots}" if name == "pe" else f"-l {line}")
    return " ".join(options) or "NONE"
