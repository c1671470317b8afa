"""State codes of jobs and queue instances as qstat prints them, by one pure function each.

Owns the codes and their order: that of `CODE_ORDER` for jobs, a A C D d u s E S c o P for queue instances.
Source: sge_status(5); statements ST-32 (jobs), QI-1 … QI-12 (queue instances); O for the order.
"""

from __future__ import annotations

from gridengine.state.conditions import CODE_ORDER, CONDITIONS, SUSPENSION_CODES
from gridengine.state.dependencies import blocked_tasks, is_task_blocked
from gridengine.state.desired_command import suspending_instances
from gridengine.state.jobs import Job, Task
from gridengine.state.queues import QueueInstance
from gridengine.state.state import State
from gridengine.values.ranges import Ranges


def held_tasks(state: State, job: Job, tasks: Ranges) -> Ranges:
    """Return the given tasks that are blocked by a hold or a dependency (DP-2, DP-4)."""
    if state.waits_for(job):
        return tasks
    held = Ranges()
    for kept in job.holds.values():
        held = held | kept
    if job.array_predecessors:
        held = held | blocked_tasks(state, job)
    return tasks & held if held else held


def pending_state_codes(state: State, job: Job, task_id: int, task: Task | None = None) -> str:
    """State code of a task that is not at a host: `qw`, `hqw`, `Eqw`, `Rq`, `hRq` …"""
    held = bool(job.holds and job.held(task_id)) or bool(state.waits_for(job)) or is_task_blocked(state, job, task_id)
    return _pending_state_code(job, held, task)


def _pending_state_code(job: Job, held: bool, task: Task | None = None) -> str:
    error = "E" if job.error or (task is not None and task.error) else ""
    return f"{error}{'h' if held else ''}{'Rq' if task is not None and task.restarts else 'qw'}"


def pending_groups(state: State, job: Job) -> list[tuple[str, Ranges]]:
    """The pending tasks of a job by state code and holds: (state code, tasks), first the tasks with fewer holds (ST-17; O).

    Tasks with different holds are separate although their codes are equal: different commands release them.
    """
    tasks = job.pending
    if not (job.tasks or job.is_array):
        # most of ten thousand jobs: one task, never started
        return [(_pending_state_code(job, bool(job.holds) or bool(state.waits_for(job))), tasks)] if tasks else []
    groups: dict[tuple[int, str], Ranges] = {}
    if tasks:
        held = held_tasks(state, job, tasks) if job.holds or job.predecessors or job.array_predecessors else Ranges()
        for holds, part in _by_holds(job, tasks):
            for is_held, group in ((True, part & held), (False, part - held if held else part)):
                if group:
                    groups[holds, _pending_state_code(job, is_held)] = group
    for task in job.tasks.values():
        if task.waits:
            key = (int(job.held(task.id)), pending_state_codes(state, job, task.id, task))
            groups[key] = groups.get(key, Ranges()) | Ranges.of((task.id,))
    ordered = sorted(groups.items(), key=lambda group: (group[0][0], group[1].first)) if len(groups) > 1 else groups.items()
    return [(state_codes, group) for (_, state_codes), group in ordered]


def _by_holds(job: Job, tasks: Ranges) -> list[tuple[int, Ranges]]:
    """Tasks by the hold types that are set for them."""
    parts = [(0, tasks)]
    for kind, kept in job.holds.items():
        split = [(holds | kind, part & kept) for holds, part in parts] + [(holds, part - kept) for holds, part in parts]
        parts = [(holds, part) for holds, part in split if part]
    return parts


def running_state_codes(state: State, job: Job, task: Task) -> str:
    """State code of a task at a host: `r`, `t`, `s`, `S`, `Ss`, `dr`, `Rr`, `hr` …"""
    stopped = suspending_instances(state, task)
    if not (task.conditions or stopped or job.holds or task.restarts):
        return "t" if task.status == "transferring" else "r"  # most of ten thousand tasks
    codes = {CONDITIONS[name].code for name in task.conditions}
    if stopped:
        codes.add("S")
    if task.status == "transferring":
        codes = codes - SUSPENSION_CODES | {"t"}
    elif codes.isdisjoint(SUSPENSION_CODES):
        codes.add("r")
    if job.holds and job.held(task.id):
        codes.add("h")
    if task.restarts:
        codes.add("R")
    return "".join(sorted(codes, key=CODE_ORDER.index))


def instance_state_codes(state: State, instance: QueueInstance, alarm: bool = False, suspend_alarm: bool = False) -> str:
    """State code of a queue instance. `alarm`, `suspend_alarm`: load and suspend thresholds, which placement computes."""
    host = state.hosts.get(instance.host)
    return (
        "a" * alarm
        + "A" * suspend_alarm
        + "C" * instance.calendar_suspended
        + "D" * instance.calendar_disabled
        + "d" * (instance.disabled or (host is not None and host.drained is not None))
        + "u" * (host is None or not host.up)
        + "E" * bool(instance.errors)
        + "S" * instance.subordinated
        + "s" * instance.suspended
        + "c" * (instance.name in state.ambiguous)
        + "o" * instance.orphaned
        + "P" * instance.preempted
    )
