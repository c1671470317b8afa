"""Ranked causes of pending jobs, with the smallest change that helps: the reading request `explain_job` (qexplain).

Owns the selection of jobs, and the facts that each caller may see. The reasoning is in `gridengine.placement.explanation`. Pure.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import msgspec

from daemons.qmaster.decide.jobs.alteration import unverified_parameters
from daemons.qmaster.permissions import is_operator
from daemons.qmaster.queries.placed_tasks import placed_tasks
from daemons.qmaster.selection import select_jobs
from gridengine.placement.causes import Asker
from gridengine.placement.explanation import explanation
from gridengine.placement.smallest_change import Change
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import Job
from gridengine.state.state import State
from gridengine.state.state_codes import pending_groups

_FIELDS = {"-l": "hard", "-q": "hard_queues", "-pe": "pe", "-alloc": "allocation_rule"}
"""Option of qalter in a change -> the field that it changes."""


def explain_jobs(
    state: State, targets: list[str], now: float, zone: tzinfo, caller: Caller, admin_user: str
) -> dict[str, Any]:
    """{"jobs": [{"id", "name", "owner", "pending": tasks, "running": count, "tasks", "causes", "change", "expected_start"}],
    "unknown": [target]}. now: epoch seconds; zone: time zone of calendars and times. Raises InvalidValueError.
    """
    operator = is_operator(state, caller, admin_user)
    found: dict[int, dict[str, Any]] = {}
    unknown = []
    for target, selected in select_jobs(state, targets) if targets else ():
        if not selected:
            unknown.append(target)
        for job in (each.job for each in selected if each.job.id not in found):
            asker: Asker = "operator" if operator else "owner" if job.owner == caller.user else "other"
            found[job.id] = _explain_job(state, job, now, zone, asker)
    return {"jobs": [found[job_id] for job_id in sorted(found)], "unknown": unknown}


def _explain_job(state: State, job: Job, now: float, zone: tzinfo, asker: Asker) -> dict[str, Any]:
    groups = pending_groups(state, job)
    pending = ",".join(str(tasks) for _, tasks in groups)
    running = len(job.placed)
    explained = {"id": job.id, "name": job.name, "owner": job.owner, "array": job.is_array}
    explained |= {"pending": pending, "running": running, "causes": [], "change": None, "expected_start": 0.0}
    explained["tasks"] = placed_tasks(state, job, zone)
    if not groups:
        return explained
    job_explanation = explanation(state, job, now, zone, asker)
    if job_explanation.change is not None and job_explanation.change.options:
        _hide_forbidden_change(state, job_explanation.change, asker)
    explained |= msgspec.to_builtins(job_explanation)
    return explained


def _hide_forbidden_change(state: State, change: Change, asker: Asker) -> None:
    """Hide a qalter command that the qmaster would refuse: from other users, and from all where a verifier protects a field."""
    fields = frozenset(field for option, field in _FIELDS.items() if option in change.options.split())
    if refused := unverified_parameters(state, fields):
        change.texts.append(f"submit it again with this change: this cell's verifier forbids changing {refused} of a job")
    if refused or asker == "other":
        change.options = ""
