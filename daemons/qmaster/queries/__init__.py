"""Views: the answers of the reading requests, as pure functions from the state to plain data.

Owns the table of the requests that need only the state. Changes nothing. Called by `reading`, and by the web server with its
mirror of the state. Shapes: docs/gdi.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from daemons.qmaster.queries.configuration_reading import CONFIGURATION_READERS
from daemons.qmaster.queries.devices import devices
from daemons.qmaster.queries.explanation import explain_jobs
from daemons.qmaster.queries.hosts import hosts
from daemons.qmaster.queries.job_detail import job_detail
from daemons.qmaster.queries.jobs import jobs
from daemons.qmaster.queries.planned import planned
from daemons.qmaster.queries.queues import cluster_queues, queue_configurations, queues
from daemons.qmaster.queries.quotas import quotas
from daemons.qmaster.queries.reservations import reservations
from daemons.qmaster.queries.selection import Listing
from daemons.qmaster.queries.share_tree import share_tree
from daemons.qmaster.queries.source import StateSource
from daemons.qmaster.queries.totals import totals
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import Answer, Caller

PARTS: dict[str, Callable[..., Any]] = {
    "jobs": jobs,
    "queues": queues,
    "cluster_queues": cluster_queues,
    "queue_configurations": queue_configurations,
    "hosts": hosts,
    "job_detail": job_detail,
    "reservations": reservations,
    "planned": planned,
    "quotas": quotas,
    "share_tree": share_tree,
    "totals": totals,
}
"""Parts of `status`: view(listing, body, caller, now) -> data."""


def status(source: StateSource, body: dict[str, Any], caller: Caller) -> Answer:
    """The request `status`: several parts of the cluster at one moment."""
    world = source.world()
    listing = Listing(source.state, world.zone, world.resolve_host)
    data: dict[str, Any] = {}
    for name, part in body.items():
        view = PARTS.get(name)
        if view is None:
            return Answer(1, [("error", f'denied: unknown part "{name}" of request status')])
        if view is job_detail:
            view = partial(view, environment_of=source.environment, zone=world.zone, admin_user=world.admin_user)
        try:
            data[name] = view(listing, part, caller, world.now)
        except InvalidValueError as fault:
            return Answer(1, [("error", str(fault))])
    return Answer(data=data)


def explain_job(source: StateSource, body: dict[str, Any], caller: Caller) -> Answer:
    """The request `explain_job`: why jobs are pending. Body: `jobs` (ids, names, patterns)."""
    world = source.world()
    try:
        return Answer(data=explain_jobs(source.state, list(body["jobs"]), world.now, world.zone, caller, world.admin_user))
    except InvalidValueError as fault:
        return Answer(1, [("error", str(fault))])


def orphans(source: StateSource, body: dict[str, Any], caller: Caller) -> Answer:
    """Tasks on hosts that are unknown to the cell: [host, job, task, owner or "", submit time or 0.0] of each (ADR 93)."""
    hosts = sorted(source.state.hosts.items())
    rows = [[name, *orphan.key[:2], orphan.owner, orphan.submit_time] for name, host in hosts for orphan in host.orphans]
    return Answer(data={"strays": rows})


VIEWS: dict[str, Callable[[StateSource, dict[str, Any], Caller], Answer]] = {
    **CONFIGURATION_READERS,
    "devices": devices,
    "explain_job": explain_job,
    "status": status,
    "strays": orphans,
}
"""Reading requests that need only the state."""
