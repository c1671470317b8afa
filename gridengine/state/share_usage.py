"""Share usage: past usage of users and projects, as the share tree policy counts it.

Owns the amounts, their decay and their clearing. `State.share_usage` holds user -> project ("" for none) -> amounts of ended
tasks; the usage of running tasks is in the tasks and is added on request. Usage is kept for configured users and projects, and
deleted with them. Pure. Source: sge_sched_conf(5) halftime,
halflife_decay_list; sge_share_tree(5); qconf(1) -clearusage; QF-33, PR-6, PR-7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gridengine.state.configured.scheduler import RUNNING_ONLY
from gridengine.state.jobs import Job, Task, Usage
from gridengine.usage.reserved_usage import Allocation, reserved
from gridengine.values.units import parse_memory

if TYPE_CHECKING:
    from gridengine.state.state import State

_MEMORY = ("h_vmem", "s_vmem")


class ShareUsage(Struct, omit_defaults=True):
    """Amounts as they were at `time` (epoch s), decayed until then: cpu s, mem GB s, io GB; `ltcpu`, `ltmem`, `ltio`: totals
    without decay."""

    time: float = 0.0
    cpu: float = 0.0
    mem: float = 0.0
    io: float = 0.0
    ltcpu: float = 0.0
    ltmem: float = 0.0
    ltio: float = 0.0

    def at(self, time: float, half_lives: Mapping[str, float]) -> ShareUsage:
        """The amounts decayed further until `time`; half_lives: seconds by kind."""
        age = max(0.0, time - self.time)
        left = {name: getattr(self, name) * remaining(age, half_lives[name]) for name in ("cpu", "mem", "io")}
        return replace(self, time=max(time, self.time), **left)

    def plus(self, cpu: float, mem: float, io: float) -> ShareUsage:
        """The amounts plus additional usage; none falls below 0."""
        decayed = [max(0.0, was + more) for was, more in ((self.cpu, cpu), (self.mem, mem), (self.io, io))]
        in_all = [max(0.0, was + more) for was, more in ((self.ltcpu, cpu), (self.ltmem, mem), (self.ltio, io))]
        return ShareUsage(self.time, *decayed, *in_all)


def remaining(age: float, half_life: float) -> float:
    """The remaining fraction of an amount, 0..1, after `age` seconds."""
    if half_life == RUNNING_ONLY:
        return 0.0
    return 1.0 if half_life == 0 else float(0.5 ** (age / half_life))


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
