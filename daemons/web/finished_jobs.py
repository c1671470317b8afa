"""Finished jobs: the outcome and the usage of each task, for the list and the page of a job and for the REST API.

Owns the record of a finished job. Its sources are the accounting records, by the qmaster's index of job numbers (adr/0126), and
the last finished jobs in the state. Source: sge_accounting(5), AC-1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from daemons.qmaster.queries.job_ends import outcome
from daemons.web.shared import Web
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import FinishedJob, Job
from gridengine.usage.accounting import AccountingRecord
from gridengine.usage.failed import TEXTS
from gridengine.usage.requested_memory import requested_memory, requests_of_category
from gridengine.usage.unit_usage import UnitUsage, json_fields, sum_by_unit

_NONE = ("", "NONE")
_MAX_PAGES = 30
"""Maximum pages of accounting records for one request; a page has 5,000 records."""
_SIGNAL_OFFSET = 128


class FinishedTask(NamedTuple):
    """The last attempt of the task `id`, 0 for a job that is not an array. Times: epoch s; `wallclock`, `cpu`: s, `cpu` with
    slave tasks; `maxvmem`, `requested_memory` for all slots (0 for none): bytes; `signal`: cause of the end, or 0.

    `outcome`: a text; `failed`: code of sge_status(5), 0 for none; `failed_text`: the meaning of this code. `devices`: their use,
    the fields of `unit_usage.json_fields` each, with slave tasks.
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
    requested_memory: float
    devices: list[dict[str, Any]]

    @property
    def is_good(self) -> bool:
        return not self.failed and not self.exit_status

    @property
    def instance(self) -> str:
        """The queue instance, or the host of a task without a queue."""
        return f"{self.queue}@{self.host}" if self.queue else self.host


class ListedEnd(NamedTuple):
    """The end of a job in a list. `wallclock`: s from the first start to the last end; `slot_seconds`: the sum of wallclock ×
    slots of the tasks; `cpu`: s; `maxvmem`, `requested_memory`: bytes, of the task with the largest peak.

    `outcome`: a text; `instances`: the queue instances of its tasks.
    `exit_status`, `failed_text`: as texts, "" for an array of several tasks.
    """

    outcome: str
    exit_status: str
    failed_text: str
    wallclock: float
    slot_seconds: float
    cpu: float
    maxvmem: float
    requested_memory: float
    instances: tuple[str, ...]


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
        attempts=sum(_is_master(record) for record in records),
        failed_tasks=failed_count,
        **_request_fields(kept.job if kept else None),
        tasks=tasks,
    )


async def ended_tasks(shared: Web, caller: Caller, number: int) -> list[FinishedTask]:
    """The finished tasks of a job, which may have other tasks. Raises NoQmasterError."""
    return _last_attempts(await _records(shared, caller, [number]))


def _last_attempts(records: list[AccountingRecord]) -> list[FinishedTask]:
    """The last attempt of each task of a job, failed tasks first."""
    last = {record.task_number: record for record in records if _is_master(record)}
    cpu_of_slaves: defaultdict[str, float] = defaultdict(float)
    devices = {task: record.unit_usage for task, record in last.items()}
    for record in records:
        task = record.task_number
        if not _is_master(record) and task in last and float(record.start_time) >= float(last[task].start_time):
            cpu_of_slaves[task] += float(record.cpu or 0)
            devices[task] += record.unit_usage
    tasks = [_finished_task(record, cpu_of_slaves[task], devices[task]) for task, record in last.items()]
    return sorted(tasks, key=lambda each: (each.is_good, each.id))


async def job_ends(shared: Web, caller: Caller, numbers: Sequence[int]) -> dict[int, ListedEnd]:
    """The ends of jobs that have records, by their numbers. Raises NoQmasterError."""
    by_job: defaultdict[int, list[AccountingRecord]] = defaultdict(list)
    for record in await _records(shared, caller, numbers):
        by_job[int(record.job_number)].append(record)
    return {number: job_end(tasks) for number, records in by_job.items() if (tasks := _last_attempts(records))}


def job_end(tasks: Sequence[FinishedTask]) -> ListedEnd:
    """The end of a job with at least one task that ran."""
    first, largest = tasks[0], max(tasks, key=lambda task: task.maxvmem)
    failed_count, only = sum(not task.is_good for task in tasks), len(tasks) == 1
    result = f"{failed_count} of {len(tasks)} tasks failed" if failed_count else f"{len(tasks)} tasks succeeded"
    starts = [task.start_time for task in tasks if task.start_time]
    return ListedEnd(
        outcome=first.outcome if only else result,
        exit_status=str(first.exit_status) if only else "",
        failed_text=f"failed {first.failed}: {first.failed_text}" if only and first.failed else "",
        wallclock=max(task.end_time for task in tasks) - min(starts) if starts else 0.0,
        slot_seconds=sum(task.wallclock * task.slots for task in tasks),
        cpu=sum(task.cpu for task in tasks),
        maxvmem=largest.maxvmem,
        requested_memory=largest.requested_memory,
        instances=tuple(dict.fromkeys(task.instance for task in tasks)),
    )


async def _records(shared: Web, caller: Caller, numbers: Sequence[int]) -> list[AccountingRecord]:
    """Records of jobs with their slave tasks, in the order of their ends. Raises NoQmasterError."""
    body: dict[str, Any] = {"job": ",".join(map(str, numbers))}
    records: list[AccountingRecord] = []
    for _ in range(_MAX_PAGES if numbers else 0):
        answer = await shared.ask("accounting", body, caller)
        data: Any = answer.data or {}
        records += [AccountingRecord(each) for each in data.get("records", ())]
        if not data.get("next"):
            break
        body["after"] = data["next"]
    return records


def _is_master(record: AccountingRecord) -> bool:
    return record.pe_taskid in _NONE


def _finished_task(record: AccountingRecord, cpu_of_slaves: float, devices: list[UnitUsage]) -> FinishedTask:
    code, status, slots = int(record.failed or 0), int(record.exit_status or 0), int(record.slots or 0)
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
        cpu=float(record.cpu or 0) + cpu_of_slaves,
        maxvmem=float(record.maxvmem or 0),
        slots=slots,
        requested_memory=requested_memory(requests_of_category(record.category), slots)[1],
        devices=list(map(json_fields, sum_by_unit(devices))),
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
