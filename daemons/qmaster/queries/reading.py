"""Reading requests that need the spool, and the table of all requests that change nothing.

Owns accounting, the slots that reservations held, job histories and the history of the configuration. The views own the requests
that need only the state. All users may read (QF-36). Called by `daemons.qmaster.serve.requests.endpoints`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from daemons.qmaster.decide.jobs.job_request import request_of, with_payload
from daemons.qmaster.master import Master
from daemons.qmaster.queries import VIEWS
from daemons.qmaster.queries.job_ends import job_ends
from daemons.qmaster.queries.task_ends import state_after, states
from gridengine.errors import InvalidValueError
from gridengine.options.native import fold_native
from gridengine.options.option import OptionError
from gridengine.protocols.gdi.requests import Answer, Caller

Body = dict[str, Any]
Reader = Callable[[Master, Body, Caller], Answer]


def accounting(master: Master, body: Body, caller: Caller) -> Answer:
    """Accounting records that match a filter (`gridengine.usage.accounting`), or their sums; by id from the index."""
    try:
        return Answer(data=master.spool.accounted.search(body))
    except InvalidValueError as fault:
        return Answer(1, [("error", str(fault))])


def held_slots(master: Master, body: Body, caller: Caller) -> Answer:
    """The slots that a reservation held, also after its end (`tell.held_slots`). Body: `ar`, its number."""
    return Answer(data={"held": [row._asdict() for row in master.held_slots(body["ar"])]})


MOST_LINES = 10_000
"""Limit of lines in an answer about one job: the newest lines of its history."""


def job_story(master: Master, body: Body, caller: Caller) -> Answer:
    """The request `job_story`: the history of jobs, also of jobs that are gone. Body: `jobs` (numbers)."""
    found = {number: master.job_history(number, MOST_LINES + 1) for number in dict.fromkeys(body["jobs"])}
    jobs = [
        {"id": number, "cut": len(lines) > MOST_LINES, "events": [[*line[1:]] for line in lines[-MOST_LINES:]]}
        for number, lines in found.items()
        if lines
    ]
    return Answer(data={"jobs": jobs, "unknown": [str(number) for number, lines in found.items() if not lines]})


def config_history(master: Master, body: Body, caller: Caller) -> Answer:
    """Changes of the configuration, the newest first: revision, time, user, host, and the changed objects.

    `revision`: only this revision; `limit`: number of changes (default 50); `kind`, `name`: only changes of such objects;
    `user`: only changes by this user; `before`: only changes before this revision.
    """
    rows = master.spool.history(**{"limit": 50, **body})
    return Answer(data=list(_changes(rows)))


def _changes(rows: list[tuple[Any, ...]]) -> Iterator[Body]:
    """Rows of the history, newest first, grouped by transaction."""
    change: Body = {}
    for revision, time, user, host, kind, name, before, after in rows:
        if change.get("revision") != revision:
            if change:
                yield change
            change = {"revision": revision, "time": time, "user": user, "host": host, "objects": []}
        change["objects"].insert(0, {"kind": kind, "name": name, "before": before, "after": after})
    if change:
        yield change


def job_request(master: Master, body: Body, caller: Caller) -> Answer:
    """The request that would create an equal job, also for one of the last ended jobs.

    Only the owner gets the script and the variables.
    """
    job = master.state.jobs.get(body["job"]) or master.state.ended_job(body["job"])
    if job is None:
        return Answer(1, [("error", f"job {body['job']} does not exist")])
    request, own = request_of(job), caller.user == job.owner
    if own:
        request = with_payload(request, master.payload(job.id))
    return Answer(data={"request": request, "whole": own})


def task_states(master: Master, body: Body, caller: Caller) -> Answer:
    """The request `task_states`: the DRMAA state of each task, done or failed for an ended task; "" for an unknown task."""
    tasks = [(int(job), int(task)) for job, task in body["tasks"]]
    found = states(master.state, tasks)
    for at, (job, task) in enumerate(tasks):
        if not found[at]:
            records = [record for _, record in master.spool.accounted.records([job]) if record.pe_taskid == "NONE"]
            found[at] = next((state_after(each) for each in records[::-1] if task in (0, int(each.task_number) or 1)), "")
    return Answer(data={"states": found})


def fold_options(master: Master, body: Body, caller: Caller) -> Answer:
    """The request `fold_options`: the fields of `Submit` for option texts of qsub."""
    try:
        folded = fold_native(body, master.world().now)
    except (OptionError, InvalidValueError) as fault:
        return Answer(1, [("error", str(fault))])
    return Answer(data=folded._asdict())


READERS: dict[str, Reader] = {
    "accounting": accounting,
    "task_states": task_states,
    "fold_options": fold_options,
    "config_history": config_history,
    "held_slots": held_slots,
    "job_ends": job_ends,
    "job_request": job_request,
    "job_story": job_story,
    **VIEWS,
}
