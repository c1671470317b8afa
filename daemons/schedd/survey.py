"""A survey of the jobs: who takes part in a cycle, in which order they are served, and what is said of their priorities.

Owns the choice between two ways to the same outcome. Where a job's priority follows from its category and its -p alone, which
`JobGroups` keeps over cycles, only jobs that are new, changed or restless are looked at; with tickets, or a weight of the
time that jobs wait, all are. Called by `daemons.schedd.cycle`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge

from daemons.schedd.job_groups import JobGroup
from daemons.schedd.priorities import Priority, Weights, prioritise
from daemons.schedd.reserved import AnyCategory
from daemons.schedd.tickets import TicketHolder, in_force, tickets
from daemons.schedd.view import View
from gridengine.orders import NEVER, JobFault, earlier
from gridengine.placement.pending import job_waits, paused_tasks, ready_tasks
from gridengine.placement.reserved import reservation_waits
from gridengine.state.jobs import NO_TICKETS, Job, Tickets
from gridengine.state.state import State

Active = tuple[Job, AnyCategory, bool]
"""A job that takes part in the policies, its category, and whether it wants to run (another) task."""

Pending = tuple[float, float, int, Job, AnyCategory]
"""What the place of a job in the order follows from (three figures), the job, and its category."""

NO_PRIORITY: Priority = (0.0, 0.0, 0.0, 0.0)
"""What jobs show that are not looked at: held, dependent, in error. Source: O (qstat of a held job)."""

MAX_REPORTED = 20_000
"""Priorities of jobs in lines that one cycle tells the qmaster: those of a million would keep it busy for a second."""

REPORT_MORE_S = 0.1
"""After which the next of them follow."""


@dataclass(slots=True)
class Survey:
    """Who takes part, who is to be served in which order, and what is to be said of them. `looks`: how many jobs were looked
    at for it. The fields with the names of those of `Orders` go there."""

    active: list[Active] = field(default_factory=list)
    pending: Iterable[Pending] = ()
    reserves: bool = False
    looks: int = 0
    priorities: dict[int, Priority] = field(default_factory=dict)
    tickets: dict[int, Tickets] = field(default_factory=dict)
    give_up: list[int] = field(default_factory=list)
    faults: list[JobFault] = field(default_factory=list)
    next_time: float = NEVER


def survey(view: View, now: float) -> Survey:
    """What all jobs ask of this cycle; `pending` without those of categories that are stuck."""
    if not (view.state.scheduler.weight_waiting_time or view.state.tickets or in_force(view.state)):
        found = _survey_groups(view, now)
        if found is not None:
            return found
    return _survey_all(view, now)


def _survey_groups(view: View, now: float) -> Survey | None:
    """By the lines and the restless jobs. None: they have tickets of their own, or somebody's priority cannot be found."""
    found = _select_active(view, [view.state.jobs[number] for number in sorted(view.job_groups.rechecked)], now)
    if any(job.override_tickets for job, _, _ in found.active):
        return None
    groups = list(view.job_groups.groups)
    pairs = [*((group.sample, group.category) for group in groups), *(one[:2] for one in found.active)]
    try:
        priorities = prioritise(Weights(view.state.scheduler), pairs, [0.0] * len(pairs), now)
    except Exception:  # noqa: BLE001 - who it is will be found among all
        return None
    singles = _select_pending(view, found, priorities[len(groups) :])
    live = [
        (group, priority)
        for group, priority in zip(groups, priorities, strict=False)
        if group.waits and not group.category.is_blocked
    ]
    found.pending = merge(singles, *(_pending_of_group(view.state, group, -priority[0]) for group, priority in live))
    found.reserves = any(category.reserves for *_, category in singles) or any(group.category.reserves for group, _ in live)
    _report_groups(view, found, list(zip(groups, priorities, strict=False)), now)
    return found


def _pending_of_group(state: State, group: JobGroup, key: float) -> Iterator[Pending]:
    """The jobs of a line that are to be served, as long as any can be."""
    category = group.category
    for member in group.waiting():
        if category.is_blocked and not category.reserves:
            return
        yield key, member.time, member.job_id, state.jobs[member.job_id], category


def _report_groups(view: View, found: Survey, groups: Iterable[tuple[JobGroup, Priority]], now: float) -> None:
    """What the qmaster does not know yet of the priorities of those in lines, and of those who do not take part."""
    reported = view.state.scheduler.report_pjob_tickets
    for group, priority in groups:
        if group.last_reported != (last_reported := (priority, reported)):
            group.last_reported, group.unreported = last_reported, set(group.job_ids())
        if group.unreported:
            waits = priority if reported else NO_PRIORITY
            _report_jobs(view, found, group.unreported, lambda number: priority if number in group.running else waits)  # noqa: B023
    _report_jobs(view, found, view.job_groups.idle_unreported, lambda _: NO_PRIORITY)
    if len(found.priorities) >= MAX_REPORTED:
        found.next_time = earlier(found.next_time, now + REPORT_MORE_S)


def _report_jobs(view: View, found: Survey, unreported: set[int], shown: Callable[[int], Priority]) -> None:
    """Of these, as many as may be said yet; those of whom it is known are taken out."""
    known, in_sync = view.state.priorities, []
    for number in unreported:
        if len(found.priorities) >= MAX_REPORTED:
            break
        found.looks += 1
        priority = shown(number)
        if known.get(number, NO_PRIORITY) == priority:
            in_sync.append(number)
        else:
            found.priorities[number] = priority
    unreported.difference_update(in_sync)


def _survey_all(view: View, now: float) -> Survey:
    """By a look at each job."""
    found = _select_active(view, view.state.jobs.values(), now)
    try:
        priorities, found.tickets = _priorities(view, found.active, now)
    except Exception:  # noqa: BLE001 - one job must not keep the others from running
        faults = [_fault(view, one, now) for one in found.active]
        found.active = [one for one, fault in zip(found.active, faults, strict=True) if fault is None]
        found.faults += [fault for fault in faults if fault is not None]
        priorities, found.tickets = _priorities(view, found.active, now)
    pending = _select_pending(view, found, priorities)
    found.pending, found.reserves = pending, any(category.reserves for *_, category in pending)
    return found


def _select_pending(view: View, found: Survey, priorities: list[Priority]) -> list[Pending]:
    """Those of the active jobs that are to be served, in order; what is news of their priorities is noted."""
    reported = view.state.scheduler.report_pjob_tickets
    known = view.state.priorities
    pending: list[Pending] = []
    for (job, category, is_pending), priority in zip(found.active, priorities, strict=True):
        shown = priority if reported or not is_pending else NO_PRIORITY
        if known.get(job.id, NO_PRIORITY) != shown:
            found.priorities[job.id] = shown
        if is_pending and not (category.is_blocked and not job.now):
            pending.append((-priority[0], job.submit_time, job.id, job, category))
    pending.sort(key=_sort_key)
    return pending


def _select_active(view: View, jobs: Iterable[Job], now: float) -> Survey:
    """Those of the jobs that run or want to, in their order. Those that cannot be understood become faults."""
    state = view.state
    found = Survey()
    for job in jobs:
        found.looks += 1
        runs = waits = is_pending = False
        if not job.error:
            for task in job.tasks.values():  # plain loops: this may be every job, in every cycle
                if task.granted:
                    runs = True
                elif not task.error:
                    waits = True
        try:
            if (waits or job.pending.runs) and not job.error:
                is_pending, when = _can_start(view, job, now)
                if when:
                    found.next_time = earlier(found.next_time, when)
            if is_pending or runs:
                found.active.append((job, view.category(job), is_pending))
        except Exception as error:  # noqa: BLE001 - one job must not keep the others from running
            found.faults.append(JobFault.of(job, error))
            continue
        if job.now and not is_pending and not job.tasks:
            found.give_up.append(job.id)  # a hold or a dependency keeps it: it cannot start at once (SO-22)
        if not (is_pending or runs) and state.priorities.get(job.id, NO_PRIORITY) != NO_PRIORITY:
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
    found = tickets(state, [TicketHolder(job, n, is_pending) for (job, _, is_pending), n in zip(active, held, strict=True)], now)
    for (job, _, is_pending), each in zip(active, found, strict=True):
        shown = each if reported or not is_pending else NO_TICKETS
        if known.get(job.id, NO_TICKETS) != shown:
            changed[job.id] = shown
    gone = known.keys() - {job.id for job, _, _ in active} if known else ()
    changed.update(dict.fromkeys(gone, NO_TICKETS))
    return [sum(each) for each in found], changed


def _sort_key(entry: Pending) -> tuple[float, float, int]:
    return entry[:3]


def _can_start(view: View, job: Job, now: float) -> tuple[bool, float]:
    """Whether any of the job's waiting tasks may be placed in this cycle, and when time alone will let (more of) it."""
    if (job.predecessors or job.start_after) and job_waits(view.state, job, now) is not None:
        return False, job.start_after if job.start_after > now else NEVER
    paused = paused_tasks(job, now) if job.tasks else []
    when = min(task.paused_until for task in paused) if paused else NEVER
    if job.ar and reservation_waits(view.state, job) is not None:
        return False, when
    waits = job.holds or job.array_predecessors or paused
    return not waits or next(ready_tasks(view.state, job, now), None) is not None, when
