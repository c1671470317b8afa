"""All facts of single jobs for `qstat -j`, and the reasons of pending jobs.

Owns the selection of facts. Pure. Called through `daemons.qmaster.queries`. Statements ST-18 … ST-20, DP-6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, tzinfo
from typing import Any

from daemons.qmaster.permissions import may_see_values
from daemons.qmaster.queries.selection import Body, Listing
from daemons.qmaster.selection import select_jobs
from gridengine.placement.verify import explain, explain_all
from gridengine.protocols.gdi.job_request import REQUEST_FIELDS
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import Hold, Job, Task
from gridengine.state.machines.closed_units import closed_units_of
from gridengine.state.state import State
from gridengine.values.units import parse_time

_FIELDS = (
    *"id version submit_time owner uid group gid submit_host name hard soft department predecessors_requested".split(),
    *REQUEST_FIELDS,
)


def job_detail(
    listing: Listing,
    body: Body,
    caller: Caller,
    now: float,
    environment_of: Callable[[int], Mapping[str, str]] | None = None,
    zone: tzinfo = UTC,
    admin_user: str = "root",
) -> dict[str, Any]:
    """Body: `jobs` (ids, names, patterns; [] for the reasons of all pending jobs).

    Data: {"jobs": a dict a job, "unknown": targets without a job}, or with `jobs` empty {"reasons": [[text, ids]]}.
    Either has "note": the reasons that schedd_job_info leaves out, "" for none.
    `environment_of` returns the environment of a job, which is not in the state. Without this function, and for callers
    without the right to see the values, the answer has only names (values are null). Raises InvalidValueError.

    Deviation: 8.1.9 shows the values of -v and -V to all users.
    """
    state = listing.state
    if not body.get("jobs"):
        return {"reasons": _reasons_of_all(state, now, zone), "note": _note(state)}
    found: dict[int, dict[str, Any]] = {}
    unknown: list[str] = []
    for target in body["jobs"]:
        head = target.partition(".")[0]
        selected = select_jobs(state, [head if head.isdecimal() else target]).found[0][1]
        if not selected:
            unknown.append(target)
        for each in selected:
            seen = may_see_values(state, each.job.owner, caller, admin_user)
            environment = environment_of(each.job.id) if seen and environment_of is not None else None
            found[each.job.id] = _detail(listing, each.job, now, zone, environment)
    return {"jobs": [found[job_id] for job_id in sorted(found)], "unknown": unknown, "note": _note(state)}


def _detail(
    listing: Listing, job: Job, now: float, zone: tzinfo, environment: Mapping[str, str] | None
) -> dict[str, Any]:
    state = listing.state
    detail = {name: getattr(job, name) for name in _FIELDS}
    for kind in ("hard", "soft"):
        detail[kind] = {name: listing.request_text(name, text) for name, text in detail[kind].items()}
    entries = {name: entry for name in (*job.hard, *job.soft) if (entry := listing.config_snapshot.entries.get(name)) is not None}
    detail["complexes"] = {name: {"type": entry.type, "consumable": entry.consumable} for name, entry in entries.items()}
    detail["checkpoint_when"], detail["checkpoint_interval"] = _checkpoint(state, job)
    names = job.environment_names
    detail["environment"] = [[name, None if environment is None else environment.get(name, "")] for name in names]
    detail["array"] = (job.task_range or [job.array.first, job.array.last, job.array.step]) if job.array else None
    detail["predecessors"] = state.waits_for(job)
    detail["array_predecessors"] = [other for other in job.array_predecessors if other in state.jobs]
    dependents = sorted(other for other in state.dependents.get(job.id, ()) if other in state.jobs)
    detail["successors"] = [other for other in dependents if job.id in state.jobs[other].predecessors]
    detail["array_successors"] = [other for other in dependents if job.id in state.jobs[other].array_predecessors]
    detail["holds"] = {Hold(kind).name.lower(): str(tasks) for kind, tasks in job.holds.items()}  # type: ignore[union-attr]
    detail["priorities"] = state.priorities.get(job.id)
    detail["error"] = {"tasks": str(job.waiting), "reason": job.error} if job.error else None
    detail["tasks"] = [_task(state, task) for task in sorted(job.tasks.values(), key=lambda task: task.id)]
    explained = job.waits and _is_explained(state, job.id)
    detail["reasons"] = [reason.text for reason in explain(state, job, now, zone)] if explained else []
    return detail


def _checkpoint(state: State, job: Job) -> tuple[str, int]:
    """Occasions of checkpoints as characters of `nmsxr` (of -c, else the environment), and seconds between checkpoints or 0."""
    if not job.checkpoint:
        return job.checkpoint_when, 0
    environment = state.checkpoints.get(job.checkpoint)
    timed = job.checkpoint_when[:1].isdecimal()
    occasions = (environment.when if environment else "") if timed or not job.checkpoint_when else job.checkpoint_when
    interval = int(parse_time(job.checkpoint_when)) if timed else 0
    return "".join(occasion for occasion in "nmsxr" if occasion in occasions), interval


def _task(state: State, task: Task) -> dict[str, Any]:
    usage = task.usage
    return {
        "id": task.id,
        "status": task.status,
        "error": task.error,
        "mishap": task.mishap,
        "granted": [[grant.instance, grant.slots] for grant in task.granted],
        "pe": task.pe,
        "start_time": task.start_time,
        "restarts": task.restarts,
        "binding": task.confinement.binding if task.confinement else "",
        "memory": task.confinement.memory if task.confinement else "",
        "units": [[grant.host, grant.resource, grant.units] for grant in task.units],
        "closed_units": [list(closed) for closed in closed_units_of(state, task)],
        "unit_usage": [] if usage is None else usage.units,
        "usage": None if usage is None else [usage.cpu, usage.mem, usage.io, usage.iow, usage.vmem, usage.maxvmem],
    }


def _reasons_of_all(state: State, now: float, zone: tzinfo) -> list[list[Any]]:
    """The reasons of pending jobs, each with the numbers of its jobs."""
    listed = {reason: [n for n in ids if _is_explained(state, n)] for reason, ids in explain_all(state, now, zone).items()}
    return [[reason.text, ids] for reason, ids in listed.items() if ids]


def _note(state: State) -> str:
    """The reasons that schedd_job_info leaves out, in the text of 8.1.9; "" for none. Source: O."""
    explained = state.scheduler.explained
    if explained is None:
        return ""
    if explained:
        return "(Scheduler job information not available for every job)"
    return "(Collecting of scheduler job information is turned off)"


def _is_explained(state: State, job_id: int) -> bool:
    """Whether schedd_job_info lets the job be explained. Source: sge_sched_conf(5); SC-6."""
    explained = state.scheduler.explained
    return explained is None or job_id in explained
