"""Metrics of the cell for Prometheus, and whether the web server lives and follows the qmaster.

Owns the names of the metrics, all of which begin with `gridengine_`; the figures are the mirror's, and the qmaster's own
measures. The client library writes them. Source: docs/web.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from daemons.qmaster.views.queues import cluster_queues
from daemons.qmaster.views.selection import Listing
from daemons.qmaster.views.totals import TASK_STATES, tasks_of
from daemons.web.mirror import StateMirror
from daemons.web.shared import WEB
from gridengine.gdi.requests import Caller
from gridengine.mirroring import BUCKETS_S, Histogram
from gridengine.state.state import State

NOBODY = Caller("", -1, "", -1, "")
_USED = ("used", "resv", "available", "total", "temporary", "manual")
_MEASURES = {
    "commit": ("gridengine_commit_seconds", "Writes of transactions to the qmaster's disk."),
    "cycle": ("gridengine_scheduling_cycle_seconds", "Runs of the scheduler."),
    "dispatch": ("gridengine_dispatch_seconds", "From the event that woke the scheduler until its orders are on disk."),
}


class CellMetrics(Collector):
    """What a scrape reads."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror = mirror

    def collect(self) -> Iterator[Metric]:
        """All metrics, of one moment."""
        mirror = self._mirror
        yield _gauge("mirror_connected", "1 while the web server follows the qmaster.", float(mirror.connected))
        yield _gauge("mirror_age_seconds", "How old the figures are; 0 while they are followed.", mirror.age_s)
        if not mirror.ready:
            return
        yield CounterMetricFamily("gridengine_revision", "Transactions of the cell since it was made.", mirror.state.revision)
        yield from _jobs(mirror.state)
        yield from _queues(mirror.state, mirror.now)
        yield from _hosts(mirror.state, mirror.now)
        yield from _reservations(mirror.state)
        for name, (metric, text) in _MEASURES.items():
            yield _histogram(metric, text, getattr(mirror.measures, name))


def _jobs(state: State) -> Iterator[Metric]:
    tasks = dict.fromkeys(TASK_STATES, 0)
    for job in state.jobs.values():
        for name, count in tasks_of(state, job):
            tasks[name] += count
    family = _gauge("tasks", "Tasks of jobs by state.", labels=["state"])
    for name in TASK_STATES:
        family.add_metric([name], tasks[name])
    yield family
    yield _gauge("jobs", "Jobs that are not over.", len(state.jobs))


def _queues(state: State, now: float) -> Iterator[Metric]:
    slots = _gauge("queue_slots", "Slots of cluster queues, as qstat -g c has them.", labels=["queue", "use"])
    for row in cluster_queues(Listing(state), {}, NOBODY, now):
        for use in _USED:
            slots.add_metric([row["name"], use], row[use])
    yield slots


def _hosts(state: State, now: float) -> Iterator[Metric]:
    up = _gauge("host_up", "1 for an exec host that is heard.", labels=["host"])
    age = _gauge("host_report_age_seconds", "Seconds since the last load report.", labels=["host"])
    for name, host in sorted(state.hosts.items()):
        up.add_metric([name], float(host.up))
        if host.last_heard:
            age.add_metric([name], max(0.0, now - host.last_heard))
    yield up
    yield age


def _reservations(state: State) -> Iterator[Metric]:
    family = _gauge("reservations", "Advance reservations by state (w r W E d).", labels=["state"])
    counts = Counter(dict.fromkeys("wrWEd", 0))
    counts.update(one.state for one in state.reservations.values())
    for letter, count in sorted(counts.items()):
        family.add_metric([letter], count)
    yield family


def _gauge(name: str, text: str, value: float | None = None, labels: Sequence[str] = ()) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"gridengine_{name}", text, value, labels or None)


def _histogram(name: str, text: str, measured: Histogram) -> HistogramMetricFamily:
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), measured.counts, strict=True):
        total += count
        buckets.append((bound, total))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=measured.seconds)


async def metrics(request: web.Request) -> web.Response:
    """`/metrics`, in the text form of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(CellMetrics(request.app[WEB].mirror))
    return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def healthz(request: web.Request) -> web.Response:
    """`/healthz`: this process answers."""
    return web.Response(text="ok\n")


async def readyz(request: web.Request) -> web.Response:
    """`/readyz`: the mirror follows the qmaster; else 503, with the reason."""
    mirror = request.app[WEB].mirror
    if mirror.connected:
        return web.Response(text="ok\n")
    text = f"the qmaster has been away for {mirror.age_s:.0f} s" if mirror.ready else "nothing has been mirrored yet"
    return web.Response(text=text + "\n", status=503)


ROUTES = [web.get("/metrics", metrics), web.get("/healthz", healthz), web.get("/readyz", readyz)]
