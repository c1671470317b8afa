"""The expected start of a pending job, derived from limits of running jobs, reservations and calendars.

Owns the estimate. Called by `gridengine.placement.explanation`.
"""

from __future__ import annotations

from datetime import datetime, tzinfo

from gridengine.placement.pending import paused_tasks
from gridengine.placement.reasons import Reason
from gridengine.placement.verify import Verifier
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.syntax.calendar import ON, next_change
from gridengine.values.units import INFINITY, parse_time


def not_before(job: Job, now: float) -> float:
    """The earliest start by the job's own start time and pauses, epoch seconds; 0.0 if there is none."""
    return max(job.start_after, min((task.paused_until for task in paused_tasks(job, now)), default=0.0))


def calendar_opening(state: State, reasons: list[Reason], now: float, zone: tzinfo) -> float:
    """When the first queue instance opens (epoch s), if only calendars block the job; else 0."""
    local = datetime.fromtimestamp(now, zone).replace(tzinfo=None)
    moments = []
    for reason in reasons:
        if reason.code != "calendar":
            return 0.0
        changed = next_change(state.calendars[state.configs[reason.place].calendar], local)
        if changed is not None and changed[1] == ON:
            moments.append(changed[0].replace(tzinfo=zone).timestamp())
    return min(moments, default=0.0)


def expected_start(state: State, job: Job, now: float, zone: tzinfo) -> float:
    """The latest time at which the job would fit, if running jobs use their whole run time and no job overtakes it; 0 if
    unknown. A reservation of the scheduler (-R y) takes precedence. now, result: epoch seconds.
    """
    planned = [each.start_time for each in state.job_reservations if each.job_id == job.id and each.start_time > now]
    if planned:
        return min(planned)
    ends = []
    for other in state.jobs.values():
        for task in other.tasks.values():
            if task.granted and (seconds := run_time_limit(state, other, task)) != INFINITY:
                ends.append((max(now, task.start_time + seconds), other.id, task.id, other, task))
    ends.sort(key=lambda end: end[:3])
    tasks = [(other, task) for *_, other, task in ends]

    verifier = Verifier(state, False, now, zone)

    def fits(count: int) -> bool:
        return bool(verifier.verify(job, tasks[:count])[0])

    if not ends or not fits(len(ends)):
        return 0.0
    least, most = 1, len(ends)
    while least < most:
        middle = (least + most) // 2
        if fits(middle):
            most = middle
        else:
            least = middle + 1
    return ends[least - 1][0]


def run_time_limit(state: State, job: Job, task: Task) -> float:
    """Run time limit of a task in seconds: its request, or the limit of its queue instances. INFINITY: no limit."""
    configs = [state.configs[grant.instance] for grant in task.granted if grant.instance in state.configs]
    found = [config.execution.limits.get("h_rt", INFINITY) for config in configs]
    if "h_rt" in job.hard and job.hard["h_rt"].upper() != "INFINITY":
        found.append(float(parse_time(job.hard["h_rt"])))
    return min(found, default=INFINITY)
