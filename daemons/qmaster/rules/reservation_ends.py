"""The end of an advance reservation, by the clock or by qrdel: first the end of its jobs, then its removal.

Owns these events. Called by `reservations` (qrdel) and by the timers. Source: AR-55, AR-97, AR-104, AR-105.
"""

from __future__ import annotations

from typing import Literal

from daemons.qmaster.decision import Decision
from daemons.qmaster.rules.ends import ended_without_host
from gridengine.state.machines.job import PendingTasksDeleted
from gridengine.state.machines.reservation import ReservationEnding, ReservationRemoved
from gridengine.state.machines.task import TaskDeletionRequested
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.usage.failed import ENFORCED


def end_reservation(
    state: State,
    reservation: AdvanceReservation,
    how: Literal["x", "d"],
    by: str,
    now: float,
    force: bool = False,
    why: str = "",
) -> Decision:
    """The end of a reservation, as far as possible now. If its events include `ReservationRemoved`, the reservation is gone.

    Pending tasks are deleted at once. Tasks at a host are killed and the reservation waits for them, unless `force`: then they
    end without an answer of their hosts, as with qdel -f.
    """
    decision = Decision()
    number = reservation.id
    if not reservation.ending:
        decision.events.append(ReservationEnding(number, how, by, now, why))
    waiting = False
    over = f"the end of advance reservation {number}"
    for job_id in sorted(state.reserved.jobs[number]):
        job = state.jobs[job_id]
        pending = job.waiting
        if pending:
            decision.events.append(PendingTasksDeleted(job_id, pending, by, now))
        for task in sorted(job.tasks.values(), key=lambda task: task.id):
            if task.waits:
                continue
            if force:
                decision += ended_without_host(state, job, task, now, ENFORCED, over)
                continue
            waiting = True
            if not task.deleted_by:
                decision.events.append(TaskDeletionRequested(job_id, task.id, by))
                decision.why[job_id, task.id] = over
    if not waiting:
        decision.events.append(ReservationRemoved(number, now))
    return decision
