"""Finished jobs: the outcome and the usage of each task, for the list and the page of a job and for the REST API.

Owns the record of a finished job. Its sources are the accounting records, by the qmaster's index of job numbers (adr/0126), and
the last finished jobs in the state. Source: sge_accounting(5), AC-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from daemons.qmaster.queries.job_ends import outcome
from daemons.web.shared import Web
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import FinishedJob, Job
from gridengine.usage.accounting import AccountingRecord
from gridengine.usage.failed import TEXTS

_NONE = ("", "NONE")
_MAX_PAGES = 30
"""Maximum pages of accounting records for one request; a page has 5,000 records."""
_SIGNAL_OFFSET = 128


class FinishedTask(NamedTuple):
    """The last attempt of the task `id`, 0 for a job that is not an array. Times: epoch s; `wallclock`, `cpu`: s; `maxvmem`:
    bytes; `signal`: cause of the end, or 0.

    `outcome`: a text; `failed`: code of sge_status(5), 0 for none; `failed_text`: the meaning of this code.
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
    """A finished job, `id`. `tasks`: all that ran, failed tasks first; `attempts`: total number of their runs; `failed_tasks`:
    number of failed tasks. `array`: it has numbered tasks; `requested`: its requests as in the accounting record; `notes`:
    descriptive fields by label; `finished`: always true, for readers of the JSON form.

    `resubmittable`: the qmaster still has the submission of the job. Only then `command`, `cwd`, `stdout` and `stderr` (the
    values of -o and -e) are known.
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
    """The record of a finished job; None for an unknown job. Raises NoQmasterError."""
    records = await _records(shared, caller, [number])
    kept = next((each for each in reversed(shared.mirror.state.finished) if each.id == number), None)
    if not records and kept is None:
        return None
    tasks = _last_attempts(records)
    failed_count = sum(not each.is_good for each in tasks)
    return FinishedRecord(
        id=number,
        **_origin_fields(records[-1]) if records else _origin_without_records(kept),  # type: ignore[arg-type]
        end_time=max((each.end_time for each in tasks), default=kept.end_time if kept else 0.0),
        failed=failed_count > 0 or (kept is not None and kept.unsuccessful),
        array=bool(kept.tasks) if kept else any(each.id for each in tasks),
        attempts=len(records),
        failed_tasks=failed_count,
        **_request_fields(kept.job if kept else None),
        tasks=tasks,
    )


async def ended_tasks(shared: Web, caller: Caller, number: int) -> list[FinishedTask]:
    """The finished tasks of a job, which may have other tasks. Raises NoQmasterError."""
    return _last_attempts(await _records(shared, caller, [number]))


def _last_attempts(records: list[AccountingRecord]) -> list[FinishedTask]:
    """The last attempt of each task, failed tasks first."""
    last = {record.task_number: record for record in records}
    return sorted(map(_finished_task, last.values()), key=lambda each: (each.is_good, each.id))


async def outcomes(shared: Web, caller: Caller, numbers: Sequence[int]) -> dict[int, str]:
    """The outcome of jobs as a text, by their numbers; of an array the number of failed tasks. Raises NoQmasterError."""
    last: dict[tuple[int, str], AccountingRecord] = {}
    for record in await _records(shared, caller, numbers):
        last[int(record.job_number), record.task_number] = record
    by_job: dict[int, list[AccountingRecord]] = {}
    for (number, _), record in last.items():
        by_job.setdefault(number, []).append(record)
    return {number: _combined_outcome(records) for number, records in by_job.items()}


def _combined_outcome(records: list[AccountingRecord]) -> str:
    if len(records) == 1:
        return outcome(records[0])
    failed_count = sum(not _finished_task(record).is_good for record in records)
    return f"{failed_count} of {len(records)} tasks failed" if failed_count else f"{len(records)} tasks succeeded"


async def _records(shared: Web, caller: Caller, numbers: Sequence[int]) -> list[AccountingRecord]:
    """Records of jobs without their slave tasks, in the order of their ends. Raises NoQmasterError."""
    body: dict[str, Any] = {"job": ",".join(map(str, numbers)), "master_only": True}
    records: list[AccountingRecord] = []
    for _ in range(_MAX_PAGES if numbers else 0):
        answer = await shared.ask("accounting", body, caller)
        data: Any = answer.data or {}
        records += [AccountingRecord(each) for each in data.get("records", ())]
        if not data.get("next"):
            break
        body["after"] = data["next"]
    return records


def _finished_task(record: AccountingRecord) -> FinishedTask:
    code, status = int(record.failed or 0), int(record.exit_status or 0)
    return FinishedTask(
        id=int(record.task_number or 0),
        outcome=outcome(record),
        failed=code,
        failed_text=TEXTS.get(code, "unknown") if code else "",
        exit_status=status,
        signal=status - _SIGNAL_OFFSET if status > _SIGNAL_OFFSET else 0,
        host=_text(record.hostname),
        queue=_text(record.qname),
        start_time=float(record.start_time or 0),
        end_time=float(record.end_time or 0),
        wallclock=float(record.ru_wallclock or 0),
        cpu=float(record.cpu or 0),
        maxvmem=float(record.maxvmem or 0),
        slots=int(record.slots or 0),
    )


def _origin_fields(record: AccountingRecord) -> dict[str, Any]:
    return {
        "name": record.job_name, "owner": record.owner, "group": record.group, "submit_time": float(record.submission_time),
        "requested": _text(record.category), "pe": _text(record.granted_pe), "project": _text(record.project),
        "department": _text(record.department), "account": record.account, "notes": record.notes,
        "ar": record.arid if record.arid != "0" else "",
    }


def _origin_without_records(kept: FinishedJob) -> dict[str, Any]:
    """The origin fields of a job without started tasks."""
    unknown = dict.fromkeys(("group", "requested", "pe", "project", "department", "account", "ar"), "")
    return {**unknown, "name": kept.name, "owner": kept.owner, "submit_time": kept.submit_time, "notes": {}}


def _request_fields(job: Job | None) -> dict[str, Any]:
    if job is None:
        unknown: dict[str, Any] = {"command": [], "cwd": "", "stdout": [], "stderr": [], "merge": False}
        return {"resubmittable": False, **unknown}
    files = {"stdout": list(job.stdout), "stderr": list(job.stderr), "merge": job.merge}
    return {"resubmittable": True, "command": [job.script_file, *job.args], "cwd": job.cwd, **files}


def _text(value: str) -> str:
    return "" if value in _NONE else value
