"""The pages of jobs: the list with filters and bulk actions, and the page of a job.

Source: GU-11, GU-12; qstat(1), qexplain. The action of a button is a GDI request as the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, get_type_hints

from multidict import MultiDict, MultiMapping
from yarl import URL

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.job_rows import ENDED, STATES, JobFilter, JobRow, affects_jobs
from daemons.web.pages import job_output
from daemons.web.pages.array_tasks import FOLLOWED_TASKS
from daemons.web.pages.finished import ENDED_COLUMNS, MOST_TASKS, ended_csv, ended_tasks, finished_job, job_ends
from daemons.web.pages.formats import iso_time, link
from daemons.web.pages.forms import FORCED, Action, Question, action_route, listed, why_not_change
from daemons.web.pages.job_steps import steps_of
from daemons.web.pages.job_usage import ShownUsage, usage_of
from daemons.web.pages.offers import off_for_job, offers
from daemons.web.pages.page import CsvTable, Data, NotFoundError, Page, Visit, rows_of_page
from daemons.web.pages.states import silent_hosts
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import REQUESTS, Answer
from gridengine.state.state_codes import running_state_codes
from gridengine.values.ranges import Ranges
from gridengine.values.units import counted

ROWS = 100
"""Rows of a page."""
_TARGET_BYTES = 32
"""Maximum of a job's number with the range of its tasks."""
_REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "hold": ("hold_jobs", {"holds": "u"}),
    "release": ("hold_jobs", {"holds": "u", "release": True}),
    "delete": ("delete_jobs", {}),
    "suspend": ("change_states", {"action": "suspend", "what": "job"}),
    "unsuspend": ("change_states", {"action": "unsuspend", "what": "job"}),
    "reschedule": ("change_states", {"action": "reschedule", "what": "job"}),
    "clear": ("change_states", {"action": "clear", "what": "job"}),
    "copy": ("resubmit_jobs", {"ended": True}),
    "priority": ("alter_jobs", {}),
}
_FORCED = ("delete", "suspend", "unsuspend", "reschedule")
"""Actions that can be forced, as with -f of qdel and qmod."""
_ACTIONS = {
    "hold": Action("Hold", key="h"),
    "release": Action("Release", key="r"),
    "suspend": Action("Suspend", result="Running tasks stop until a user resumes them.", always=True, key="s"),
    "unsuspend": Action("Resume", key="u"),
    "reschedule": Action(
        "Reschedule", result="Running tasks are killed and start again from the beginning.", always=True, key="R"
    ),
    "clear": Action("Clear error", "Clear the error of", key="c"),
    "copy": Action("Resubmit", result="A copy of each job is submitted.", key="y"),
    "delete": Action("Delete", result="Running tasks are killed. This cannot be undone.", always=True, key="d"),
    "priority": Action("Set priority", "Set the priority of"),
}
_BUTTONS = {name: action for name, action in _ACTIONS.items() if name != "priority"}


async def job_list(visit: Visit) -> Data:
    """The list: rows of a page, the number of all rows, and the number of rows of each group."""
    selected = JobFilter.of(visit.query)
    matching = visit.shared.jobs.select_rows(selected)
    shown, pager = rows_of_page(visit, matching.rows, ROWS)
    active = sum(count for name, count in matching.counts.items() if name not in ENDED)
    tabs = [("Active", link(visit.here, state=None), active)]
    tabs += [(name.capitalize(), link(visit.here, state=name), matching.counts[name]) for name in STATES]
    is_ended = selected.state in ENDED
    return pager | {
        "rows": shown,
        "silent": silent_hosts(visit.shared.mirror.state),
        "ended": is_ended,
        "ends": await job_ends(visit, [row.id for row in shown]) if is_ended else {},
        "tabs": tabs,
        "tab": link(visit.here, state=selected.state or None),
        "selected": selected,
        "actions": _BUTTONS,
    }


async def jobs_csv(visit: Visit) -> CsvTable:
    """All rows that match the filter."""
    selected = JobFilter.of(visit.query)
    rows = visit.shared.jobs.select_rows(selected).rows[:]
    if selected.state in ENDED:
        return CsvTable("jobs", ENDED_COLUMNS, ended_csv(rows, await job_ends(visit, [row.id for row in rows])))
    columns = ("job", "tasks", "name", "owner", "state", "priority", "since", "queue_instances", "slots")
    return CsvTable("jobs", columns, [
        (row.id, row.tasks, row.name, row.owner, row.state, row.priority, iso_time(row.time), " ".join(row.places), row.slots)
        for row in rows
    ])


def ask_about_jobs(visit: Visit, fields: MultiMapping[str]) -> Question | None:
    """Ask to confirm an action on jobs, with their names and the number of their tasks."""
    targets = list(dict.fromkeys(_targets(visit, fields)))
    if fields.get("action") not in _ACTIONS or not targets:
        return None
    numbers = list(dict.fromkeys(target.partition(".")[0] for target in targets))
    state, tasks = visit.shared.mirror.state, sum(_task_count(visit, target) for target in targets)
    named = [
        f"{number} {state.jobs[int(number)].name}"
        for number in numbers
        if _is_number(number) and int(number) in state.jobs
    ]
    subject = f"{counted(len(numbers), 'job')} ({counted(tasks, 'task')})"
    if len(targets) == 1:
        subject = f"job {targets[0]}" + (f" ({counted(tasks, 'task')})" if tasks > 1 else "")
    forced = FORCED if fields["action"] in _FORCED and fields.get("force") else ""
    return _ACTIONS[fields["action"]].question(subject, len(targets), [listed(named), forced])


def _targets(visit: Visit, fields: MultiMapping[str]) -> list[str]:
    """The selected jobs, or all jobs that match the list's filter."""
    if not fields.get("all"):
        return fields.getall("target", [])
    selected = JobFilter.of(MultiDict(URL(fields.get("list", "")).query))
    return [row.target for row in visit.shared.jobs.select_rows(selected).rows if row.state != "z"]


def _task_count(visit: Visit, target: str) -> int:
    """The number of unfinished tasks of a target: a job `17`, or a range of its tasks `17.3-5:1`."""
    number, _, tasks = target.partition(".")
    if tasks:
        try:
            return len(Ranges.parse(tasks))
        except InvalidValueError:
            return 1
    rows = visit.shared.jobs.of_job(int(number)) if _is_number(number) else []
    return sum(len(Ranges.parse(row.tasks)) if row.tasks else 1 for row in rows)


async def change_jobs(visit: Visit, fields: MultiMapping[str]) -> list[Answer]:
    """Carry out the action of a button on the selected jobs, or on all jobs that match the list's filter."""
    action = fields.get("action", "")
    if action not in _REQUESTS:
        return [Answer(1, [("error", f'there is no action "{action}"')])]
    targets = _targets(visit, fields)
    if not targets:
        return [Answer(1, [("warning", "no jobs are selected")])]
    name, body = _REQUESTS[action]
    targets, size = [_plain(target) for target in dict.fromkeys(targets)], most_targets(name)
    parts = [targets[begin : begin + size] for begin in range(0, len(targets), size)]
    body = body | _extra_fields(action, fields)
    return [await visit.shared.ask(name, {**body, "targets": part}, visit.caller) for part in parts]


def most_targets(request: str) -> int:
    """The maximum of jobs in a single request, by its own bounds."""
    (bound,) = get_type_hints(REQUESTS[request], include_extras=True)["targets"].__metadata__
    return int(min(bound.most, bound.total // _TARGET_BYTES))


def _extra_fields(action: str, fields: MultiMapping[str]) -> dict[str, Any]:
    """The options next to the button: kinds of holds, a priority, force."""
    if action in ("hold", "release"):
        return {"holds": "".join(fields.getall("holds", [])) or "u"}
    if action == "priority":
        text = fields.get("to", "").strip()
        return {"changes": {"priority": int(text) if re.fullmatch(r"[-+]?\d{1,5}", text, re.ASCII) else text}}
    return {"force": True} if action in _FORCED and fields.get("force") else {}


async def job_details(visit: Visit) -> Data:
    """All about a job: requests, pending reason, tasks, and event log."""
    number, _, task = visit.parts["job"].partition(".")
    if not _is_number(number):
        raise NotFoundError(f'"{visit.parts["job"]}" is not the number of a job')
    shared, caller = visit.shared, visit.caller
    event_log = await _event_log(visit, int(number))  # first: the job may end during this call
    status = await shared.read("status", {"job_detail": {"jobs": [number]}}, caller)
    jobs = status.data["job_detail"]["jobs"]  # type: ignore[index]
    data: Data = {"number": int(number), "task": task, "event_log": event_log, "job": None, "ended": None}
    data |= {"why_not": ""}
    if not jobs:
        data["ended"] = await finished_job(visit, int(number), task)
        if not data["ended"] and not event_log:
            raise NotFoundError(f"There is no job {number}")
        data["why_not"] = why_not_change(visit, "job", data["ended"]["owner"]) if data["ended"] else ""
    if jobs:
        explained = await shared.read("explain_job", {"jobs": [number]}, caller)
        data |= {"job": jobs[0], "why": explained.data["jobs"][0]}  # type: ignore[index]
        data |= {"states": _states(visit, int(number)), "why_not": why_not_change(visit, "job", jobs[0]["owner"])}
        data["output"] = job_output.output_of_job(visit, int(number), task)
        job = shared.mirror.state.jobs[int(number)]
        silent = silent_hosts(shared.mirror.state)
        data["lost"] = {task.id for task in job.placed if any(grant.host in silent for grant in task.granted)}
        data["groups"] = _groups(shared.jobs.of_job(job.id))
        off = off_for_job([state_codes for state_codes, _ in data["groups"]], jobs[0]["holds"])
        data["buttons"] = offers(_BUTTONS, off, data["why_not"], ("delete",))
        data["files"] = job_output.files_of(job, job.is_array)
        data["most_tasks"] = MOST_TASKS
        data["follow_tasks"] = len(job.array or ()) <= FOLLOWED_TASKS
        is_listed = job.is_array and data["follow_tasks"]  # of a larger array the grid alone has the ended tasks
        data["ended_tasks"] = await ended_tasks(visit, job.id) if is_listed else []
        data["usage"] = _usage(visit, int(number), visit.parameter("task") or task)
    is_array = bool(data["job"]["array"] if data["job"] else data["ended"] and data["ended"]["array"])
    data["steps_of_task"] = visit.number("task", 0) or _task_number(task) if is_array else 0
    data["steps"] = steps_of(event_log, data["steps_of_task"] if is_array else 1)
    return data


def _task_number(text: str) -> int:
    """The task in the path of a job, `3` of `/jobs/12.3`; 0 for none."""
    return int(text) if _is_number(text) else 0


def _usage(visit: Visit, number: int, task_id: str) -> ShownUsage | None:
    """The usage of the task in the address, by default of the first running task."""
    job = visit.shared.mirror.state.jobs[number]
    running = [task for task in job.placed if task_id in ("", str(task.id))]
    return usage_of(job, running[0], visit.shared.usage.of(number, running[0].id)) if running else None


def _groups(rows: Iterable[JobRow]) -> list[tuple[str, str]]:
    """(state codes, tasks) of a job, grouped by state codes; the tasks are "" unless the job is an array."""
    tasks_of: dict[str, list[str]] = {}
    for row in rows:
        tasks_of.setdefault(row.state, []).append(row.tasks)
    return [(state_codes, _join_tasks(tasks)) for state_codes, tasks in tasks_of.items()]


def _join_tasks(tasks: list[str]) -> str:
    """Task ids and ranges as a single text. Dispatched tasks have a row each; waiting tasks are ranges already."""
    single = str(Ranges.of(int(task) for task in tasks if task.isdigit()))
    return ",".join(filter(None, (single, *(task for task in tasks if not task.isdigit()))))


def _states(visit: Visit, number: int) -> dict[int, str]:
    """State codes of the dispatched tasks."""
    state = visit.shared.mirror.state
    job = state.jobs[number]
    return {task.id: running_state_codes(state, job, task) for task in job.placed}


async def _event_log(visit: Visit, number: int) -> list[Any]:
    """The event log of a job, [time, task, event, cause] each; only the qmaster has it."""
    try:
        answer = await visit.shared.ask("job_story", {"jobs": [number]}, visit.caller)
    except NoQmasterError:
        return []
    jobs: list[Any] = answer.data["jobs"] if answer.data else []  # type: ignore[index]
    return list(jobs[0]["events"]) if jobs else []


def _is_number(text: str) -> bool:
    """Whether a text may be the number of a job."""
    return text.isascii() and text.isdigit() and len(text) < 8


def _plain(target: str) -> str:
    """A row's target in the form that commands accept, without a step of 1."""
    return target.removesuffix(":1")


PAGES = [
    Page("/jobs", "jobs.html", job_list, affects_jobs, csv=jobs_csv),
    Page("/jobs/{job}", "job.html", job_details, affects_jobs),
    *job_output.PAGES,
]
ROUTES = [action_route("/jobs", change_jobs, ask_about_jobs), *job_output.ROUTES]
