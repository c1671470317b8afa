"""The job list of qstat: one row a running task, one row a set of pending tasks in the same state.

Owns the selection of tasks, their order and the rows. Pure and fast: 10,000 pending jobs are common.
Called through `daemons.qmaster.queries`. Statements ST-1 … ST-3, ST-16, ST-17, ST-24, ST-25, ST-27.

`gridengine.job_rows` owns the positions in a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from daemons.qmaster.queries.selection import Body, Listing, user_filter
from gridengine.job_rows import DETAILS, GRANTS, ID, INSTANCE, PRIORITY, SLOTS, TASKS
from gridengine.placement.urgency import (
    assumed_slots,
    deadline_urgency,
    demand_urgency,
    finite,
    resource_urgency,
    waiting_urgency,
)
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.state.conditions import SUSPENSION_CODES
from gridengine.state.dependencies import blocked_tasks
from gridengine.state.jobs import NO_TICKETS, FinishedJob, Hold, Job, Task
from gridengine.state.state import State
from gridengine.state.state_codes import pending_groups, running_state_codes
from gridengine.values.ranges import Ranges

Row = list[object]
#: rows in one line of a `job_list`: few enough for the memory of a client, enough to make the cost of a line negligible
ROWS_A_LINE = 500
_NO_PRIORITY = (0.0, 0.0, 0.0, 0.0)
_URGENCIES = ("urgency", "rrcontr", "wtcontr", "dlcontr")
#: states of -s that select pending tasks by the reason of their wait, even beside `p`
_HELD = frozenset(("hu", "ho", "hs", "hd", "hj", "ha"))
_HOLDS = {"hu": Hold.USER, "ho": Hold.OPERATOR, "hs": Hold.SYSTEM}


def jobs(listing: Listing, body: Body, caller: Caller, now: float) -> dict[str, list[Row]]:
    """Body: `users`, `states` (p r s z hu ho hs hd hj ha), `select` (of instances), `single` (-g d), `details`.

    Data: {"running": rows, "pending": rows, "finished": rows, "inconsistent": rows of tasks that run without a
    queue instance (ST-33)}. Raises InvalidValueError.
    """
    state = listing.state
    states = frozenset(body.get("states") or "prs")
    is_selected = user_filter(state, body, caller)
    shown = state.jobs_of(is_selected)
    instances: frozenset[str] | None = None
    could: set[int] | None = None
    if any(body.get("select", {}).values()):
        selected = listing.instances(body["select"])
        instances = frozenset(i.name for i in selected)
        # the states of queues (-qs) do not limit the instances in which a job could run
        lasting = {name: criterion for name, criterion in body["select"].items() if criterion and name != "states"}
        if lasting and states - {"r", "s", "z"}:
            selected = listing.instances(lasting) if body["select"].get("states") else selected
            could = listing.could_run((job for job in shown if job.waits), selected)
    details = body.get("details") or ()
    running = [row for job in shown if job.tasks for row in _running_rows(listing, job, states, instances, details)]
    pending: list[Row] = []
    if states - {"r", "s", "z"}:
        for job in shown:
            if could is None or job.id in could:
                pending += _pending_rows(listing, job, states, bool(body.get("single")), details, now)
    if "shares" in details:
        _add_urgencies(listing, [*running, *pending], now)
    running.sort(key=lambda row: (row[ID], row[TASKS]))
    pending.sort(key=_pending_order(state))
    finished: list[Row] = []
    if "z" in states:
        finished = [_finished_row(listing, job, details) for job in state.finished if is_selected(job.owner, "")]
    inconsistent = [row for row in running if not is_placed(state, row)]
    if inconsistent:
        running = [row for row in running if is_placed(state, row)]
    return {"running": running, "pending": pending, "finished": finished, "inconsistent": inconsistent}


def rows_of_job(listing: Listing, job: Job, now: float) -> tuple[list[Row], list[Row]]:
    """The rows of a job's running tasks, and of its pending tasks."""
    states = frozenset("prs")
    return _running_rows(listing, job, states, None, ()), _pending_rows(listing, job, states, False, (), now)


def split_into_lines(answer: Answer) -> Iterator[object]:
    """The lines of a `job_list` answer, each a value, made from an answer of `status` with part `jobs`.

    The first line is the answer with only the rows of running tasks. The next lines are [phase, rows], in the order of phases.
    """
    data: Any = answer.data
    if not isinstance(data, dict) or "jobs" not in data:
        yield answer
        return
    phases = data["jobs"]
    first = {**data, "jobs": {**dict.fromkeys(phases, []), "running": phases["running"]}}
    yield Answer(answer.status, answer.answers, first)
    for name, rows in phases.items():
        for position in range(0, 0 if name == "running" else len(rows), ROWS_A_LINE):
            yield [name, rows[position : position + ROWS_A_LINE]]


def is_placed(state: State, row: Row) -> bool:
    """Whether all slots of a running task belong to existing instances."""
    grants: list[Any] = row[GRANTS]  # type: ignore[assignment]
    return bool(grants) and all(grant[INSTANCE] in state.instances for grant in grants)


def _add_urgencies(listing: Listing, rows: list[Any], now: float) -> None:
    for row in rows:
        row[DETAILS].update(_urgency(listing, listing.state.jobs[row[ID]], row[SLOTS], now))


def _urgency(listing: Listing, job: Job, slots: int, now: float) -> dict[str, float]:
    """Urgency of a job and its contributions; 0.0 for a job that the scheduler ignores. Source: CX-67, O."""
    state = listing.state
    if state.priorities.get(job.id, _NO_PRIORITY) == _NO_PRIORITY:
        return dict.fromkeys(_URGENCIES, 0.0)
    request = listing.request(job)
    found = {
        "rrcontr": resource_urgency(state, request, slots if job.runs else None),
        "wtcontr": waiting_urgency(state.scheduler.weight_waiting_time, job.submit_time, now),
        "dlcontr": deadline_urgency(state.scheduler.weight_deadline, job.deadline, now),
    }
    return {"urgency": finite(sum(found.values())), **found}


def _pending_order(state: State):  # type: ignore[no-untyped-def]
    """Sort key of pending rows: priority, highest first, then submission time and number."""
    jobs = state.jobs
    return lambda row: (-row[PRIORITY], jobs[row[ID]].submit_time, row[ID])


def _running_rows(
    listing: Listing, job: Job, states: frozenset[str], instances: frozenset[str] | None, details: Sequence[str]
) -> list[Row]:
    state = listing.state
    held = _held_tasks(job, states)
    rows: list[Row] = []
    for task in job.tasks.values():
        if task.waits or (
            instances is not None and not any(grant.instance in instances for grant in task.granted)
        ):
            continue
        state_codes = running_state_codes(state, job, task)
        if ("s" if not SUSPENSION_CODES.isdisjoint(state_codes) else "r") not in states and task.id not in held:
            continue
        priority = state.priorities.get(job.id, _NO_PRIORITY)
        row: Row = [job.id, priority[0], job.name, job.owner, state_codes, task.start_time, _grants(state, task)]
        row += [task.slots, task.id if job.is_array else ""]
        if details:
            row.append(_details(listing, job, details, task))
        rows.append(row)
    return rows


def _grants(state: State, task: Task) -> list[list[object]]:
    """Grants with their number of possible slave tasks. The master's grant has one fewer if the job script is the first task."""
    pe = state.pes.get(task.pe) if task.pe else None
    first = 1 if pe is None or pe.job_is_first_task else 0
    return [
        [grant.instance, grant.slots, (grant.slots - (first if position == 0 else 0)) if task.pe else 0]
        for position, grant in enumerate(task.granted)
    ]


def _pending_rows(
    listing: Listing, job: Job, states: frozenset[str], single: bool, details: Sequence[str], now: float
) -> list[Row]:
    state = listing.state
    groups = pending_groups(state, job)
    if not groups:
        return []
    if not states.isdisjoint(_HELD):
        groups = _select_held(state, job, groups, states, now)
    priority = state.priorities.get(job.id, _NO_PRIORITY)[0]
    slots = assumed_slots(state, listing.request(job)) if job.pe_range and not job.error else 1
    rows: list[Row] = []
    for state_codes, tasks in groups:
        labels: list[object] = [""] if not job.is_array else list(tasks) if single else [str(tasks)]
        for label in labels:
            row: Row = [job.id, priority, job.name, job.owner, state_codes, job.submit_time, [], slots, label]
            if details:
                row.append(_details(listing, job, details))
            rows.append(row)
    return rows


def _select_held(
    state: State, job: Job, groups: list[tuple[str, Ranges]], states: frozenset[str], now: float
) -> list[tuple[str, Ranges]]:
    """The parts of the groups that wait for a reason requested by -s h… (ST-25)."""
    if ("hj" in states and state.waits_for(job)) or ("ha" in states and job.start_after > now):
        return groups
    held = _held_tasks(job, states)
    if "hd" in states and job.array_predecessors:
        held = held | blocked_tasks(state, job)
    return [(state_codes, part) for state_codes, tasks in groups if (part := tasks & held)]


def finished_row(job: FinishedJob) -> Row:
    """The row of a job that has ended."""
    return [job.id, job.priority, job.name, job.owner, "z", job.submit_time, [], job.slots, job.tasks]


def _finished_row(listing: Listing, ended: FinishedJob, details: Sequence[str]) -> Row:
    """The row of a job that has ended, with its details. Only the last ended jobs still have requests; none has a share."""
    row = finished_row(ended)
    if not details:
        return row
    job = ended.job or Job(ended.id, ended.name, ended.owner, 0, "", 0, ended.submit_time)
    return [*row, dict.fromkeys(_URGENCIES, 0.0) | _details(listing, job, details)]


def _details(listing: Listing, job: Job, details: Sequence[str], task: Task | None = None) -> dict[str, object]:
    """Additional columns of -ext, -urg, -pri (`shares`) and of -r (`requests`)."""
    state = listing.state
    found: dict[str, object] = {}
    if "shares" in details:
        _, npprior, nurg, ntckts = state.priorities.get(job.id, _NO_PRIORITY)
        usage = task.usage if task is not None else None
        found |= {
            "npprior": npprior,
            "nurg": nurg,
            "ntckts": ntckts,
            "ppri": job.priority,
            "deadline": job.deadline,
            "project": job.project,
            "department": job.department,
            "usage": [usage.cpu, usage.mem, usage.io] if usage is not None else None,
            "override_tickets": job.override_tickets,
            "tickets": list(state.tickets.get(job.id, NO_TICKETS)),
            "share": min(1.0, sum(state.tickets.get(job.id, NO_TICKETS)) / listing.all_tickets[task is not None]),
            "job_share": job.job_share,
        }
    if "slaves" in details and task is not None and task.pe:
        pe = state.pes.get(task.pe)
        living = [slave for _, slave in sorted(task.slaves.items()) if not slave.over]
        found |= {
            "slaves": [[s.instance, f"{s.number}.{s.host}", s.usage] for s in living] if pe and pe.control_slaves else None,
            "usage": [task.usage.cpu, task.usage.mem, task.usage.io] if task.usage is not None else None,
        }
    if "requests" in details:
        found |= {
            "hard": _hard_requests(listing, job, task),
            "soft": [[name, listing.request_text(name, value)] for name, value in job.soft.items()],
            "hard_queues": job.hard_queues,
            "soft_queues": job.soft_queues,
            "master_queues": job.master_queues,
            "pe": [job.pe, job.pe_range] if job.pe else None,
            "granted_pe": [task.pe, task.slots] if task is not None and task.pe else None,
            "checkpoint": job.checkpoint,
            "binding": job.binding,
            "predecessors_requested": job.predecessors_requested,
            "predecessors": state.waits_for(job),
            "array_predecessors_requested": job.requested_arrays,
            "array_predecessors": job.array_predecessors,
        }
    return found


def _hard_requests(listing: Listing, job: Job, task: Task | None) -> list[list[object]]:
    """[name, value, contribution to the urgency] of each request of -l; computed once for jobs with equal requests."""
    if not job.hard:
        return []
    # the requests may be the cause of the error, the attributes of an ended job may be gone: show them as they were given
    if job.error or job.id not in listing.state.jobs:
        return [[name, value, 0.0] for name, value in job.hard.items()]
    slots = task.slots if task is not None and task.slots else 1
    if job.pe_range and slots == 1:
        slots = assumed_slots(listing.state, listing.request(job))
    key = (slots, *job.hard.items())
    found = listing.hard_requests.get(key)
    if found is None:
        request = listing.request(job)
        urgencies = {demand.name: demand_urgency(demand, slots) for demand in (*request.hard, *request.hosts)}
        found = [[name, listing.request_text(name, value), urgencies.get(name, 0.0)] for name, value in job.hard.items()]
        listing.hard_requests[key] = found
    return found


def _held_tasks(job: Job, states: frozenset[str]) -> Ranges:
    """The tasks of a job, running tasks too, that have a hold requested by -s hu, ho, hs (ST-25)."""
    held = Ranges()
    for name, hold in _HOLDS.items():
        if name in states and hold.value in job.holds:
            held = held | job.holds[hold.value]
    return held
