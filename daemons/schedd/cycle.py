"""schedule(view, now) -> orders: one cycle of the scheduler.

Owns the order of its steps: update the view, select the jobs, sort them, place them. Reads no clock and changes only the
caches of the view. Called by the actor, by tests and by the bench.
"""

from __future__ import annotations

from datetime import UTC, tzinfo

from daemons.schedd.dispatch import Dispatch
from daemons.schedd.look_ahead import LookAhead
from daemons.schedd.schedule_lines import schedule_lines
from daemons.schedd.survey import survey
from daemons.schedd.suspend_thresholds import suspend_orders
from daemons.schedd.view import View
from gridengine.placement.calendar_windows import CalendarWindows
from gridengine.placement.ledger import Ledger
from gridengine.placement.timeline import Timeline
from gridengine.protocols.orders import NEVER, JobFault, Orders, earlier

DECAY_STEP_S = 10.0
"""While load corrections decay, blocked jobs are examined again after this time."""


def schedule(view: View, now: float, zone: tzinfo = UTC) -> Orders:
    """Orders for the current state. now: epoch seconds; zone: of calendars. Deterministic: the same view, state and `now`
    give the same orders."""
    view.begin()
    if not view.has_work:
        return _without_placement(view, now)
    adjustments = view.instance_table.adjustments
    corrections = view.corrections.at(now, view.changed) if adjustments else None
    ledger = Ledger(view.state, adjustments=adjustments, corrections=corrections)
    view.refresh(ledger)
    scheduler = view.state.scheduler
    _set_calendar_windows(view, now, zone)
    found = survey(view, now)
    look_ahead = None
    if found.reserves or view.state.reservations:
        timeline = Timeline(view.state, now)
        ledger = ledger.looking_ahead(timeline, includes_own_grants=found.reserves)
        look_ahead = LookAhead(view, ledger, timeline, zone) if found.reserves else None
    dispatch = Dispatch(view, ledger, now, look_ahead)
    for _, _, _, job, category in found.pending:
        try:
            dispatch.run(job, category)
        except Exception as error:  # noqa: BLE001 - one job must not keep the other jobs from running
            found.faults.append(JobFault.of(job, error))
            view.invalidate()
    decays = bool(ledger.corrections) and _wait_for_decay(view)
    reservations = look_ahead.reservations if look_ahead is not None else []
    job_reservations = [reservation.as_job_reservation(view.state) for reservation in reservations]
    if reservations:
        view.mark_all_changed()
    lines = schedule_lines(view, now, dispatch.starts, reservations) if scheduler.monitor else []
    view.mark_changed({grant.host for order in dispatch.starts for grant in order.granted})
    suspends, next_suspends = suspend_orders(view, ledger, now)
    view.forget_jobs()
    return Orders(
        view.state.revision,
        starts=dispatch.starts,
        suspends=suspends,
        priorities=found.priorities,
        tickets=found.tickets,
        give_up=found.give_up + dispatch.give_up,
        faults=found.faults,
        job_reservations=job_reservations,
        next_time=earlier(earlier(found.next_time, now + DECAY_STEP_S if decays else NEVER), next_suspends),
        schedule=lines,
    )


def _without_placement(view: View, now: float) -> Orders:
    """The orders if no task may start: the priorities of running jobs. The view keeps its notes for the next cycle."""
    found = survey(view, now)
    lines = schedule_lines(view, now, [], []) if view.state.scheduler.monitor else []
    view.forget_jobs()
    return Orders(
        view.state.revision,
        priorities=found.priorities,
        tickets=found.tickets,
        faults=found.faults,
        next_time=found.next_time,
        schedule=lines,
    )


def _wait_for_decay(view: View) -> bool:
    """Whether blocked jobs may start because load corrections decay: an instance is closed, or a request reads such a value."""
    if not any(category.is_blocked for category in view.categories.values()):
        return False
    return not view.corrections_only_rank() or any(not row.open for row in view.instance_table.rows.values())


def _set_calendar_windows(view: View, now: float, zone: tzinfo) -> None:
    """If the scheduler makes reservations, start jobs only where they end before an off time (CA-8)."""
    view.instance_table.windows = None
    scheduler = view.state.scheduler
    if scheduler.max_reservation > 0 and view.instance_table.has_calendars:
        view.instance_table.windows = CalendarWindows(view.state, now, zone, scheduler.duration_offset_s)
