"""Usage of running tasks, and the share usage that includes it.

Owns which usage counts: measured or reserved, and only since the last clearing. Pure.
Source: sge_share_tree(5); qconf(1) -clearusage; EX-16, QF-33, PR-6, PR-7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial

from msgspec.structs import replace

from gridengine.state.jobs import Job, Task, Usage
from gridengine.state.share_usage import ShareUsage
from gridengine.state.state import State
from gridengine.usage.reserved_usage import Allocation, reserved
from gridengine.values.units import parse_memory

_MEMORY = ("h_vmem", "s_vmem")


def takes_reserved(state: State, host: str) -> bool:
    """Whether reserved instead of measured usage counts on a host: execd_params SHARETREE_RESERVED_USAGE (EX-16)."""
    return state.configuration(host).execd_params.sharetree_reserved_usage


def reserved_by(state: State, job: Job, task: Task, measured: Usage, until: float) -> Usage:
    """The reserved usage of a task until then (epoch s) in place of the measured usage."""
    limits: dict[str, float | None] = {name: parse_memory(job.hard[name]) for name in _MEMORY if name in job.hard}
    allocation = Allocation.of(task.slots or 1, limits, [name for name in limits if state.per_job(name)])
    values = reserved(allocation, max(0.0, until - (task.start_time or until)))
    return replace(measured, cpu=values["cpu"], mem=values.get("mem", measured.mem))


def counted(task: Task, used: Usage) -> Usage:
    """The part of `used` since usage was last cleared."""
    base = task.cleared or Usage()
    return Usage(used.cpu - base.cpu, used.mem - base.mem, used.io - base.io)


def is_kept(state: State, job: Job) -> bool:
    """Whether the usage of a job is kept: its owner or its project is configured."""
    return state.has("user", job.owner) or bool(job.project and state.has("project", job.project))


def share_usage(state: State, now: float) -> dict[tuple[str, str], ShareUsage]:
    """(user, project or "") -> usage at `now` (epoch s), including running tasks."""
    lives = state.scheduler.half_lives_s
    found = {
        (user, project): past.at(now, lives) for user, projects in state.share_usage.items() for project, past in projects.items()
    }
    for job, task, used in running_usage(state, (job for job in state.jobs.values() if is_kept(state, job)), now):
        key, more = (job.owner, job.project), counted(task, used)
        found[key] = found.get(key, ShareUsage(now)).plus(more.cpu, more.mem, more.io)
    return found


def running_usage(state: State, jobs: Iterable[Job], now: float) -> Iterator[tuple[Job, Task, Usage]]:
    """Usage of the running tasks of these jobs until `now` (epoch s), or their reserved usage where that counts."""
    reserving = cache(partial(takes_reserved, state))
    for job in jobs:
        for task in job.tasks.values():
            used = task.usage
            if task.granted and reserving(task.host):
                used = reserved_by(state, job, task, used or Usage(), now)
            if used is not None:
                yield job, task, used
