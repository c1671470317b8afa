"""Finished jobs on pages: the records of `finished_jobs`, the paths of the output, and the possible actions.

Source: GU-12; sge_accounting(5), AC-1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web import finished_jobs
from daemons.web.finished_jobs import FinishedTask, ListedEnd
from daemons.web.job_rows import JobRow
from daemons.web.pages import job_output
from daemons.web.pages.formats import iso_time
from daemons.web.pages.page import Data, Visit

MOST_TASKS = 100
"""Maximum of ended tasks on a page."""

ENDED_COLUMNS = (
    "job", "name", "owner", "result", "exit_status", "failed", "run_time_s", "cpu_s", "cpu_efficiency", "peak_memory_bytes",
    "requested_memory_bytes", "queue_instances", "ended",
)
"""The columns of a file of ended jobs."""


def ended_csv(rows: Sequence[JobRow], ends: Mapping[int, ListedEnd]) -> list[tuple[Any, ...]]:
    """The rows of a file of ended jobs; empty cells for a job of which no task ran."""
    return [(row.id, row.name, row.owner, *_end_cells(row, ends.get(row.id)), iso_time(row.end_time)) for row in rows]


def _end_cells(row: JobRow, end: ListedEnd | None) -> tuple[Any, ...]:
    if end is None:
        return ("failed" if row.failed else "finished", *[""] * 8)
    efficiency = round(end.cpu / end.slot_seconds, 2) if end.slot_seconds else ""
    return (
        end.outcome, end.exit_status, end.failed_text, round(end.wallclock, 2), round(end.cpu, 2), efficiency,
        int(end.maxvmem), int(end.requested_memory) or "", " ".join(end.instances),
    )


async def finished_job(visit: Visit, number: int, task: str) -> Data | None:
    """The record of a finished job; None if there is none, or the qmaster is unreachable."""
    try:
        record = await finished_jobs.finished_job(visit.shared, visit.caller, number)
    except NoQmasterError:
        return None
    if record is None:
        return None
    forgotten = "The script is no longer known: the qmaster only keeps the scripts of the last ended jobs."
    why_not = "" if record.resubmittable else forgotten
    return {
        **record._asdict(), "tasks": record.tasks[:MOST_TASKS], "more": max(0, len(record.tasks) - MOST_TASKS),
        "why_not_resubmit": why_not, "output": job_output.output_of_finished_job(visit, record, task),
        "files": job_output.files_of(record, record.array),
    }


async def ended_tasks(visit: Visit, number: int) -> list[FinishedTask]:
    """The ended tasks of a job; empty while the qmaster is unreachable."""
    try:
        return await finished_jobs.ended_tasks(visit.shared, visit.caller, number)
    except NoQmasterError:
        return []


async def job_ends(visit: Visit, numbers: Sequence[int]) -> dict[int, ListedEnd]:
    """The ends of jobs, by job number; empty while the qmaster is unreachable."""
    try:
        return await finished_jobs.job_ends(visit.shared, visit.caller, numbers)
    except NoQmasterError:
        return {}
