"""Reading requests: those that need the spool, and the table with all that change nothing.

Owns accounting, what reservations held, stories and the history; what needs the state alone are the views. Everybody may read
(QF-36). Called by `daemons.qmaster.serve.endpoints`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from daemons.qmaster.decide.jobs.job_request import request_of, with_payload
from daemons.qmaster.master import Master
from daemons.qmaster.views import VIEWS
from daemons.qmaster.views.job_ends import job_ends
from daemons.qmaster.views.task_ends import state_after, states
from gridengine.errors import SyntaxFault
from gridengine.gdi.requests import Answer, Caller
from gridengine.options.native import fold_native
from gridengine.options.option import OptionError

Body = dict[str, Any]
Reader = Callable[[Master, Body, Caller], Answer]


def accounting(master: Master, body: Body, caller: Caller) -> Answer:
    """Accounting records that a filter means (`gridengine.accounting`), or their sums; by id from the index."""
    try:
        return Answer(data=master.spool.accounted.search(body))
    except SyntaxFault as fault:
        return Answer(1, [("error", str(fault))])


def held_slots(master: Master, body: Body, caller: Caller) -> Answer:
    """What a reservation held, also one that is gone (`tell.held_slots`). Body: `ar`, its number."""
    return Answer(data={"held": [row._asdict() for row in master.held_slots(body["ar"])]})


MOST_LINES = 10_000
"""Lines of one story that a request gets, the last ones of it."""


def job_story(master: Master, body: Body, caller: Caller) -> Answer:
    """The request `job_story`: what happened to jobs, also to those that are gone. Body: `jobs` (numbers)."""
    found = {number: master.job_history(number, MOST_LINES + 1) for number in dict.fromkeys(body["jobs"])}
    jobs = [
        {"id": number, "cut": len(lines) > MOST_LINES, "events": [[*line[1:]] for line in lines[-MOST_LINES:]]}
        for number, lines in found.items()
        if lines
    ]
    return Answer(data={"jobs": jobs, "unknown": [str(number) for number, lines in found.items() if not lines]})


def config_history(master: Master, body: Body, caller: Caller) -> Answer:
    """Changes of the configuration, the newest first: revision, time, user, host, and what changed.

    `revision`: only this one; `limit`: how many (default 50); `kind`, `name`: only changes of such objects; `user`: only his;
    `before`: only those before this revision.
    """
    rows = master.spool.history(**{"limit": 50, **body})
    return Answer(data=list(_changes(rows)))


def _changes(rows: list[tuple[Any, ...]]) -> Iterator[Body]:
    """Rows of the history, newest first, gathered by transaction."""
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
    """The request that a job would come of, also one of the last ended, to make another one like it.

    Script and variables are for its owner alone.
    """
    job = master.state.jobs.get(body["job"]) or master.state.ended_job(body["job"])
    if job is None:
        return Answer(1, [("error", f"job {body['job']} does not exist")])
    wish, own = request_of(job), caller.user == job.owner
    if own:
        wish = with_payload(wish, master.payload(job.id))
    return Answer(data={"request": wish, "whole": own})


def task_states(master: Master, body: Body, caller: Caller) -> Answer:
    """The request `task_states`: the state of each task as DRMAA calls it; of one that has ended done or failed, "" for none."""
    tasks = [(int(job), int(task)) for job, task in body["tasks"]]
    found = states(master.state, tasks)
    for at, (job, task) in enumerate(tasks):
        if not found[at]:
            records = [record for _, record in master.spool.accounted.records([job]) if record.pe_taskid == "NONE"]
            found[at] = next((state_after(each) for each in records[::-1] if task in (0, int(each.task_number) or 1)), "")
    return Answer(data={"states": found})


def fold_options(master: Master, body: Body, caller: Caller) -> Answer:
    """The request `fold_options`: the fields of `Submit` that texts of qsub's options add up to."""
    try:
        folded = fold_native(body, master.world().now)
    except (OptionError, SyntaxFault) as fault:
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
