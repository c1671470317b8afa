"""A survey of the jobs: who takes part in a cycle, in which order they are served, and what is said of their priorities.

Owns the choice between two ways to the same outcome. Where a job's priority follows from its category and its -p alone, which
`JobLines` keeps over cycles, only jobs that are new, changed or restless are looked at; with tickets, or a weight of the
time that jobs wait, all are. Called by `daemons.schedd.cycle`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge

from daemons.schedd.job_lines import JobLine
from daemons.schedd.priorities import Priority, Weights, prioritise
from daemons.schedd.reserved import AnyCategory
from daemons.schedd.tickets import Entrant, in_force, tickets
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

MOST_SAID = 20_000
"""Priorities of jobs in lines that one cycle tells the qmaster: those of a million would keep it busy for a second."""

SAY_MORE_S = 0.1
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
        found = _of_lines(view, now)
        if found is not None:
            return found
    return _of_all(view, now)


def _of_lines(view: View, now: float) -> Survey | None:
    """By the lines and the restless jobs. None: they have tickets of their own, or somebody's priority cannot be found."""
    found = _active(view, [view.state.jobs[number] for number in sorted(view.job_lines.restless)], now)
    if any(job.override_tickets for job, _, _ in found.active):
        return None
    lines = list(view.job_lines.lines)
    pairs = [*((line.sample, line.category) for line in lines), *(one[:2] for one in found.active)]
    try:
        priorities = prioritise(Weights(view.state.scheduler), pairs, [0.0] * len(pairs), now)
    except Exception:  # noqa: BLE001 - who it is will be found among all
        return None
    singles = _ranked(view, found, priorities[len(lines) :])
    live = [
        (line, priority)
        for line, priority in zip(lines, priorities, strict=False)
        if line.waits and not line.category.stuck
    ]
    found.pending = merge(singles, *(_in_line(view.state, line, -priority[0]) for line, priority in live))
    found.reserves = any(category.reserves for *_, category in singles) or any(line.category.reserves for line, _ in live)
    _say(view, found, list(zip(lines, priorities, strict=False)), now)
    return found


def _in_line(state: State, line: JobLine, key: float) -> Iterator[Pending]:
    """The jobs of a line that are to be served, as long as any can be."""
    category = line.category
    for turn in line.waiting():
        if category.stuck and not category.reserves:
            return
        yield key, turn.time, turn.job_id, state.jobs[turn.job_id], category


def _say(view: View, found: Survey, lines: Iterable[tuple[JobLine, Priority]], now: float) -> None:
    """What the qmaster does not know yet of the priorities of those in lines, and of those who do not take part."""
    reported = view.state.scheduler.report_pjob_tickets
    for line, priority in lines:
        if line.said != (said := (priority, reported)):
            line.said, line.unsaid = said, set(line.members())
        if line.unsaid:
            waits = priority if reported else NO_PRIORITY
            _say_of(view, found, line.unsaid, lambda number: priority if number in line.running else waits)  # noqa: B023
    _say_of(view, found, view.job_lines.idle_unsaid, lambda _: NO_PRIORITY)
    if len(found.priorities) >= MOST_SAID:
        found.next_time = earlier(found.next_time, now + SAY_MORE_S)


def _say_of(view: View, found: Survey, unsaid: set[int], shown: Callable[[int], Priority]) -> None:
    """Of these, as many as may be said yet; those of whom it is known are taken out."""
    known, told = view.state.priorities, []
    for number in unsaid:
        if len(found.priorities) >= MOST_SAID:
            break
        found.looks += 1
        priority = shown(number)
        if known.get(number, NO_PRIORITY) == priority:
            told.append(number)
        else:
            found.priorities[number] = priority
    unsaid.difference_update(told)


def _of_all(view: View, now: float) -> Survey:
    """By a look at each job."""
    found = _active(view, view.state.jobs.values(), now)
    try:
        priorities, found.tickets = _priorities(view, found.active, now)
    except Exception:  # noqa: BLE001 - one job must not keep the others from running
        faults = [_fault(view, one, now) for one in found.active]
        found.active = [one for one, fault in zip(found.active, faults, strict=True) if fault is None]
        found.faults += [fault for fault in faults if fault is not None]
        priorities, found.tickets = _priorities(view, found.active, now)
    pending = _ranked(view, found, priorities)
    found.pending, found.reserves = pending, any(category.reserves for *_, category in pending)
    return found


def _ranked(view: View, found: Survey, priorities: list[Priority]) -> list[Pending]:
    """Those of the active jobs that are to be served, in order; what is news of their priorities is noted."""
    reported = view.state.scheduler.report_pjob_tickets
    known = view.state.priorities
    pending: list[Pending] = []
    for (job, category, wants), priority in zip(found.active, priorities, strict=True):
        shown = priority if reported or not wants else NO_PRIORITY
        if known.get(job.id, NO_PRIORITY) != shown:
            found.priorities[job.id] = shown
        if wants and not (category.stuck and not job.now):
            pending.append((-priority[0], job.submit_time, job.id, job, category))
    pending.sort(key=_first_three)
    return pending


def _active(view: View, jobs: Iterable[Job], now: float) -> Survey:
    """Those of the jobs that run or want to, in their order. Those that cannot be understood become faults."""
    state = view.state
    found = Survey()
    for job in jobs:
        found.looks += 1
        runs = waits = wants = False
        if not job.error:
            for task in job.tasks.values():  # plain loops: this may be every job, in every cycle
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
