"""The page of failures: tasks that failed in the last 24 hours or 7 days, counted by user, host, queue and result, and as a list.

Owns the choice of the records and the counts. The qmaster searches the accounting records, the newest first, in a process of
its own; one search ends after a limited number of rows, so an old and large cell costs no more. Source: AC-1, sge_status(5).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, NamedTuple

from daemons.qmaster.queries.job_ends import exit_text
from daemons.web.pages.formats import iso_time, link
from daemons.web.pages.page import CsvTable, Data, Page, Visit, rows_of_page
from gridengine.protocols.gdi.requests import Answer
from gridengine.usage.failed import AFTER_JOB, MIGRATING, RESCHEDULED, TEXTS

ROWS = 100
SEARCHED_ROWS = 250_000
"""Number of ended tasks that one search of the qmaster reads (`accounting_table.MOST_ROWS`)."""
_SPANS = {"1d": ("Last 24 hours", 86_400), "7d": ("Last 7 days", 7 * 86_400)}
_MOST_NAMED = 8
"""Rows of each count."""
_RUNS_AGAIN = (MIGRATING, RESCHEDULED)
"""Codes of attempts whose task runs again: no failures of the task."""
_FIELDS = (
    "job_number", "task_number", "job_name", "owner", "hostname", "qname", "failed", "exit_status", "end_time", "ru_wallclock",
)
_GROUPED = ("owner", "hostname", "qname", "failed", "exit_status")
#: title of the count, parameter of the address
_COUNTS = (("By user", "owner"), ("By host", "host"), ("By cluster queue", "queue"), ("By result", "result"))


class Failure(NamedTuple):
    """A failed task: the number of its `job` and of the `task`, 0 for a job that is not an array; `name`, `owner` of the job;
    `host` and cluster `queue` where it ran. `end_time`: epoch s; `wallclock`: s; `result`: a text."""

    job: int
    task: int
    name: str
    owner: str
    host: str
    queue: str
    result: str
    end_time: float
    wallclock: float

    @property
    def target(self) -> str:
        return f"{self.job}.{self.task}" if self.task else str(self.job)


class Failures(NamedTuple):
    """`counts`: (owner, host, queue, result) -> number of failed tasks. `latest`: the last failures, the newest first; `more`:
    whether there are further failures; `all_searched`: whether the search reached the first record of the cell;
    `fault`: of the search."""

    counts: Counter[tuple[str, str, str, str]]
    latest: list[Failure]
    more: bool
    all_searched: bool
    fault: str = ""


def result_text(failed: int, exit_status: int) -> str:
    """The result of a task: `exit status 3`, `killed by signal KILL`, or `failed 26: opening input/output file`."""
    return exit_text(exit_status) if failed in (0, AFTER_JOB) else f"failed {failed}: {TEXTS.get(failed, 'unknown')}"


async def failures(visit: Visit) -> Data:
    """The counts and the list, by `span`, `owner`, `host`, `queue` and `result` of the address."""
    chosen = {name: visit.parameter(name) for _, name in _COUNTS}
    selected = await _search(visit, chosen)
    shown, pager = rows_of_page(visit, selected.latest, ROWS)
    span = _span(visit)
    return pager | {
        "rows": shown, "chosen": chosen, "span": span, "fault": selected.fault,
        "spans": [(label, link(visit.here, span=name), None) for name, (label, _) in _SPANS.items()],
        "tab": link(visit.here, span=span),
        "count": selected.counts.total(), "jobs": len({each.job for each in selected.latest}),
        "counts": [(title, *_top(visit, selected, at, name)) for at, (title, name) in enumerate(_COUNTS)],
        "more": selected.more, "all_searched": selected.all_searched, "searched": SEARCHED_ROWS,
    }


async def failures_csv(visit: Visit) -> CsvTable:
    """The latest failures that match the filter."""
    columns = ("job", "task", "name", "owner", "host", "queue", "result", "ended", "run_time_s")
    selected = await _search(visit, {name: visit.parameter(name) for _, name in _COUNTS})
    return CsvTable("failures", columns, [
        (each.job, each.task or "", *each[2:7], iso_time(each.end_time), round(each.wallclock, 2)) for each in selected.latest
    ])


def _span(visit: Visit) -> str:
    return visit.parameter("span") if visit.parameter("span") in _SPANS else "1d"


def _top(visit: Visit, selected: Failures, at: int, name: str) -> tuple[list[tuple[str, int, str]], int]:
    """(value, number of failures, address of the list) of the values with the most failures, and the number of other values."""
    totals: Counter[str] = Counter()
    for key, count in selected.counts.items():
        totals[key[at]] += count
    largest = sorted(totals.items(), key=lambda each: (-each[1], each[0]))[:_MOST_NAMED]
    rows = [(value, count, link(visit.here, **{name: value})) for value, count in largest]
    return rows, len(totals) - len(rows)


async def _search(visit: Visit, chosen: dict[str, str]) -> Failures:
    """The failures in the span. Raises NoQmasterError."""
    body: Data = {name: value for name, value in chosen.items() if value and name != "result"}
    begin = max(0.0, visit.shared.mirror.now - _SPANS[_span(visit)][1])
    body |= {"begin": begin, "by_end": True, "unsuccessful": True, "master_only": True, "newest": True}
    sums, records = await asyncio.gather(
        visit.shared.ask("accounting", body | {"group_by": _GROUPED}, visit.caller),
        visit.shared.ask("accounting", body | {"fields": _FIELDS}, visit.caller),
    )
    if sums.status or records.status:
        return Failures(Counter(), [], False, True, " ".join(text for _, text in (sums if sums.status else records).answers))
    counts = _counts(sums, chosen["result"])
    latest = [each for each in _failures(records) if chosen["result"] in ("", each.result)]
    data: Any = sums.data
    return Failures(counts, latest, len(latest) < counts.total(), not data["next"])


def _counts(sums: Answer, result: str) -> Counter[tuple[str, str, str, str]]:
    counts: Counter[tuple[str, str, str, str]] = Counter()
    data: Any = sums.data
    for (owner, host, queue, failed, status), (number, *_) in data["sums"]:
        text = result_text(int(failed), int(status))
        if int(failed) not in _RUNS_AGAIN and result in ("", text):
            counts[owner, host, queue, text] += int(number)
    return counts


def _failures(records: Answer) -> list[Failure]:
    data: Any = records.data
    found = []
    for job, task, name, owner, host, queue, failed, status, end, wallclock in data["records"]:
        if int(failed) not in _RUNS_AGAIN:
            result = result_text(int(failed), int(status))
            found.append(Failure(int(job), int(task), name, owner, host, queue, result, float(end), float(wallclock)))
    return found


PAGES = [Page("/failures", "failures.html", failures, csv=failures_csv)]
