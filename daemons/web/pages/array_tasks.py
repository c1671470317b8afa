"""The tasks of an array as a grid: a cell for each task, or for each range of a large array, in the colour of its state; and the
resubmission of the failed tasks.

Owns the cells. The states of unfinished tasks come from the list of jobs, the ends of finished tasks from the accounting
records. Called by the page of a job, which loads the grid after itself. Source: GU-12, AC-1; adr/0285.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from multidict import MultiMapping

from daemons.qmaster.queries.job_ends import exit_text
from daemons.web.job_rows import group_of
from daemons.web.pages.failures import result_text
from daemons.web.pages.formats import duration, link
from daemons.web.pages.forms import Question, action_route, why_not_change
from daemons.web.pages.page import Data, NotFoundError, Page, Visit
from gridengine.protocols.gdi.requests import Answer
from gridengine.state.jobs import FinishedJob, Job
from gridengine.values.ranges import Ranges
from gridengine.values.units import counted

MOST_CELLS = 2000
"""Maximum of cells. A larger array has a cell for each range of tasks."""
FOLLOWED_TASKS = 5000
"""Maximum of tasks of an array whose grid reloads itself."""
_RANGES_TEXT = 64 * 1024
_MAX_PAGES = 4
"""Maximum answers of the qmaster with the ends of tasks; one answer has 250,000."""
_GROUPED = ("task_number", "end_time", "failed", "exit_status")
#: states of tasks with the tone of their cells, the most severe first: the state of a range is its most severe one
_STATES = {
    "failed": "bad", "error": "bad", "suspended": "warn", "running": "busy", "held": "off", "waiting": "wait",
    "did not run": "off", "finished": "ok",
}
_SEVERITY = {state: at for at, state in enumerate(_STATES)}


class ArrayTaskState(NamedTuple):
    """`state`: a name of `_STATES`; `text`: further facts, "" for none."""

    state: str
    text: str = ""


class GridCell(NamedTuple):
    """A cell of the grid: its `tone` of style.css, its `title` and the `address` of the task or of the range."""

    tone: str
    title: str
    address: str


_UNSTARTED = ArrayTaskState("did not run")


async def array_tasks(visit: Visit) -> Data:
    """The cells of the tasks from `from` to `to`, all by default."""
    number, job = _array(visit)
    ends = await _ends(visit, number)
    states = {**ends, **_unfinished(visit, number)}
    ids = _ids(visit, number, states)
    first, last = visit.number("from", 0), visit.number("to", 0)
    shown = ids[bisect_left(ids, first) : bisect_right(ids, last) if last else None]
    cells = await asyncio.to_thread(_cells, number, shown, states)  # the event loop serves other requests meanwhile
    counts = Counter(states.get(each, _UNSTARTED).state for each in shown)
    failed = counts["failed"] if len(shown) == len(ids) else sum(each.state == "failed" for each in states.values())
    return {
        "number": number, "total": len(ids), "shown": len(shown), "cells": cells, "per_cell": _per_cell(len(shown)),
        "legend": [(state, tone, counts[state]) for state, tone in _STATES.items() if counts[state]],
        "span": f"{shown[0]}-{shown[-1]}" if shown and len(shown) < len(ids) else "",
        "failed": failed, "why_not": _why_not_retry(visit, job),
        "follow": number in visit.shared.mirror.state.jobs and len(ids) <= FOLLOWED_TASKS,
    }


def _array(visit: Visit) -> tuple[int, Job | FinishedJob | None]:
    """The number of the array at this address; the job if the state still has it. Raises NotFoundError."""
    text, state = visit.parts["job"], visit.shared.mirror.state
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise NotFoundError(f'"{text}" is not the number of a job')
    job = state.jobs.get(int(text)) or next((each for each in reversed(state.finished) if each.id == int(text)), None)
    if job is not None and not (job.is_array if isinstance(job, Job) else job.tasks):
        raise NotFoundError(f"Job {text} is not an array: it has no tasks")
    return int(text), job


def _ids(visit: Visit, number: int, states: dict[int, ArrayTaskState]) -> list[int]:
    """The tasks of an array as submitted; the tasks with records if the state no longer has the job. Raises NotFoundError."""
    state = visit.shared.mirror.state
    if number in state.jobs:
        return list(state.jobs[number].array or ())
    kept = next((each for each in reversed(state.finished) if each.id == number), None)
    known = list(Ranges.parse(kept.tasks)) if kept is not None else sorted(each for each in states if each)
    if not known:
        raise NotFoundError(f"There are no tasks of an array {number}")
    return known


def _unfinished(visit: Visit, number: int) -> dict[int, ArrayTaskState]:
    if number not in visit.shared.mirror.state.jobs:
        return {}
    found: dict[int, ArrayTaskState] = {}
    now = visit.shared.mirror.now
    for row in visit.shared.jobs.of_job(number):
        text = f"{duration(now - row.time)} on {', '.join(row.places[:3])}" if row.places else ""
        found.update(dict.fromkeys(Ranges.parse(row.tasks), ArrayTaskState(group_of(row.state), text)))
    return found


async def _ends(visit: Visit, number: int) -> dict[int, ArrayTaskState]:
    """The last end of each task that has a record. Raises NoQmasterError."""
    body: dict[str, Any] = {"job": str(number), "master_only": True, "group_by": _GROUPED}
    last: dict[int, tuple[float, ArrayTaskState]] = {}
    for _ in range(_MAX_PAGES):
        answer = await visit.shared.ask("accounting", body, visit.caller)
        data: Any = answer.data or {}
        for (task, end, failed, status), (_, wallclock, *_) in data.get("sums", ()):
            if float(end) >= last.get(int(task), (0.0,))[0]:
                last[int(task)] = float(end), _ended(int(failed), int(status), wallclock)
        if not data.get("next"):
            break
        body["after"] = data["next"]
    return {task: state for task, (_, state) in last.items()}


def _ended(failed: int, exit_status: int, wallclock: float) -> ArrayTaskState:
    if failed or exit_status:
        return ArrayTaskState("failed", f"{result_text(failed, exit_status)}, run time {duration(wallclock)}")
    return ArrayTaskState("finished", f"{exit_text(0)}, run time {duration(wallclock)}")


def _per_cell(count: int) -> int:
    """Tasks of a cell: 1, else the smallest 2, 5 or 10 × a power of ten with which all cells fit."""
    size = 1
    while count > MOST_CELLS * size:
        size = size * 5 // 2 if str(size)[0] == "2" else size * 2
    return size


def _cells(number: int, ids: Sequence[int], states: dict[int, ArrayTaskState]) -> list[GridCell]:
    size = _per_cell(len(ids))
    if size == 1:
        return [_cell(number, each, states.get(each, _UNSTARTED)) for each in ids]
    return [_range_cell(number, ids[begin : begin + size], states) for begin in range(0, len(ids), size)]


def _cell(number: int, task: int, state: ArrayTaskState) -> GridCell:
    title = f"task {task}: {state.state}" + (f", {state.text}" if state.text else "")
    return GridCell(_STATES[state.state], title, f"/jobs/{number}?task={task}")


def _range_cell(number: int, ids: Sequence[int], states: dict[int, ArrayTaskState]) -> GridCell:
    counts = Counter(states.get(each, _UNSTARTED).state for each in ids)
    present = sorted(counts, key=_SEVERITY.__getitem__)
    title = f"tasks {ids[0]}-{ids[-1]}: {', '.join(f'{counts[state]:,} {state}' for state in present)}"
    return GridCell(_STATES[present[0]], title, link(f"/jobs/{number}/tasks", **{"from": ids[0], "to": ids[-1]}))


# --- resubmission of the failed tasks ------------------------------------------------------------------------------------


async def ask_retry(visit: Visit, fields: MultiMapping[Any]) -> Question:
    """Ask to confirm the resubmission, with the numbers of the tasks."""
    number, _ = _array(visit)
    failed = await _failed_tasks(visit, number)
    details = [
        f"A new array job is submitted with the tasks {failed.summary()}.",
        "They keep their numbers. Script, options and environment are those of the job.",
    ]
    title = f"Resubmit {counted(len(failed), 'failed task')} of job {number}?"
    return Question(title, "Resubmit", details if failed else ["No task of this job has failed."])


async def retry_failed(visit: Visit, fields: MultiMapping[str]) -> list[Answer]:
    """Submit a copy of the job with its failed tasks alone."""
    number, _ = _array(visit)
    failed = str(await _failed_tasks(visit, number))
    if not failed:
        return [Answer(1, [("warning", "no task of this job has failed")])]
    if len(failed) > _RANGES_TEXT:
        return [Answer(1, [("error", "the numbers of the failed tasks are too many separate ranges for one job")])]
    body = {"targets": [str(number)], "ended": True, "tasks": failed}
    return [await visit.shared.ask("resubmit_jobs", body, visit.caller)]


async def _failed_tasks(visit: Visit, number: int) -> Ranges:
    """The tasks whose last attempt failed, and which do not run or wait again."""
    unfinished = _unfinished(visit, number)
    ends = await _ends(visit, number)
    return Ranges.of(task for task, each in ends.items() if task and each.state == "failed" and task not in unfinished)


def _why_not_retry(visit: Visit, job: Job | FinishedJob | None) -> str:
    if job is None or (isinstance(job, FinishedJob) and job.job is None):
        return "The script is no longer known: the qmaster only keeps the scripts of the last ended jobs."
    return why_not_change(visit, "job", job.owner)


PAGES = [Page("/jobs/{job}/tasks", "array_tasks.html", array_tasks)]
ROUTES = [action_route("/jobs/{job}/tasks", retry_failed, ask_retry)]
