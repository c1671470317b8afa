"""Resources that the scheduler reserves for pending jobs (-R y), as qsched shows them.

Owns the selection of facts. Pure. Called through `daemons.qmaster.queries`. Statements UT-1, SC-7.
"""

from __future__ import annotations

from typing import Any

from daemons.qmaster.queries.selection import Body, Listing, user_filter
from gridengine.placement.timeline import is_still_waiting
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.bookings import Bookings, bookings_of
from gridengine.state.reservations import JobReservation


def planned(listing: Listing, body: Body, caller: Caller, now: float) -> list[dict[str, Any]]:
    """Body: `users`. Reservations of the last run, by start and number, without the tasks that have begun since."""
    jobs = listing.state.jobs
    is_selected = user_filter(listing.state, body, caller)
    waiting = [reservation for reservation in listing.state.job_reservations if is_still_waiting(listing.state, reservation)]
    selected = [each for each in waiting if is_selected(jobs[each.job_id].owner, jobs[each.job_id].group)]
    return [_row(listing, each) for each in sorted(selected, key=lambda each: (each.start_time, each.job_id, each.task_id))]


def _row(listing: Listing, reservation: JobReservation) -> dict[str, Any]:
    job = listing.state.jobs[reservation.job_id]
    return {
        "job": reservation.job_id,
        "task": reservation.task_id,
        "owner": job.owner,
        "start_time": reservation.start_time,
        "end_time": reservation.end_time,
        "pe": reservation.pe,
        "slots": sum(grant.slots for grant in reservation.granted),
        "granted": [[grant.instance, grant.slots] for grant in reservation.granted],
        "h_vmem": listing.request_text("h_vmem", job.hard["h_vmem"]) if "h_vmem" in job.hard else "",
        "hosts": _consumed(listing, reservation),
    }


def _consumed(listing: Listing, reservation: JobReservation) -> dict[str, list[list[object]]]:
    """[consumable, amount] of the task on each host that has a capacity of the consumable."""
    taken = Bookings()
    taken.book(bookings_of(reservation.granted, listing.state.amounts(reservation.resources), reservation.pe))
    found: dict[str, list[list[object]]] = {}
    for holder, name, amount in taken.entries():
        if holder.kind == "host" and name in listing.config_snapshot.capacities[holder].fixed:
            found.setdefault(holder.name, []).append([name, amount])
    return found
