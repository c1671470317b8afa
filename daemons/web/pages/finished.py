"""Jobs that have ended: how each task ended and what it used, from the accounting records, for the list and the page of a job.

The records come from the qmaster's index by job number (adr/0126), for the rows that are shown. Source: sge_accounting(5), AC-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from daemons.qmaster.views.job_ends import outcome
from daemons.runtime.qmaster_link import NoQmaster
from daemons.web.pages.page import Data, Visit
from gridengine.accounting import AccountingRecord
from gridengine.failed import TEXTS

_MOST_TASKS = 100
_NONE = ("", "NONE")


class EndedTask(NamedTuple):
    """The last attempt of a task. Times: epoch s; `wallclock`, `cpu`: s; `maxvmem`: bytes; `failed`: code, "" for none."""

    task: str
    outcome: str
    failed: str
    exit_status: str
    host: str
    queue: str
    start_time: float
    end_time: float
    wallclock: float
    cpu: float
    maxvmem: float
    slots: str

    @property
    def is_good(self) -> bool:
        return not self.failed and self.exit_status == "0"


async def finished_job(visit: Visit, number: int) -> Data | None:
    """What the accounting records say of a job that has ended; None where there are none, or the qmaster is away."""
    records = await _records(visit, [number])
    if not records:
        return None
    last = {record.task_number: record for record in records}
    tasks = sorted((_ended(record) for record in last.values()), key=lambda each: (each.is_good, int(each.task or 0)))
    first = records[-1]
    return {
        **{"name": first.job_name, "owner": first.owner, "group": first.group, "submit_time": float(first.submission_time)},
        **{"project": _text(first.project), "department": _text(first.department), "account": first.account},
        **{"requested": _text(first.category), "pe": _text(first.granted_pe), "notes": first.notes},
        **{"ar": first.arid if first.arid != "0" else "", "attempts": len(records), "array": tasks[0].task != ""},
        **{"tasks": tasks[:_MOST_TASKS], "more": max(0, len(tasks) - _MOST_TASKS)},
        "bad": sum(not each.is_good for each in tasks),
    }


async def outcomes(visit: Visit, numbers: Sequence[int]) -> dict[int, str]:
    """How jobs ended, in words, by their numbers: of an array how many tasks did not succeed."""
    last: dict[tuple[int, str], AccountingRecord] = {}
    for record in await _records(visit, numbers):
        last[int(record.job_number), record.task_number] = record
    found: dict[int, list[AccountingRecord]] = {}
    for (number, _), record in last.items():
        found.setdefault(number, []).append(record)
    return {number: _together(records) for number, records in found.items()}


def _together(records: list[AccountingRecord]) -> str:
    if len(records) == 1:
        return outcome(records[0])
    bad = sum(not _ended(record).is_good for record in records)
    return f"{bad} of {len(records)} tasks failed" if bad else f"{len(records)} tasks succeeded"


async def _records(visit: Visit, numbers: Sequence[int]) -> list[AccountingRecord]:
    """Records of jobs without those of slave tasks, in the order of their ends."""
    if not numbers:
        return []
    body = {"job": ",".join(map(str, numbers)), "master_only": True}
    try:
        answer = await visit.shared.ask("accounting", body, visit.caller)
    except NoQmaster:
        return []
    found: list[list[str]] = answer.data["records"] if isinstance(answer.data, dict) else []
    return [AccountingRecord(each) for each in found]


def _ended(record: AccountingRecord) -> EndedTask:
    code = int(record.failed or 0)
    return EndedTask(
        task=record.task_number if record.task_number != "0" else "",
        outcome=outcome(record),
        failed=f"{code}: {TEXTS.get(code, 'unknown')}" if code else "",
        exit_status=record.exit_status,
        host=_text(record.hostname),
        queue=_text(record.qname),
        start_time=float(record.start_time or 0),
        end_time=float(record.end_time or 0),
        wallclock=float(record.ru_wallclock or 0),
        cpu=float(record.cpu or 0),
        maxvmem=float(record.maxvmem or 0),
        slots=record.slots,
    )


def _text(value: str) -> str:
    return "" if value in _NONE else value
