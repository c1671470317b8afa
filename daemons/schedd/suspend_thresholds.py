"""Suspend thresholds: jobs are suspended in steps while a threshold is reached, and resumed in the same steps.

Owns which task and when. Source: queue_conf(5) suspend_thresholds, nsuspend, suspend_interval; QC-7 … QC-9.
"""

from __future__ import annotations

from daemons.schedd.view import View
from gridengine.orders import Orders, SuspendOrder
from gridengine.placement.ledger import Ledger
from gridengine.placement.obstacles import suspend_alarm
from gridengine.state.jobs import Task
from gridengine.units import parse_time


def suspend_orders(view: View, ledger: Ledger, orders: Orders, now: float) -> None:
    """Add the suspensions and resumptions that are due, and when the next step is."""
    places = view.board.places
    for name in sorted(view.thresholds_matter(), key=lambda name: places[name].index):
        if view.state.tasks_in.get(name):
            _step(view, ledger, orders, now, name)
        else:
            view.suspended_at.pop(name, None)


def _step(view: View, ledger: Ledger, orders: Orders, now: float, name: str) -> None:
    """One step for one instance: the youngest are suspended first, and resumed in the opposite order."""
    config = view.state.configs[name]
    alarm = bool(suspend_alarm(view.site, ledger, name))
    tasks: list[tuple[float, int, int, Task]] = []
    for job_id, task_id in view.state.tasks_in[name]:
        task = view.state.task(job_id, task_id)
        if task is None or task.status != "running" or task.threshold_suspended == alarm:
            continue
        # what stands still for another reason gives no relief
        if not (alarm and (task.suspended or task.subordinated)):
            tasks.append((task.start_time, job_id, task_id, task))
    if not tasks:
        return
    interval = float(parse_time(config.text["suspend_interval"]))
    due = view.suspended_at.get(name, 0.0) + interval
    if now < due:
        orders.next_time = min(orders.next_time or due, due)
        return
    view.suspended_at[name] = now
    tasks.sort(key=lambda entry: entry[:3], reverse=alarm)
    count = max(1, int(config.text["nsuspend"]))
    for _, job_id, task_id, task in tasks[:count]:
        orders.suspends.append(SuspendOrder(job_id, task_id, task.attempt, alarm))
    if len(tasks) > count:
        orders.next_time = min(orders.next_time or now + interval, now + interval)
