"""Jobs that have ended as pages show them: what `finished_jobs` knows, where the output is, and what can be done.

Source: GU-12; sge_accounting(5), AC-1.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemons.runtime.qmaster_client import NoQmaster
from daemons.web import finished_jobs
from daemons.web.finished_jobs import FinishedTask
from daemons.web.pages import job_output
from daemons.web.pages.page import Data, Visit

MOST_TASKS = 100
"""Ended tasks that a page shows."""


async def finished_job(visit: Visit, number: int, task: str) -> Data | None:
    """What is known of a job that has ended; None for one of which nothing is, or while the qmaster is away."""
    try:
        record = await finished_jobs.finished_job(visit.shared, visit.caller, number)
    except NoQmaster:
        return None
    if record is None:
        return None
    why_not = "" if record.resubmittable else "The script is no longer known: only those of the last ended jobs are kept."
    return {
        **record._asdict(),
        **{"tasks": record.tasks[:MOST_TASKS], "more": max(0, len(record.tasks) - MOST_TASKS)},
        **{"why_not_resubmit": why_not, "output": job_output.shown_with_ended(visit, record, task)},
        "files": job_output.files_of(record, record.array),
    }


async def ended_tasks(visit: Visit, number: int) -> list[FinishedTask]:
    """The tasks of a job that are over; none while the qmaster is away."""
    try:
        return await finished_jobs.ended_tasks(visit.shared, visit.caller, number)
    except NoQmaster:
        return []


async def outcomes(visit: Visit, numbers: Sequence[int]) -> dict[int, str]:
    """How jobs ended, in words, by their numbers; nothing while the qmaster is away."""
    try:
        return await finished_jobs.outcomes(visit.shared, visit.caller, numbers)
    except NoQmaster:
        return {}
