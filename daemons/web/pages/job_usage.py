"""The usage of a task, compared to the job's requests: figures and plots for the page of a job. Source: GU-12."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from daemons.web.pages.formats import memory
from daemons.web.usage_history import Sample
from gridengine.state.jobs import Job, Task
from gridengine.usage.requested_memory import requested_memory
from gridengine.usage.unit_usage import json_fields


class UsagePlot(NamedTuple):
    """`times`: epoch s; `lines`: `label` and `values` each, a value, or None, for each time."""

    title: str
    times: list[float]
    lines: list[dict[str, Any]]


class ShownUsage(NamedTuple):
    """`task`: its number; `plots`: over the time of its run; `figures`: (resource, requested, current, peak) each; `devices`:
    their use so far, the fields of `unit_usage.json_fields` each."""

    task: int
    figures: list[tuple[str, str, str, str]]
    plots: list[UsagePlot]
    devices: list[dict[str, Any]]


def usage_of(job: Job, task: Task, samples: Sequence[Sample]) -> ShownUsage | None:
    """The usage of a running task so far; None before its first report."""
    used = task.usage
    if used is None or len(samples) < 2:
        return None
    requested, limit = requested_memory({**job.hard, **task.resources}, task.slots)
    busy = processors(samples)
    figures = [
        ("Memory", requested, memory(used.vmem), memory(used.maxvmem)),
        ("CPU cores", f"{task.slots} slots" if task.slots > 1 else "1 slot", f"{busy[-1]:.2f}", f"{max(busy):.2f}"),
    ]
    times = [each.time for each in samples[1:]]
    lines = [("in use", [each.vmem for each in samples[1:]]), ("peak", [each.maxvmem for each in samples[1:]])]
    lines += [(f"requested ({requested})", [limit] * len(times))] if limit else []
    plots = [
        UsagePlot("Memory in bytes", times, [{"label": label, "values": values} for label, values in lines]),
        UsagePlot("CPU cores used", times, [{"label": "in use", "values": busy}]),
    ]
    if used.units:
        plots.append(UsagePlot("GPU utilisation in percent", times, [{"label": "mean", "values": gpu_utilisation(samples)}]))
    return ShownUsage(task.id, figures, plots, list(map(json_fields, used.units)))


def processors(samples: Sequence[Sample]) -> list[float]:
    """The number of busy processors between each sample and the previous sample."""
    return [max(0.0, new.cpu - old.cpu) / (new.time - old.time) if new.time > old.time else 0.0 for old, new in pairwise(samples)]



def gpu_utilisation(samples: Sequence[Sample]) -> list[float | None]:
    """The mean utilisation of the devices in percent between each sample and the previous sample; None where nothing was
    measured."""
    parts = ((new.gpu_busy - old.gpu_busy, new.gpu_measured - old.gpu_measured) for old, new in pairwise(samples))
    return [100 * busy / measured if measured > 0 else None for busy, measured in parts]
