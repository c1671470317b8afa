"""What running tasks used over time, as far as this server has seen it: for plots on the page of a job.

Owns the memory of that; the state has the last report alone. Bounded: with many tasks each has fewer samples, further apart.
Source: GU-12; the reports are those of `qstat -j`'s usage.
"""

from __future__ import annotations

from typing import NamedTuple

from daemons.web.mirror import MirroredChange, StateMirror
from gridengine.state.machines.task import TaskUsageReported

MOST, LEAST_OF_TASK, MOST_OF_TASK = 200_000, 10, 240
"""Samples of all tasks, and of one."""


class Sample(NamedTuple):
    """`time`: epoch s; `cpu`: s since the start; `vmem`, `maxvmem`: bytes."""

    time: float
    cpu: float
    vmem: float
    maxvmem: float


class UsageHistory:
    """The memory; it begins anew whenever the mirror does."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror = mirror
        self._samples: dict[tuple[int, int], list[Sample]] = {}
        mirror.followers.append(self._note)

    def of(self, job: int, task: int) -> list[Sample]:
        """The samples of a task that runs, the oldest first; its start, with nothing used, is one of them."""
        return self._samples.get((job, task), [])

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
        samples.append(Sample(time, used.cpu, used.vmem, used.maxvmem))
        if len(samples) > max(LEAST_OF_TASK, min(MOST_OF_TASK, MOST // len(self._samples))):
            del samples[1:-1:2]
