"""Why jobs are pending, ranked, with the smallest change that helps: the reading request `explain_job` (qexplain).

Owns the choice of jobs; the reasoning is `gridengine.placement.explanation`. Pure.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import msgspec

from daemons.qmaster.selection import select_jobs
from gridengine.placement.explanation import explanation
from gridengine.state.jobs import Job
from gridengine.state.letters import pending_groups
from gridengine.state.state import State


def explain_jobs(state: State, targets: list[str], now: float, zone: tzinfo) -> dict[str, Any]:
    """{"jobs": [{"id", "name", "owner", "pending": tasks, "running": count, "causes", "change", "expected_start"}],
    "unknown": [target]}. now: epoch seconds; zone: that of calendars. Raises SyntaxFault.
    """
    found: dict[int, dict[str, Any]] = {}
    unknown = []
    for target, selected in select_jobs(state, targets) if targets else ():
        if not selected:
            unknown.append(target)
        for job in (each.job for each in selected if each.job.id not in found):
            found[job.id] = _explained(state, job, now, zone)
    return {"jobs": [found[job_id] for job_id in sorted(found)], "unknown": unknown}


def _explained(state: State, job: Job, now: float, zone: tzinfo) -> dict[str, Any]:
    groups = pending_groups(state, job)
    pending = ",".join(str(tasks) for _, tasks in groups)
    running = len(job.placed)
    explained = {"id": job.id, "name": job.name, "owner": job.owner, "array": job.is_array}
    explained |= {"pending": pending, "running": running, "causes": [], "change": None, "expected_start": 0.0}
    return explained | msgspec.to_builtins(explanation(state, job, now, zone)) if groups else explained
