"""The forecast of a job: its expected start, its priority term by term, and the jobs before it: /jobs/NUMBER/forecast.

Owns the page, which asks the qmaster twice; a process answers there (adr/0310). The page is opened by a link and does not reload
itself. Source: PR-1 … PR-9; docs/policies.md.
"""

from __future__ import annotations

from typing import Any

from daemons.web.pages.page import Data, NotFoundError, Page, Visit
from gridengine.protocols.gdi.requests import Answer


async def job_forecast(visit: Visit) -> Data:
    """The expected start and the order of a job. Raises NotFoundError for a job that does not exist."""
    number = visit.parts["job"]
    if not (number.isascii() and number.isdigit() and len(number) < 8):
        raise NotFoundError(f'"{number}" is not the number of a job')
    bodies = {about: {"jobs": [number], "about": about} for about in ("start", "order")}
    answers = {about: await visit.shared.ask("forecast", body, visit.caller) for about, body in bodies.items()}
    found = {about: _job(answer) for about, answer in answers.items()}
    refusal = " ".join(text for answer in answers.values() for _, text in answer.answers)
    if not refusal and not all(found.values()):
        raise NotFoundError(f"There is no job {number}")
    return {"number": int(number), "start": found["start"], "order": found["order"], "refusal": refusal}


def _job(answer: Answer) -> dict[str, Any]:
    """The job of an answer; {} for none."""
    data: Any = answer.data or {}
    jobs: list[dict[str, Any]] = data.get("jobs", [])
    return jobs[0] if jobs else {}


PAGES = [Page("/jobs/{job}/forecast", "forecast.html", job_forecast)]
