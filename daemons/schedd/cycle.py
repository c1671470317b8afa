"""schedule(view, now) -> orders: one cycle of the scheduler.

Owns the order of its steps: bring the view up to date, who wants to run, in which order, where. Reads no clock and
changes nothing but the caches of the view. Called by the actor, by tests and by the bench.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, tzinfo

from daemons.schedd.dispatch import Dispatch
from daemons.schedd.look_ahead import LookAhead
from daemons.schedd.priorities import Priority, Weights, prioritise
from daemons.schedd.reserved import AnyCategory
from daemons.schedd.schedule_lines import schedule_lines
from daemons.schedd.suspend_thresholds import suspend_orders
from daemons.schedd.tickets import Entrant, in_force, tickets
from daemons.schedd.view import View
from gridengine.orders import NEVER, JobFault, Orders, earlier
from gridengine.placement.calendar_windows import CalendarWindows
from gridengine.placement.ledger import Ledger
from gridengine.placement.pending import job_waits, paused_tasks, ready_tasks
from gridengine.placement.reserved import reservation_waits
from gridengine.placement.timeline import Timeline
from gridengine.state.jobs import NO_TICKETS, Job, Tickets
from gridengine.state.state import State

Active = tuple[Job, AnyCategory, bool]
"""A job that takes part in the policies, its category, and whether it wants to run (another) task."""

Pending = tuple[float, float, int, Job, AnyCategory]
"""What the place of a job in the order follows from (three figures), the job, and its category."""


@dataclass(slots=True)
class Survey:
    """One look at all jobs: who takes part, who is to be served in which order, and what is to be said of them.
    The fields with the names of those of `Orders` go there."""

    active: list[Active] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    priorities: dict[int, Priority] = field(default_factory=dict)
    tickets: dict[int, Tickets] = field(default_factory=dict)
    give_up: list[int] = field(default_factory=list)
    faults: list[JobFault] = field(default_factory=list)
    next_time: float = NEVER


DECAY_STEP_S = 10.0
"""How long jobs that found no place wait for the decay of load corrections before the next look."""

NO_PRIORITY: Priority = (0.0, 0.0, 0.0, 0.0)
"""What jobs show that are not looked at: held, dependent, in error. Source: O (qstat of a held job)."""


def schedule(view: View, now: float, zone: tzinfo = UTC) -> Orders:
    """Orders for the state as it is. now: epoch seconds; zone: that of calendars. With the same view, state and now always
    the same orders."""
    view.begin()
    adjustments = view.board.adjustments
    ledger = Ledger(view.state, adjustments=adjustments, corrections=load_corrections(view, now) if adjustments else None)
    view.refresh(ledger)
    scheduler = view.state.scheduler
    _look_at_calendars(view, now, zone)
    found = _collect(view, now)
    wanted = any(category.reserves for *_, category in found.pending)
    look_ahead = None
    if wanted or view.state.reservations:
        line = Timeline(view.state, now)
        ledger = ledger.looking_ahead(line, told=wanted)
        look_ahead = LookAhead(view, ledger, line, zone) if wanted else None
    dispatch = Dispatch(view, ledger, now, look_ahead)
    for _, _, _, job, category in found.pending:
        try:
            dispatch.run(job, category)
        except Exception as error:  # noqa: BLE001 - one job must not keep the others from running
            found.faults.append(JobFault.of(job, error))
            view.distrust()
    decays = ledger.corrections and any(category.stuck for category in view.categories.values())
    made = look_ahead.made if look_ahead is not None else []
    job_reservations = [one.published(view.state) for one in made]
    if made:
        view.look_again()
    lines = schedule_lines(view, now, dispatch.starts, made) if scheduler.monitor else []
    view.touched({grant.host for order in dispatch.starts for grant in order.granted})
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


def _look_at_calendars(view: View, now: float, zone: tzinfo) -> None:
    """Let jobs start only where they end before an off time, if the scheduler looks ahead at all (CA-8)."""
    view.board.windows = None
    scheduler = view.state.scheduler
    if scheduler.max_reservation > 0 and view.board.has_calendars:
        view.board.windows = CalendarWindows(view.state, now, zone, scheduler.duration_offset_s)


def _collect(view: View, now: float) -> Survey:
    """What all jobs ask of this cycle; `pending` without those of categories that are stuck."""
    found = _active(view, now)
    try:
        priorities, found.tickets = _priorities(view, found.active, now)
    except Exception:  # noqa: BLE001 - one job must not keep the others from running
        faults = [_fault(view, one, now) for one in found.active]
        found.active = [one for one, fault in zip(found.active, faults, strict=True) if fault is None]
        found.faults += [fault for fault in faults if fault is not None]
        priorities, found.tickets = _priorities(view, found.active, now)
    reported = view.state.scheduler.report_pjob_tickets
    known = view.state.priorities
    for (job, category, wants), priority in zip(found.active, priorities, strict=True):
        shown = priority if reported or not wants else NO_PRIORITY
        if known.get(job.id, NO_PRIORITY) != shown:
            found.priorities[job.id] = shown
        if wants and not (category.stuck and not job.now):
            found.pending.append((-priority[0], job.submit_time, job.id, job, category))
    found.pending.sort(key=_first_three)
    return found


def _active(view: View, now: float) -> Survey:
    """Jobs that run or want to, in the order of the state. Those that cannot be understood become faults."""
    state = view.state
    found = Survey()
    for job in state.jobs.values():
        runs = waits = wants = False
        if not job.error:
            for task in job.tasks.values():  # plain loops: every job is looked at in every cycle
                if task.granted:
                    runs = True
                elif not task.error:
                    waits = True
        try:
            if (waits or job.pending.runs) and not job.error:
                wants, when = _may_run(view, job, now)
                if when:
                    found.next_time = earlier(found.next_time, when)
            if wants or runs:
                found.active.append((job, view.category(job), wants))
        except Exception as error:  # noqa: BLE001 - one job must not keep the others from running
            found.faults.append(JobFault.of(job, error))
            continue
        if job.now and not wants and not job.tasks:
            found.give_up.append(job.id)  # a hold or a dependency keeps it: it cannot start at once (SO-22)
        if not (wants or runs) and state.priorities.get(job.id, NO_PRIORITY) != NO_PRIORITY:
            found.priorities[job.id] = NO_PRIORITY
    return found


def _priorities(view: View, active: list[Active], now: float) -> tuple[list[Priority], dict[int, Tickets]]:
    """The priority of each of these jobs, and the tickets that have changed."""
    shares, changed = _tickets(view.state, active, view.state.scheduler.report_pjob_tickets, now)
    return prioritise(Weights(view.state.scheduler), [one[:2] for one in active], shares, now), changed


def _fault(view: View, one: Active, now: float) -> JobFault | None:
    """Why the policies cannot deal with the job, None if they can."""
    try:
        _priorities(view, [one], now)
    except Exception as error:  # noqa: BLE001 - one job must not keep the others from running
        return JobFault.of(one[0], error)
    return None


def _tickets(state: State, active: list[Active], reported: bool, now: float) -> tuple[list[float], dict[int, Tickets]]:
    """The tickets of each of these jobs by all policies, and by job what has changed of them, unless those of waiting
    jobs are not `reported`."""
    known = state.tickets
    changed: dict[int, Tickets] = {}
    if not (known or any(job.override_tickets for job, _, _ in active) or in_force(state)):
        return [0.0] * len(active), changed
    held = [sum(1 for task in job.tasks.values() if task.granted) if job.tasks else 0 for job, _, _ in active]
    found = tickets(state, [Entrant(job, n, wants) for (job, _, wants), n in zip(active, held, strict=True)], now)
    for (job, _, wants), each in zip(active, found, strict=True):
        shown = each if reported or not wants else NO_TICKETS
        if known.get(job.id, NO_TICKETS) != shown:
            changed[job.id] = shown
    gone = known.keys() - {job.id for job, _, _ in active} if known else ()
    changed.update(dict.fromkeys(gone, NO_TICKETS))
    return [sum(each) for each in found], changed


def _first_three(entry: Pending) -> tuple[float, float, int]:
    return entry[:3]


def _may_run(view: View, job: Job, now: float) -> tuple[bool, float]:
    """Whether any of the job's waiting tasks may be placed in this cycle, and when time alone will let (more of) it."""
    if (job.predecessors or job.start_after) and job_waits(view.state, job, now) is not None:
        return False, job.start_after if job.start_after > now else NEVER
    paused = paused_tasks(job, now) if job.tasks else []
    when = min(task.paused_until for task in paused) if paused else NEVER
    if job.ar and reservation_waits(view.state, job) is not None:
        return False, when
    waits = job.holds or job.array_predecessors or paused
    return not waits or next(ready_tasks(view.state, job, now), None) is not None, when


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
