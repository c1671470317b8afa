"""Survey of the jobs: which jobs take part in a cycle, in which order they are served, and which priorities are reported.

Owns the choice between two ways to the same outcome. Where a job's priority follows from its category and its -p alone,
`JobGroups` keeps the order over cycles, and only new, changed and rechecked jobs are examined; with tickets, or a weight of the
waiting time, all jobs are. Called by `daemons.schedd.cycle`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from typing import NamedTuple

from daemons.schedd.job_groups import JobGroup
from daemons.schedd.priorities import Priority, Weights, prioritise
from daemons.schedd.reserved import AnyCategory
from daemons.schedd.tickets import TicketHolder, in_force, tickets
from daemons.schedd.view import View
from gridengine.placement.pending import job_waits, paused_tasks, ready_tasks
from gridengine.placement.reserved import reservation_waits
from gridengine.protocols.orders import NEVER, JobFault, earlier
from gridengine.state.jobs import NO_TICKETS, Job, Tickets
from gridengine.state.state import State

Active = tuple[Job, AnyCategory, bool]
"""A job that takes part in the policies, its category, and whether it has a task that may start."""

Pending = tuple[float, float, int, Job, AnyCategory]
"""The sort key of a job (three figures), the job, and its category."""

NO_PRIORITY: Priority = (0.0, 0.0, 0.0, 0.0)
"""The priority shown for jobs that do not take part: held, dependent, in error. Source: O (qstat of a held job)."""

MAX_REPORTED = 20_000
"""Priorities of grouped jobs that one cycle reports to the qmaster: a million would keep it busy for a second."""

REPORT_MORE_S = 0.1
"""Pause before the next portion."""


@dataclass(slots=True)
class Survey:
    """The `active` jobs, the `pending` jobs in order, and the `priorities` to report. `reserves`: a pending job may get a
    reservation. `looks`: the number of examined jobs. `tickets`, `give_up`, `faults`, `next_time`: as in `Orders`, where they go.
    """

    active: list[Active] = field(default_factory=list)
    pending: Iterable[Pending] = ()
    reserves: bool = False
    looks: int = 0
    priorities: dict[int, Priority] = field(default_factory=dict)
    tickets: dict[int, Tickets] = field(default_factory=dict)
    give_up: list[int] = field(default_factory=list)
    faults: list[JobFault] = field(default_factory=list)
    next_time: float = NEVER


class RankedJob(NamedTuple):
    """A `job` that takes part, with its priority and its `tickets`. `is_pending`: a task of the job may start."""

    job: Job
    category: AnyCategory
    is_pending: bool
    priority: Priority
    tickets: Tickets

    @property
    def rank(self) -> tuple[float, float, int]:
        """The sort key of pending jobs."""
        return -self.priority[0], self.job.submit_time, self.job.id


def ranked_jobs(view: View, now: float) -> list[RankedJob]:
    """All jobs that take part in a cycle at `now` (epoch s), with the figures by which it sorts them: pending jobs first, in
    their order."""
    view.begin()
    active = _select_active(view, view.state.jobs.values(), now).active
    held = tickets(view.state, _ticket_holders(active), now)
    priorities = prioritise(Weights(view.state.scheduler), [one[:2] for one in active], [sum(each) for each in held], now)
    found = [RankedJob(*one, priority, each) for one, priority, each in zip(active, priorities, held, strict=True)]
    return sorted(found, key=lambda each: (not each.is_pending, *each.rank))


def survey(view: View, now: float) -> Survey:
    """Select and sort the jobs for this cycle; `pending` leaves out blocked categories."""
    if not (view.state.scheduler.weight_waiting_time or view.state.tickets or in_force(view.state)):
        found = _survey_groups(view, now)
        if found is not None:
            return found
    return _survey_all(view, now)


def _survey_groups(view: View, now: float) -> Survey | None:
    """By the groups and the rechecked jobs. None: a job has tickets of its own, or a priority cannot be computed."""
    found = _select_active(view, [view.state.jobs[number] for number in sorted(view.job_groups.rechecked)], now)
    if any(job.override_tickets for job, _, _ in found.active):
        return None
    groups = list(view.job_groups.groups)
    pairs = [*((group.sample, group.category) for group in groups), *(one[:2] for one in found.active)]
    try:
        priorities = prioritise(Weights(view.state.scheduler), pairs, [0.0] * len(pairs), now)
    except Exception:  # noqa: BLE001 - the job at fault is found by examining all jobs
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
    """The pending jobs of a group, while its category is not blocked."""
    category = group.category
    for member in group.waiting():
        if category.is_blocked and not category.reserves:
            return
        yield key, member.time, member.job_id, state.jobs[member.job_id], category


def _report_groups(view: View, found: Survey, groups: Iterable[tuple[JobGroup, Priority]], now: float) -> None:
    """Report priorities that the qmaster does not know yet, of grouped jobs and of jobs that do not take part."""
    reported = view.state.scheduler.report_pjob_tickets
    for group, priority in groups:
        if group.last_reported != (last_reported := (priority, reported)):
            group.last_reported, group.unreported = last_reported, set(group.job_ids())
        if group.unreported:
            waits = priority if reported else NO_PRIORITY
            running = group.running
            _report_jobs(view, found, group.unreported, lambda number: priority if number in running else waits)  # noqa: B023
    _report_jobs(view, found, view.job_groups.idle_unreported, lambda _: NO_PRIORITY)
    if len(found.priorities) >= MAX_REPORTED:
        found.next_time = earlier(found.next_time, now + REPORT_MORE_S)


def _report_jobs(view: View, found: Survey, unreported: set[int], shown: Callable[[int], Priority]) -> None:
    """Report as many of these jobs as still fit; take out jobs whose priority the qmaster knows."""
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
    """By examining each job."""
    found = _select_active(view, view.state.jobs.values(), now)
    try:
        priorities, found.tickets = _priorities(view, found.active, now)
    except Exception:  # noqa: BLE001 - one job must not keep the other jobs from running
        faults = [_fault(view, one, now) for one in found.active]
        found.active = [one for one, fault in zip(found.active, faults, strict=True) if fault is None]
        found.faults += [fault for fault in faults if fault is not None]
        priorities, found.tickets = _priorities(view, found.active, now)
    pending = _select_pending(view, found, priorities)
    found.pending, found.reserves = pending, any(category.reserves for *_, category in pending)
    return found


def _select_pending(view: View, found: Survey, priorities: list[Priority]) -> list[Pending]:
    """Return the pending jobs of the active jobs, in order; changed priorities are added to the survey."""
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
    """The running and startable jobs, in their order. Jobs that cannot be evaluated become faults."""
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
        except Exception as error:  # noqa: BLE001 - one job must not keep the other jobs from running
            found.faults.append(JobFault.of(job, error))
            continue
        if job.now and not is_pending and not job.tasks:
            found.give_up.append(job.id)  # held or dependent: the job cannot start at once (SO-22)
        if not (is_pending or runs) and state.priorities.get(job.id, NO_PRIORITY) != NO_PRIORITY:
            found.priorities[job.id] = NO_PRIORITY
    return found


def _priorities(view: View, active: list[Active], now: float) -> tuple[list[Priority], dict[int, Tickets]]:
    """The priority of each of these jobs, and the tickets that have changed."""
    shares, changed = _tickets(view.state, active, view.state.scheduler.report_pjob_tickets, now)
    return prioritise(Weights(view.state.scheduler), [one[:2] for one in active], shares, now), changed


def _fault(view: View, one: Active, now: float) -> JobFault | None:
    """Return the reason why the policies cannot deal with the job, None if they can."""
    try:
        _priorities(view, [one], now)
    except Exception as error:  # noqa: BLE001 - one job must not keep the other jobs from running
        return JobFault.of(one[0], error)
    return None


def _tickets(state: State, active: list[Active], reported: bool, now: float) -> tuple[list[float], dict[int, Tickets]]:
    """The tickets of each of these jobs by all policies, and the changes by job; tickets of waiting jobs are left out unless
    they are `reported`."""
    known = state.tickets
    changed: dict[int, Tickets] = {}
    if not (known or any(job.override_tickets for job, _, _ in active) or in_force(state)):
        return [0.0] * len(active), changed
    found = tickets(state, _ticket_holders(active), now)
    for (job, _, is_pending), each in zip(active, found, strict=True):
        shown = each if reported or not is_pending else NO_TICKETS
        if known.get(job.id, NO_TICKETS) != shown:
            changed[job.id] = shown
    gone = known.keys() - {job.id for job, _, _ in active} if known else ()
    changed.update(dict.fromkeys(gone, NO_TICKETS))
    return [sum(each) for each in found], changed


def _ticket_holders(active: list[Active]) -> list[TicketHolder]:
    held = [sum(1 for task in job.tasks.values() if task.granted) if job.tasks else 0 for job, _, _ in active]
    return [TicketHolder(job, tasks, is_pending) for (job, _, is_pending), tasks in zip(active, held, strict=True)]


def _sort_key(entry: Pending) -> tuple[float, float, int]:
    return entry[:3]


def _can_start(view: View, job: Job, now: float) -> tuple[bool, float]:
    """Whether any pending task of the job may be placed in this cycle, and the next time (epoch s) at which more may."""
    if (job.predecessors or job.start_after) and job_waits(view.state, job, now) is not None:
        return False, job.start_after if job.start_after > now else NEVER
    paused = paused_tasks(job, now) if job.tasks else []
    when = min(task.paused_until for task in paused) if paused else NEVER
    if job.ar and reservation_waits(view.state, job) is not None:
        return False, when
    waits = job.holds or job.array_predecessors or paused
    return not waits or next(ready_tasks(view.state, job, now), None) is not None, when
