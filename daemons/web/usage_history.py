"""The usage of running tasks over time, since the start of this server: for plots on the page of a job.

Owns the samples; the state has only the last report. The memory is bounded: with many tasks each task has fewer samples, further
apart. Source: GU-12; the reports are the usage of `qstat -j`.
"""

from __future__ import annotations

from typing import NamedTuple

from daemons.web.mirror import MirroredChange, StateMirror
from gridengine.state.machines.task import TaskUsageReported

MAX_SAMPLES, MIN_TASK_SAMPLES, MAX_TASK_SAMPLES = 200_000, 10, 240
"""Limits of the number of samples: of all tasks, and of one task."""


class Sample(NamedTuple):
    """`time`: epoch s; `cpu`: s since the start; `vmem`, `maxvmem`: bytes. `gpu_busy`, `gpu_measured`: s since the start, of all
    devices."""

    time: float
    cpu: float
    vmem: float
    maxvmem: float
    gpu_busy: float = 0.0
    gpu_measured: float = 0.0


class UsageHistory:
    """The samples of all tasks; they restart with each restart of the mirror."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror = mirror
        self._samples: dict[tuple[int, int], list[Sample]] = {}
        mirror.followers.append(self._note)

    def of(self, job: int, task: int) -> list[Sample]:
        """The samples of a running task, the oldest first; the first sample is its start, without usage."""
        return self._samples.get((job, task), [])

    def busy_gpus(self, job: int, task: int) -> float:
        """The number of GPUs that a running task kept busy between its last two reports, a GPU of half utilisation as a half."""
        *_, old, new = (Sample(0.0, 0.0, 0.0, 0.0), Sample(0.0, 0.0, 0.0, 0.0), *self.of(job, task))
        known = self._mirror.state.task(job, task)
        units = len(known.usage.units) if known is not None and known.usage is not None else 0
        measured = new.gpu_measured - old.gpu_measured
        return units * (new.gpu_busy - old.gpu_busy) / measured if measured > 0 else 0.0

    def _note(self, change: MirroredChange) -> None:
        if change.whole:
            self._samples.clear()
            return
        for event in change.events:
            if isinstance(event, TaskUsageReported):
                self._add(event, change.time)
        for key in change.affected.tasks & self._samples.keys():
            task = self._mirror.state.task(*key)
            if task is None or task.usage is None:
                del self._samples[key]

    def _add(self, event: TaskUsageReported, time: float) -> None:
        key, used = (event.job_id, event.task_id), event.usage
        task = self._mirror.state.task(*key)
        if task is None or task.usage is None:
            return
        samples = self._samples.setdefault(key, [Sample(task.start_time, 0.0, 0.0, 0.0)])
        measured = sum(unit.measured for unit in used.units)
        busy = sum((unit.utilisation or 0.0) * unit.measured for unit in used.units)
        samples.append(Sample(time, used.cpu, used.vmem, used.maxvmem, busy, measured))
        if len(samples) > max(MIN_TASK_SAMPLES, min(MAX_TASK_SAMPLES, MAX_SAMPLES // len(self._samples))):
            del samples[1:-1:2]
