"""Jobs that have ended: how each task ended and what it used, for the list and the page of a job and for the REST API.

Owns that record. It comes from the accounting records, by the qmaster's index of job numbers (adr/0126), and from what the state
keeps of the last ended jobs. Source: sge_accounting(5), AC-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from daemons.qmaster.views.job_ends import outcome
from daemons.web.shared import Web
from gridengine.accounting import AccountingRecord
from gridengine.failed import TEXTS
from gridengine.gdi.requests import Caller
from gridengine.state.jobs import FinishedJob, Job

_NONE = ("", "NONE")
_MOST_PAGES = 30
"""Of the accounting records of one question; each has 5,000."""
_OF_SIGNALS = 128


class FinishedTask(NamedTuple):
    """The last attempt of a task. Times: epoch s; `wallclock`, `cpu`: s; `maxvmem`: bytes; `signal`: that ended it, 0 for none.

    `outcome`: how it ended, in words; `failed`: code of sge_status(5), 0 for none; `failed_text`: what that means.
    """

    id: int
    outcome: str
    failed: int
    failed_text: str
    exit_status: int
    signal: int
    host: str
    queue: str
    start_time: float
    end_time: float
    wallclock: float
    cpu: float
    maxvmem: float
    slots: int

    @property
    def is_good(self) -> bool:
        return not self.failed and not self.exit_status


class FinishedRecord(NamedTuple):
    """A job that has ended. `tasks`: those that ran, the failed ones first; `attempts`: how often they ran, all together.

    `resubmittable`: the qmaster still has what the job was submitted with. `command`, `cwd`, `stdout`, `stderr` (as -o and -e
    say) are known then alone.
    """

    id: int
    name: str
    owner: str
    group: str
    submit_time: float
    end_time: float
    failed: bool
    array: bool
    requested: str
    pe: str
    project: str
    department: str
    account: str
    ar: str
    attempts: int
    failed_tasks: int
    notes: dict[str, str]
    resubmittable: bool
    command: list[str]
    cwd: str
    stdout: list[tuple[str, str]]
    stderr: list[tuple[str, str]]
    merge: bool
    tasks: list[FinishedTask]
    finished: bool = True


async def finished_job(shared: Web, caller: Caller, number: int) -> FinishedRecord | None:
    """What is known of a job that has ended; None for one of which nothing is. Raises NoQmaster."""
    records = await _records(shared, caller, [number])
    kept = next((each for each in reversed(shared.mirror.state.finished) if each.id == number), None)
    if not records and kept is None:
        return None
    tasks = _last_of_each(records)
    bad = sum(not each.is_good for each in tasks)
    return FinishedRecord(
        id=number,
        **_origin(records[-1]) if records else _origin_without_records(kept),  # type: ignore[arg-type]
        end_time=max((each.end_time for each in tasks), default=kept.end_time if kept else 0.0),
        failed=bad > 0 or (kept is not None and kept.unsuccessful),
        array=bool(kept.tasks) if kept else any(each.id for each in tasks),
        attempts=len(records),
        failed_tasks=bad,
        **_request(kept.job if kept else None),
        tasks=tasks,
    )


async def ended_tasks(shared: Web, caller: Caller, number: int) -> list[FinishedTask]:
    """The tasks of a job that are over, also of one whose others are not. Raises NoQmaster."""
    return _last_of_each(await _records(shared, caller, [number]))


def _last_of_each(records: list[AccountingRecord]) -> list[FinishedTask]:
    """The last attempt of each task, the failed ones first."""
    last = {record.task_number: record for record in records}
    return sorted(map(_ended, last.values()), key=lambda each: (each.is_good, each.id))


async def outcomes(shared: Web, caller: Caller, numbers: Sequence[int]) -> dict[int, str]:
    """How jobs ended, in words, by their numbers: of an array how many tasks did not succeed. Raises NoQmaster."""
    last: dict[tuple[int, str], AccountingRecord] = {}
    for record in await _records(shared, caller, numbers):
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


async def _records(shared: Web, caller: Caller, numbers: Sequence[int]) -> list[AccountingRecord]:
    """Records of jobs without those of slave tasks, in the order of their ends. Raises NoQmaster."""
    body: dict[str, Any] = {"job": ",".join(map(str, numbers)), "master_only": True}
    found: list[AccountingRecord] = []
    for _ in range(_MOST_PAGES if numbers else 0):
        answer = await shared.ask("accounting", body, caller)
        data: Any = answer.data or {}
        found += [AccountingRecord(each) for each in data.get("records", ())]
        if not data.get("next"):
            break
        body["after"] = data["next"]
    return found


def _ended(record: AccountingRecord) -> FinishedTask:
    code, status = int(record.failed or 0), int(record.exit_status or 0)
    return FinishedTask(
        id=int(record.task_number or 0),
        outcome=outcome(record),
        failed=code,
        failed_text=TEXTS.get(code, "unknown") if code else "",
        exit_status=status,
        signal=status - _OF_SIGNALS if status > _OF_SIGNALS else 0,
        host=_text(record.hostname),
        queue=_text(record.qname),
        start_time=float(record.start_time or 0),
        end_time=float(record.end_time or 0),
        wallclock=float(record.ru_wallclock or 0),
        cpu=float(record.cpu or 0),
        maxvmem=float(record.maxvmem or 0),
        slots=int(record.slots or 0),
    )


def _origin(record: AccountingRecord) -> dict[str, Any]:
    return {
        **{"name": record.job_name, "owner": record.owner, "group": record.group, "submit_time": float(record.submission_time)},
        **{"requested": _text(record.category), "pe": _text(record.granted_pe), "project": _text(record.project)},
        **{"department": _text(record.department), "account": record.account, "notes": record.notes},
        "ar": record.arid if record.arid != "0" else "",
    }


def _origin_without_records(kept: FinishedJob) -> dict[str, Any]:
    """Of a job none of whose tasks ran."""
    unknown = dict.fromkeys(("group", "requested", "pe", "project", "department", "account", "ar"), "")
    return {**unknown, "name": kept.name, "owner": kept.owner, "submit_time": kept.submit_time, "notes": {}}


def _request(job: Job | None) -> dict[str, Any]:
    if job is None:
        unknown: dict[str, Any] = {"command": [], "cwd": "", "stdout": [], "stderr": [], "merge": False}
        return {"resubmittable": False, **unknown}
    files = {"stdout": list(job.stdout), "stderr": list(job.stderr), "merge": job.merge}
    return {"resubmittable": True, "command": [job.script_file, *job.args], "cwd": job.cwd, **files}


def _text(value: str) -> str:
    return "" if value in _NONE else value
