"""Numbers of tasks by state, in total and by owner: a summary of the cluster without rows.

Owns the state under which a task counts. Pure; a single pass over the jobs. Called through `daemons.qmaster.queries`, and by
the metrics of the web server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from daemons.qmaster.queries.selection import Body, Listing
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.jobs import Job
from gridengine.state.state import State
from gridengine.state.state_codes import pending_groups, running_state_codes

TASK_STATES = ("pending", "held", "error", "transferring", "running", "suspended")
_AT_A_HOST = frozenset(("transferring", "running", "suspended"))
#: number of owners in an answer: the owners with most tasks at hosts, then with most waiting tasks
_OWNERS = 50


def tasks_of(state: State, job: Job) -> Iterator[tuple[str, int]]:
    """(state of `TASK_STATES`, number of tasks) of a job."""
    for state_codes, pending in pending_groups(state, job):
        yield "error" if "E" in state_codes else "held" if "h" in state_codes else "pending", len(pending)
    for task in job.placed:
        state_codes = running_state_codes(state, job, task)
        yield "transferring" if "t" in state_codes else "running" if "r" in state_codes else "suspended", 1


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
