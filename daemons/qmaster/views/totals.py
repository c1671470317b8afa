"""How many tasks there are in which state, in all and by owner: the cluster in some numbers, without its rows.

Owns what a task counts as. Pure, and one pass over the jobs. Called through `daemons.qmaster.views`, and by the web server's
metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from daemons.qmaster.views.selection import Body, Listing
from gridengine.gdi.requests import Caller
from gridengine.state.jobs import Job
from gridengine.state.state import State
from gridengine.state.state_codes import pending_groups, running_state_codes

TASK_STATES = ("pending", "held", "error", "transferring", "running", "suspended")
_AT_A_HOST = frozenset(("transferring", "running", "suspended"))
#: owners in an answer: those with most tasks at hosts, then with most that wait
_OWNERS = 50


def tasks_of(state: State, job: Job) -> Iterator[tuple[str, int]]:
    """A job's tasks by what they count as (`TASK_STATES`), with their number."""
    for letters, pending in pending_groups(state, job):
        yield "error" if "E" in letters else "held" if "h" in letters else "pending", len(pending)
    for task in job.placed:
        letters = running_state_codes(state, job, task)
        yield "transferring" if "t" in letters else "running" if "r" in letters else "suspended", 1


def totals(listing: Listing, body: Body, caller: Caller, now: float) -> dict[str, Any]:
    """Data: {"jobs": count, "tasks": {state: count}, "owners": [[name, tasks at hosts, tasks that wait]]}."""
    state = listing.state
    tasks = dict.fromkeys(TASK_STATES, 0)
    owners: dict[str, list[int]] = {}
    for job in state.jobs.values():
        of_owner = owners.setdefault(job.owner, [0, 0])
        for name, count in tasks_of(state, job):
            tasks[name] += count
            of_owner[name not in _AT_A_HOST] += count
    order = sorted(owners.items(), key=lambda owner: (-owner[1][0], -owner[1][1], owner[0]))[:_OWNERS]
    return {"jobs": len(state.jobs), "tasks": tasks, "owners": [[name, *counts] for name, counts in order]}
