"""Suspend thresholds: jobs are suspended in steps while a threshold is reached, and resumed in the same steps.

Owns the choice of the tasks and the time. Source: queue_conf(5) suspend_thresholds, nsuspend, suspend_interval; QC-7 … QC-9.
"""

from __future__ import annotations

from daemons.schedd.view import View
from gridengine.placement.ledger import Ledger
from gridengine.placement.obstacles import suspend_alarm
from gridengine.protocols.orders import NEVER, SuspendOrder, earlier
from gridengine.state.jobs import Task
from gridengine.values.units import parse_time


def suspend_orders(view: View, ledger: Ledger, now: float) -> tuple[list[SuspendOrder], float]:
    """The suspensions and resumptions that are due, and the time of the next step."""
    found: list[SuspendOrder] = []
    next_time = NEVER
    rows = view.instance_table.rows
    for name in sorted(view.instances_with_thresholds(), key=lambda name: rows[name].index):
        if view.state.tasks_in.get(name):
            steps, due = _step(view, ledger, now, name)
            found += steps
            next_time = earlier(next_time, due)
        else:
            view.suspended_at.pop(name, None)
    return found, next_time


def _step(view: View, ledger: Ledger, now: float, name: str) -> tuple[list[SuspendOrder], float]:
    """One step for one instance, and the time of the next: the youngest tasks are suspended first, and resumed in the
    opposite order."""
    config = view.state.configs[name]
    alarm = bool(suspend_alarm(view.config_snapshot, ledger, name))
    tasks: list[tuple[float, int, int, Task]] = []
    for job_id, task_id in view.state.tasks_in[name]:
        task = view.state.task(job_id, task_id)
        if task is None or task.status != "running" or ("threshold_suspended" in task.conditions) == alarm:
            continue
        # a task that is suspended already for another reason gives no relief
        if not (alarm and task.suspensions):
            tasks.append((task.start_time, job_id, task_id, task))
    if not tasks:
        return [], NEVER
    interval = float(parse_time(config.text["suspend_interval"]))
    due = view.suspended_at.get(name, 0.0) + interval
    if now < due:
        return [], due
    view.suspended_at[name] = now
    tasks.sort(key=lambda entry: entry[:3], reverse=alarm)
    count = max(1, int(config.text["nsuspend"]))
    steps = [SuspendOrder(job_id, task_id, task.attempt, alarm) for _, job_id, task_id, task in tasks[:count]]
    return steps, now + interval if len(tasks) > count else NEVER
