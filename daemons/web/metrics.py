"""Metrics of the cell for Prometheus, and the health checks of the web server.

Owns the endpoints and the order of a scrape; all names begin with `gridengine_`. The figures come from the mirror
(`daemons.web.metric_families`) and from the qmaster's own measures. The client library formats them. Source: docs/web.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from daemons.web import metric_families as families
from daemons.web.alarms.rules import RULES, SEVERITIES
from daemons.web.metric_families import SpoolFigures, gauge
from daemons.web.shared import WEB, Web
from gridengine.protocols.mirroring import BUCKETS_S, Histogram

_MEASURES = {
    "commit": ("gridengine_commit_seconds", "Writes of transactions to the qmaster's disk."),
    "cycle": ("gridengine_scheduling_cycle_seconds", "Runs of the scheduler."),
    "dispatch": ("gridengine_dispatch_seconds", "From the event that woke the scheduler until its orders are on disk."),
}


class CellMetrics(Collector):
    """The collector of a scrape. `spool`: figures of the qmaster's disk, None on other hosts."""

    def __init__(self, shared: Web, spool: SpoolFigures | None) -> None:
        self._mirror, self._task_ends, self._alarms, self._spool = shared.mirror, shared.end_counts, shared.alarms, spool

    def collect(self) -> Iterator[Metric]:
        """All metrics, from the same state."""
        mirror = self._mirror
        yield gauge("mirror_connected", "1 while the web server follows the qmaster.", float(mirror.connected))
        yield gauge("mirror_age_seconds", "Age of the figures; 0 while the mirror is connected.", mirror.age_s)
        yield families.alarms(self._alarms.counts(), RULES, SEVERITIES)
        if self._spool is not None:
            yield from families.spool(self._spool)
        if not mirror.ready:
            return
        yield CounterMetricFamily("gridengine_revision", "Transactions of the cell since its creation.", mirror.state.revision)
        yield self._task_ends.family()
        yield from families.jobs(mirror.state, mirror.now)
        yield from families.queues(mirror.state, mirror.now)
        yield from families.consumables(mirror.state)
        yield from families.hosts(mirror.state, mirror.now)
        yield from families.reservations(mirror.state)
        for name, (metric, text) in _MEASURES.items():
            yield _histogram(metric, text, getattr(mirror.measures, name))


def _histogram(name: str, text: str, measured: Histogram) -> HistogramMetricFamily:
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), measured.counts, strict=True):
        total += count
        buckets.append((bound, total))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=measured.seconds)


async def metrics(request: web.Request) -> web.Response:
    """`/metrics`, in the text form of Prometheus."""
    shared = request.app[WEB]
    spool = await asyncio.to_thread(families.spool_figures, shared.cell)  # a disk may hang
    registry = CollectorRegistry(auto_describe=False)
    registry.register(CellMetrics(shared, spool))
    return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def healthz(request: web.Request) -> web.Response:
    """`/healthz`: ok while this process answers."""
    return web.Response(text="ok\n")


async def readyz(request: web.Request) -> web.Response:
    """`/readyz`: ok while the mirror is connected to the qmaster; else 503, with the reason."""
    mirror = request.app[WEB].mirror
    if mirror.connected:
        return web.Response(text="ok\n")
    text = f"the qmaster has been away for {mirror.age_s:.0f} s" if mirror.ready else "nothing has been mirrored yet"
    return web.Response(text=text + "\n", status=503)


ROUTES = [web.get("/metrics", metrics), web.get("/healthz", healthz), web.get("/readyz", readyz)]
