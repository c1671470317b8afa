"""The sampler: takes a sample of the mirrored cell each minute, while the mirror is connected.

Owns the loop, and the series of a sample. While the qmaster is unreachable there are no samples: plots have a gap. Called by
`daemons.web.server`. Source: adr/0290.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from daemons.runtime.log_once import LogOnce
from daemons.web.job_rows import JobFilter
from daemons.web.shared import Web
from daemons.web.trends.cell_figures import cell_slots, gpu_total, host_loads, mean_load, task_count
from daemons.web.trends.trend_store import CELL, FINEST, GPU, HOST, QUEUE, series_name
from gridengine.state.bookings import CLUSTER
from gridengine.values.gpus import GPUS

_log = logging.getLogger(__name__)

SAMPLE_S = float(FINEST.step_s)
"""Seconds between two samples."""
Samples = dict[str, tuple[float, ...]]


class TrendSampler:
    """The sampler of one web server, on the running event loop."""

    def __init__(self, shared: Web) -> None:
        self._shared = shared
        self._logged = LogOnce()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin the loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End the loop, and close the store: all samples are on the disk."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._shared.trends.close()

    async def _run(self) -> None:
        while True:
            mirror = self._shared.mirror
            if not mirror.connected:
                await asyncio.sleep(1.0)
                continue
            try:
                await self.take()
                self._logged.clear()
            except Exception:  # noqa: BLE001 - a bug in one figure must not end the trends
                if self._logged.is_new("failed"):
                    _log.exception("a sample of the trends failed")
            await asyncio.sleep(SAMPLE_S - mirror.now % SAMPLE_S)

    async def take(self) -> None:
        """Take a sample now."""
        await self._shared.trends.add(self._shared.mirror.now, samples_of(self._shared))


def samples_of(shared: Web) -> Samples:
    """The values of all series, in the order of `MEASURES`."""
    state = shared.mirror.state
    slots, loads = cell_slots(state), host_loads(state)
    waiting, counts = shared.jobs.select_rows(JobFilter(state="waiting"))
    pending = sum(task_count(row.tasks) for row in waiting)
    whole, load = slots.whole, mean_load(loads.values())
    samples: Samples = {
        series_name(CELL): (whole.used, whole.reserved, whole.free, whole.down, pending, counts["running"], load)
    }
    for name, host in loads.items():
        samples[series_name(HOST, name)] = (host.load, host.memory, slots.hosts[name].used)
    for name, queue in slots.queues.items():
        samples[series_name(QUEUE, name)] = (queue.used, queue.total)
    if total := gpu_total(state):
        running = ((job.id, task.id) for job in state.jobs.values() for task in job.tasks.values() if task.usage)
        busy = sum(shared.usage.busy_gpus(*each) for each in running)
        samples[series_name(GPU)] = (state.bookings.of(CLUSTER, GPUS), total, busy)
    return samples
