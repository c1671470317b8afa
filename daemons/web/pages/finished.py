"""Finished jobs on pages: the records of `finished_jobs`, the paths of the output, and the possible actions.

Source: GU-12; sge_accounting(5), AC-1.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web import finished_jobs
from daemons.web.finished_jobs import FinishedTask
from daemons.web.pages import job_output
from daemons.web.pages.page import Data, Visit

MOST_TASKS = 100
"""Maximum of ended tasks on a page."""


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


async def outcomes(visit: Visit, numbers: Sequence[int]) -> dict[int, str]:
    """The outcomes of jobs as texts, by job number; empty while the qmaster is unreachable."""
    try:
        return await finished_jobs.outcomes(visit.shared, visit.caller, numbers)
    except NoQmasterError:
        return {}
