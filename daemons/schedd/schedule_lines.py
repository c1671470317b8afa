"""Schedule lines: the running, started and reserved tasks of a scheduling run, for common/schedule.

Owns the form: job:task:state:start:duration:level:object:resource:use, a line of colons first. Times in epoch seconds and
seconds, the offset of durations included; a job without a limit lasts to the end of 32-bit time. Levels: P parallel
environment, G cluster, H host, Q queue instance; only consumables of that level. Source: O; SC-10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from daemons.schedd.look_ahead import Reservation
from daemons.schedd.view import View
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.timeline import Timeline
from gridengine.protocols.orders import StartOrder
from gridengine.state.bookings import Amounts, Bookings, Holder, Kind, bookings_of
from gridengine.state.jobs import Grant
from gridengine.values.units import INFINITY

INTERVAL = "::::::::"
_LEVEL_CODES: dict[Kind, str] = {"pe": "P", "cluster": "G", "host": "H", "instance": "Q"}
END_OF_TIME = 0xFFFFFFFF


def schedule_lines(view: View, now: float, starts: Iterable[StartOrder], reservations: Iterable[Reservation]) -> list[str]:
    """The lines of one run. now: epoch seconds."""
    state, timeline = view.state, Timeline(view.state, now)
    found = [INTERVAL]
    for job in state.jobs.values():
        for task in job.tasks.values():
            if task.granted:
                status = "SUSPENDED" if task.suspensions else "RUNNING"
                charged = state.amounts(task.resources)
                head = _head(job.id, task.id, status, task.start_time, timeline.end_of(job, task))
                found += _lines(view.config_snapshot, head, task.granted, charged, task.pe)
    for order in starts:
        request = view.category(state.jobs[order.job_id]).request
        head = _head(order.job_id, order.task_id, "STARTING", now, now + request.duration + timeline.offset)
        found += _lines(view.config_snapshot, head, order.granted, request.charged, order.pe)
    for reservation in reservations:
        fit, request = reservation.fit, reservation.category.request
        end = fit.start + request.duration + timeline.offset
        head = _head(reservation.job_id, reservation.task_id, "RESERVING", fit.start, end)
        found += _lines(view.config_snapshot, head, fit.granted, request.charged, fit.pe)
    return found


def _head(job_id: int, task_id: int, status: str, start: float, end: float) -> str:
    over = END_OF_TIME if end >= INFINITY else int(end)
    return f"{job_id}:{task_id}:{status}:{int(start)}:{over - int(start)}"


def _lines(config_snapshot: PlacementConfig, head: str, granted: list[Grant], charged: Amounts, pe: str) -> Iterator[str]:
    """The PE first, then from the cluster down to the queues; only consumables of each level."""
    taken = Bookings()
    taken.book(bookings_of(granted, charged, pe))
    for kind, level_code in _LEVEL_CODES.items():
        for holder, name, amount in taken.entries():
            if holder.kind == kind and _consumed(config_snapshot, holder, name):
                yield f"{head}:{level_code}:{holder.name}:{name}:{amount:f}"


def _consumed(config_snapshot: PlacementConfig, holder: Holder, name: str) -> bool:
    """Return whether the holder has a capacity of the consumable; a PE always has a capacity of slots."""
    if holder.kind == "instance" and holder.name not in config_snapshot.state.configs:
        return False
    return holder.kind == "pe" or name in config_snapshot.capacities[holder].fixed
