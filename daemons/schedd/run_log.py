"""Run log: the findings of a monitored scheduling run, for common/schedd_runlog.

Owns the lines: local time, a bar, a sentence; a first and a last line around each run. The sentences come from
`gridengine.placement.reasons`; jobs of one category share them. Source: qconf(1) -tsm; QF-35; O for the form.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from daemons.schedd.view import View
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.obstacles import obstacle
from gridengine.placement.pending import waiting_reason
from gridengine.placement.reserved import reservation_waits
from gridengine.placement.verify import explain
from gridengine.protocols.orders import Orders
from gridengine.state.jobs import Job

_START = "-------------START-SCHEDULER-RUN-------------"
_STOP = "--------------STOP-SCHEDULER-RUN-------------"


def run_log(view: View, orders: Orders, now: float, zone: tzinfo) -> list[str]:
    """The lines of the run that made these orders. now: epoch seconds; zone: of the times."""
    time = datetime.fromtimestamp(now, zone).strftime("%a %b %e %H:%M:%S %Y")
    closed = _closed_instances(view)
    texts = [_START, *closed, *_jobs(view, orders, now, frozenset(closed)), _STOP]
    return [f"{time}|{text}" for text in texts]


def _closed_instances(view: View) -> list[str]:
    """Return the reasons why instances accept no job at all."""
    config_snapshot, ledger = PlacementConfig.of(view.state), Ledger(view.state)
    reasons = [obstacle(config_snapshot, ledger, instance) for _, instance in sorted(view.state.instances.items())]
    return [reason.text for reason in reasons if reason is not None]


def _jobs(view: View, orders: Orders, now: float, closed: frozenset[str]) -> Iterator[str]:
    """Return the reasons why pending jobs were not started. `closed`: sentences that are reported already."""
    started = {order.job_id for order in orders.starts}
    jobs = view.state.jobs.values()
    pending = [job for job in jobs if job.waits]
    if not pending:
        yield "no pending jobs to perform scheduling on"
    of_category: dict[int, list[str]] = {}
    faults = {fault.job_id: fault.reason for fault in orders.faults}
    for job in pending:
        if job.id in faults:
            yield f"Job {job.id} {faults[job.id]}"
        elif job.id not in started:
            yield from (f"Job {job.id} {text}" for text in _reasons(view, job, now, of_category) if text not in closed)


def _reasons(view: View, job: Job, now: float, of_category: dict[int, list[str]]) -> list[str]:
    own = waiting_reason(view.state, job, now) or (reservation_waits(view.state, job) if job.ar else None)
    if own is not None:
        return [own.text]
    key = id(view.category(job))
    if key not in of_category:
        reasons = [reason.text for reason in explain(view.state, job, now)]
        of_category[key] = reasons or ["found its places taken by jobs that were started before it"]
    return of_category[key]
