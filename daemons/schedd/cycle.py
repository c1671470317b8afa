"""schedule(view, now) -> orders: one cycle of the scheduler.

Owns the order of its steps: bring the view up to date, who wants to run, in which order, where. Reads no clock and
changes nothing but the caches of the view. Called by the actor, by tests and by the bench.
"""

from __future__ import annotations

from datetime import UTC, tzinfo

from daemons.schedd.dispatch import Dispatch
from daemons.schedd.look_ahead import LookAhead
from daemons.schedd.priorities import Priority, Weights, prioritise
from daemons.schedd.reserved import AnyCategory
from daemons.schedd.schedule_lines import schedule_lines
from daemons.schedd.suspend_thresholds import suspend_orders
from daemons.schedd.tickets import Entrant, in_force, tickets
from daemons.schedd.view import View
from gridengine.orders import JobFault, Orders
from gridengine.placement.calendar_windows import CalendarWindows
from gridengine.placement.ledger import Ledger
from gridengine.placement.pending import job_waits, paused_tasks, ready_tasks
from gridengine.placement.reserved import reservation_waits
from gridengine.placement.timeline import Timeline
from gridengine.state.jobs import NO_TICKETS, Job
from gridengine.state.state import State

Active = tuple[Job, AnyCategory, bool]
"""A job that takes part in the policies, its category, and whether it wants to run (another) task."""

DECAY_STEP_S = 10.0
"""How long jobs that found no place wait for the decay of load corrections before the next look."""

NO_PRIORITY: Priority = (0.0, 0.0, 0.0, 0.0)
"""What jobs show that are not looked at: held, dependent, in error. Source: O (qstat of a held job)."""


def schedule(view: View, now: float, zone: tzinfo = UTC) -> Orders:
    """Orders for the state as it is. now: epoch seconds; zone: that of calendars. With the same view, state and now always
    the same orders."""
    orders = Orders(view.state.revision)
    view.begin()
    adjustments = view.board.adjustments
    ledger = Ledger(view.state, adjustments=adjustments, corrections=load_corrections(view, now) if adjustments else None)
    view.refresh(ledger)
    scheduler = view.state.scheduler
    _look_at_calendars(view, now, zone)
    pending = _collect(view, orders, now)
    wanted = any(category.reserves for *_, category in pending)
    look_ahead = None
    if wanted or view.state.reservations:
        line = Timeline(view.state, now)
        ledger = ledger.looking_ahead(line, told=wanted)
        look_ahead = LookAhead(view, ledger, line, zone) if wanted else None
    dispatch = Dispatch(view, ledger, orders, now, look_ahead)
    for _, _, _, job, category in pending:
        try:
            dispatch.run(job, category)
        except Exception as error:  # noqa: BLE001 - one job must not keep the others from running
            orders.faults.append(JobFault.of(job, error))
            view.distrust()
    if ledger.corrections and any(category.stuck for category in view.categories.values()):
        orders.next_time = min(orders.next_time or now + DECAY_STEP_S, now + DECAY_STEP_S)
    made = look_ahead.made if look_ahead is not None else []
    orders.job_reservations = [one.published(view.state) for one in made]
    if made:
        view.look_again()
    if scheduler.monitor:
        orders.schedule = schedule_lines(view, now, orders.starts, made)
    view.touched({grant.host for order in orders.starts for grant in order.granted})
    suspend_orders(view, ledger, orders, now)
    view.forget_jobs()
    return orders


def _look_at_calendars(view: View, now: float, zone: tzinfo) -> None:
    """Let jobs start only where they end before an off time, if the scheduler looks ahead at all (CA-8)."""
    view.board.windows = None
    scheduler = view.state.scheduler
    if scheduler.max_reservation > 0 and view.board.has_calendars:
        view.board.windows = CalendarWindows(view.state, now, zone, scheduler.duration_offset_s)


def _collect(view: View, orders: Orders, now: float) -> list[tuple[float, float, int, Job, AnyCategory]]:
    """Jobs to serve, in order, without those of categories that are stuck; changed priorities go into the orders."""
    active = _active(view, orders, now)
    try:
        priorities = _priorities(view, active, orders, now)
    except Exception:  # noqa: BLE001 - one job must not keep the others from running
        active = [one for one in active if _is_sound(view, one, orders, now)]
        priorities = _priorities(view, active, orders, now)
    reported = view.state.scheduler.report_pjob_tickets
    known = view.state.priorities
    order: list[tuple[float, float, int, Job, AnyCategory]] = []
    for (job, category, wants), priority in zip(active, priorities, strict=True):
        shown = priority if reported or not wants else NO_PRIORITY
        if known.get(job.id, NO_PRIORITY) != shown:
            orders.priorities[job.id] = shown
        if wants and not (category.stuck and not job.now):
            order.append((-priority[0], job.submit_time, job.id, job, category))
    order.sort(key=_first_three)
    return order


def _active(view: View, orders: Orders, now: float) -> list[Active]:
    """Jobs that run or want to, in the order of the state. Those that cannot be understood become faults."""
    state = view.state
    active: list[Active] = []
    for job in state.jobs.values():
        runs = waits = wants = False
        if not job.error:
            for task in job.tasks.values():  # plain loops: every job is looked at in every cycle
                if task.granted:
                    runs = True
                elif not task.error:
                    waits = True
        try:
            wants = (waits or bool(job.pending.runs)) and not job.error and _may_run(view, job, orders, now)
            if wants or runs:
                active.append((job, view.category(job), wants))
        except Exception as error:  # noqa: BLE001 - one job must not keep the others from running
            orders.faults.append(JobFault.of(job, error))
            continue
        if job.now and not wants and not job.tasks:
            orders.give_up.append(job.id)  # a hold or a dependency keeps it: it cannot start at once (SO-22)
        if not (wants or runs) and state.priorities.get(job.id, NO_PRIORITY) != NO_PRIORITY:
            orders.priorities[job.id] = NO_PRIORITY
    return active


def _priorities(view: View, active: list[Active], orders: Orders, now: float) -> list[Priority]:
    """The priority of each of these jobs; changed tickets go into the orders."""
    shares = _tickets(view.state, active, view.state.scheduler.report_pjob_tickets, orders, now)
    return prioritise(Weights(view.state.scheduler), [one[:2] for one in active], shares, now)


def _is_sound(view: View, one: Active, orders: Orders, now: float) -> bool:
    """Whether the policies can deal with the job; it becomes a fault otherwise."""
    try:
        _priorities(view, [one], Orders(orders.revision), now)
    except Exception as error:  # noqa: BLE001 - one job must not keep the others from running
        orders.faults.append(JobFault.of(one[0], error))
        return False
    return True


def _tickets(state: State, active: list[Active], reported: bool, orders: Orders, now: float) -> list[float]:
    """The tickets of each of these jobs by all policies; what has changed of them goes into the orders, unless those of
    waiting jobs are not `reported`."""
    known = state.tickets
    if not (known or any(job.override_tickets for job, _, _ in active) or in_force(state)):
        return [0.0] * len(active)
    held = [sum(1 for task in job.tasks.values() if task.granted) if job.tasks else 0 for job, _, _ in active]
    found = tickets(state, [Entrant(job, n, wants) for (job, _, wants), n in zip(active, held, strict=True)], now)
    for (job, _, wants), each in zip(active, found, strict=True):
        shown = each if reported or not wants else NO_TICKETS
        if known.get(job.id, NO_TICKETS) != shown:
            orders.tickets[job.id] = shown
    gone = known.keys() - {job.id for job, _, _ in active} if known else ()
    orders.tickets.update(dict.fromkeys(gone, NO_TICKETS))
    return [sum(each) for each in found]


def _first_three(entry: tuple[float, float, int, Job, AnyCategory]) -> tuple[float, float, int]:
    return entry[:3]


def _may_run(view: View, job: Job, orders: Orders, now: float) -> bool:
    """Whether any of the job's waiting tasks may be placed in this cycle. Notes when time alone will let it."""
    if (job.predecessors or job.start_after) and job_waits(view.state, job, now) is not None:
        if job.start_after > now and (not orders.next_time or job.start_after < orders.next_time):
            orders.next_time = job.start_after
        return False
    paused = paused_tasks(job, now) if job.tasks else []
    if paused:
        first = min(task.paused_until for task in paused)
        orders.next_time = min(orders.next_time or first, first)
    if job.ar and reservation_waits(view.state, job) is not None:
        return False
    waits = job.holds or job.array_predecessors or paused
    return not waits or next(ready_tasks(view.state, job, now), None) is not None


def load_corrections(view: View, now: float) -> dict[str, float]:
    """Host -> slots started lately, each decayed linearly to 0 over load_adjustment_decay_time. Source: LS-6."""
    decay = view.state.scheduler.load_adjustment_decay_time_s
    found: dict[str, float] = {}
    for job in view.state.jobs.values():
        for task in job.tasks.values():
            left = 1.0 - (now - task.start_time) / decay
            if task.granted and left > 0:
                for grant in task.granted:
                    found[grant.host] = found.get(grant.host, 0.0) + grant.slots * min(1.0, left)
    return found
