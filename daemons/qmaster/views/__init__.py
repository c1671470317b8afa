"""Views: what the reading requests answer, as pure functions from the state to plain data.

Owns the table of reading requests. Must not change anything; the only thing beyond the state is the spool's payload and
accounting, which are read here and passed in. Called by `daemons.qmaster.serve.service`. Shapes: docs/gdi.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from daemons.qmaster.master import Master
from daemons.qmaster.views.explanation import explain_jobs
from daemons.qmaster.views.hosts import hosts
from daemons.qmaster.views.job_detail import job_detail
from daemons.qmaster.views.jobs import jobs
from daemons.qmaster.views.queues import cluster_queues, queue_configurations, queues
from daemons.qmaster.views.quotas import quotas
from daemons.qmaster.views.reservations import reservations
from daemons.qmaster.views.selection import Listing
from daemons.qmaster.views.share_tree import share_tree
from gridengine.errors import SyntaxFault
from gridengine.gdi.requests import Answer, Caller

PARTS: dict[str, Callable[..., Any]] = {
    "jobs": jobs,
    "queues": queues,
    "cluster_queues": cluster_queues,
    "queue_configurations": queue_configurations,
    "hosts": hosts,
    "job_detail": job_detail,
    "reservations": reservations,
    "quotas": quotas,
    "share_tree": share_tree,
}
"""Parts of `status`: view(listing, body, caller, now) -> data."""


def status(master: Master, body: dict[str, Any], caller: Caller) -> Answer:
    """The request `status`: several parts of the cluster as they are at one moment."""
    listing = Listing(master.state)
    world = master.world()
    data: dict[str, Any] = {}
    for name, part in body.items():
        view = PARTS.get(name)
        if view is None:
            return Answer(1, [("error", f'denied: unknown part "{name}" of request status')])
        if view is job_detail:
            payloads = {"environment_of": lambda job_id: master.spool.payload(job_id).environment}
            view = partial(view, **payloads, zone=world.zone, admin_user=world.admin_user)
        try:
            data[name] = view(listing, part, caller, world.now)
        except SyntaxFault as fault:
            return Answer(1, [("error", str(fault))])
    return Answer(data=data)


def explain_job(master: Master, body: dict[str, Any], caller: Caller) -> Answer:
    """The request `explain_job`: why jobs are pending. Body: `jobs` (ids, names, patterns)."""
    world = master.world()
    try:
        return Answer(data=explain_jobs(master.state, list(body["jobs"]), world.now, world.zone))
    except SyntaxFault as fault:
        return Answer(1, [("error", str(fault))])


VIEWS: dict[str, Callable[[Master, dict[str, Any], Caller], Answer]] = {"explain_job": explain_job, "status": status}
