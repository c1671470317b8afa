"""Jobs on unreachable hosts that exceed their run time: the qmaster ends them itself.

Owns that rule; only if ENABLE_ENFORCE_MASTER_LIMIT of qmaster_params is set. Called by the timers of `master`. Processes that
are still there are killed when the host is back, as after any forced deletion. Source: sge_conf(5); RL-11.
"""

from __future__ import annotations

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.ends import ended_without_host
from daemons.qmaster.rules.lost_hosts import is_lost
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.usage.failed import ENFORCED
from gridengine.values.units import INFINITY, format_duration, parse_time

_RUN_TIMES = ("h_rt", "s_rt")


def end_overdue(state: State, world: World) -> Decision:
    """Ends of the tasks on a lost host whose h_rt or s_rt, plus DURATION_OFFSET, has passed."""
    decision = Decision()
    if not state.configuration().qmaster_params.enable_enforce_master_limit:
        return decision
    now, offset = world.now, state.scheduler.duration_offset_s
    for host in (host.name for host in state.hosts.values() if is_lost(host, now, world.started)):
        for job_id, task_id in sorted(state.tasks_on.get(host, ())):
            job = state.jobs[job_id]
            task = job.tasks[task_id]
            if task.host == host and task.start_time + _run_time(state, job, task) + offset < now:
                decision += ended_without_host(state, job, task, now, ENFORCED, _why(state, job, task))
    return decision


def _why(state: State, job: Job, task: Task) -> str:
    return f"its run time of {format_duration(_run_time(state, job, task))} is over, and host {task.host} is lost"


def _run_time(state: State, job: Job, task: Task) -> float:
    """The smallest of the run time limits of job and queue instance, seconds."""
    config = state.configs.get(task.granted[0].instance)
    limits = config.execution.limits if config is not None else {}
    requested = [parse_time(text) for name in _RUN_TIMES if (text := job.hard.get(name))]
    return min([*requested, *(limits[name] for name in _RUN_TIMES if name in limits)], default=INFINITY)
