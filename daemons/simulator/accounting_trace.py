"""A trace from accounting records: the requests of each job, and the run times of its tasks.

Owns the way from records to jobs. The requests are in the field `category`. Source: sge_accounting(5), AC-3.
"""

from __future__ import annotations

from collections.abc import Iterable

from daemons.simulator.trace import JobTrace, TracedJob, TracedTask, TraceFaults, in_order
from gridengine.usage.accounting import AccountingRecord

_NONE = frozenset({"NONE", "", "UNKNOWN"})
_NEVER_RAN = "records of tasks that never ran, left out"
_BACKWARDS = "records that end before they start, or start before their submission, left out"

_JobKey = tuple[str, str]


def trace_of_records(records: Iterable[AccountingRecord]) -> JobTrace:
    """The jobs of these records. Of a task that ran several times, the last run counts; slave tasks belong to their job."""
    jobs: dict[_JobKey, TracedJob] = {}
    tasks: dict[_JobKey, dict[int, TracedTask]] = {}
    faults = TraceFaults()
    for record in records:
        if record.pe_taskid != "NONE":
            continue
        submit, start, end = float(record.submission_time), float(record.start_time), float(record.end_time)
        if not (start and end):
            faults.note(_NEVER_RAN, f"job {record.job_number}")
            continue
        if submit < 0 or not submit <= start <= end:
            faults.note(_BACKWARDS, f"job {record.job_number}")
            continue
        key = record.job_number, record.submission_time
        if key not in jobs:
            jobs[key], tasks[key] = _job(record), {}
        number = int(float(record.task_number))
        failed = record.failed not in ("0", "") or record.exit_status not in ("0", "")
        used = (float(record.cpu), float(record.mem), float(record.io))
        tasks[key][number] = TracedTask(number, end - start, *used, failed)
    for key, job in jobs.items():
        job.tasks = [tasks[key][number] for number in sorted(tasks[key])]
    return in_order(list(jobs.values()), faults)


def _job(record: AccountingRecord) -> TracedJob:
    job = TracedJob(
        number=int(float(record.job_number)),
        submit_time=float(record.submission_time),
        owner=record.owner,
        group=record.group,
        project="" if record.project in _NONE else record.project,
        name=record.job_name or "job",
        is_array=record.task_number not in ("0", ""),
    )
    _add_requests(job, record.category)
    if not job.pe and record.granted_pe not in _NONE:
        job.pe, job.pe_range = record.granted_pe, record.slots
    return job


def _add_requests(job: TracedJob, category: str) -> None:
    """Read the options of a category string: `-soft` is for the -l behind it."""
    options = iter([] if category in _NONE else category.split())
    is_soft = False
    for option in options:
        if option in ("-soft", "-hard"):
            is_soft = option == "-soft"
        elif option == "-l":
            (job.soft if is_soft else job.hard).extend(filter(None, next(options, "").split(",")))
        elif option == "-pe":
            job.pe, job.pe_range = next(options, ""), next(options, "1")
        elif option == "-q" and not is_soft:
            job.queues = tuple(next(options, "").split(","))
        elif option == "-masterq":
            job.master_queues = tuple(next(options, "").split(","))
