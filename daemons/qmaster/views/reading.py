"""Reading requests: accounting, and the table with those of configuration and the views for qstat, qhost and their family.

Owns the table of requests that change nothing. The views themselves are pure functions in `daemons.qmaster.views`; this
module gives them the state and adds what needs the spool. Everybody may read (QF-36).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daemons.qmaster.master import Master
from daemons.qmaster.views import VIEWS
from daemons.qmaster.views.configuration_reading import CONFIGURATION_READERS
from gridengine.errors import SyntaxFault
from gridengine.gdi.requests import Answer, Caller

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


def strays(master: Master, body: Body, caller: Caller) -> Answer:
    """Tasks on hosts that the cell does not know: [host, job, task, owner or "", submit time or 0.0] of each (ADR 93)."""
    hosts = sorted(master.state.hosts.items())
    rows = [[name, *stray.key[:2], stray.owner, stray.submit_time] for name, host in hosts for stray in host.strays]
    return Answer(data={"strays": rows})


MOST_LINES = 10_000
"""Lines of one story that a request gets, the last ones of it."""


def job_story(master: Master, body: Body, caller: Caller) -> Answer:
    """The request `job_story`: what happened to jobs, also to those that are gone. Body: `jobs` (numbers)."""
    found = {number: master.story(number, MOST_LINES + 1) for number in dict.fromkeys(body["jobs"])}
    jobs = [
        {"id": number, "cut": len(lines) > MOST_LINES, "events": [[*line[1:]] for line in lines[-MOST_LINES:]]}
        for number, lines in found.items()
        if lines
    ]
    return Answer(data={"jobs": jobs, "unknown": [str(number) for number, lines in found.items() if not lines]})


READERS: dict[str, Reader] = {
    **CONFIGURATION_READERS,
    "accounting": accounting,
    "held_slots": held_slots,
    "job_story": job_story,
    "strays": strays,
    **VIEWS,
}
