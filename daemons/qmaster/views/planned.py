"""What the scheduler keeps free for waiting jobs (-R y), as qsched shows it.

Owns that selection of facts. Pure. Called through `daemons.qmaster.views`. Statements UT-1, SC-7.
"""

from __future__ import annotations

from typing import Any

from daemons.qmaster.views.selection import Body, Listing, users_wanted
from gridengine.gdi.requests import Caller
from gridengine.placement.timeline import is_still_waiting
from gridengine.state.bookings import Bookings, bookings_of
from gridengine.state.reservations import JobReservation


def planned(listing: Listing, body: Body, caller: Caller, now: float) -> list[dict[str, Any]]:
    """Body: `users`. Reservations of the last run, by start and number, without those of tasks that have begun since."""
    jobs = listing.state.jobs
    wanted = users_wanted(listing.state, body, caller)
    waiting = [one for one in listing.state.job_reservations if is_still_waiting(listing.state, one)]
    made = [one for one in waiting if wanted(jobs[one.job_id].owner, jobs[one.job_id].group)]
    return [_row(listing, one) for one in sorted(made, key=lambda one: (one.start_time, one.job_id, one.task_id))]


def _row(listing: Listing, one: JobReservation) -> dict[str, Any]:
    job = listing.state.jobs[one.job_id]
    return {
        "job": one.job_id,
        "task": one.task_id,
        "owner": job.owner,
        "start_time": one.start_time,
        "end_time": one.end_time,
        "pe": one.pe,
        "slots": sum(grant.slots for grant in one.granted),
        "granted": [[grant.instance, grant.slots] for grant in one.granted],
        "h_vmem": listing.request_text("h_vmem", job.hard["h_vmem"]) if "h_vmem" in job.hard else "",
        "hosts": _consumed(listing, one),
    }


def _consumed(listing: Listing, one: JobReservation) -> dict[str, list[list[object]]]:
    """[consumable, amount] of what the task is to take of each host that has a capacity of it."""
    taken = Bookings()
    taken.book(bookings_of(one.granted, listing.state.amounts(one.resources), one.pe))
    found: dict[str, list[list[object]]] = {}
    for holder, name, amount in taken.entries():
        if holder.kind == "host" and name in listing.config_snapshot.capacities[holder].fixed:
            found.setdefault(holder.name, []).append([name, amount])
    return found
