"""What a task uses, beside what its job asked for: the figures and plots of the page of a job. Source: GU-12."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from daemons.web.pages.formats import memory
from daemons.web.usage_history import Sample
from gridengine.errors import SyntaxFault
from gridengine.state.jobs import Job, Task
from gridengine.units import parse_memory

_MEMORY = ("h_vmem", "s_vmem", "h_rss", "mem_free", "virtual_free", "mem_used")
"""Requests that are about memory, the one that limits most first."""


class UsagePlot(NamedTuple):
    """`times`: epoch s; a line has a value, or None, for each."""

    title: str
    times: list[float]
    lines: list[dict[str, Any]]


class ShownUsage(NamedTuple):
    """`figures`: (what, asked for, now, at most) each."""

    task: int
    figures: list[tuple[str, str, str, str]]
    plots: list[UsagePlot]


def usage_of(job: Job, task: Task, samples: Sequence[Sample]) -> ShownUsage | None:
    """What a task that runs has used so far; None before its first report."""
    used = task.usage
    if used is None or len(samples) < 2:
        return None
    asked, limit = _asked(job, task)
    busy = processors(samples)
    figures = [
        ("Memory", asked, memory(used.vmem), memory(used.maxvmem)),
        ("Processors", f"{task.slots} slots" if task.slots > 1 else "1 slot", f"{busy[-1]:.2f}", f"{max(busy):.2f}"),
    ]
    times = [each.time for each in samples[1:]]
    lines = [("in use", [each.vmem for each in samples[1:]]), ("at most", [each.maxvmem for each in samples[1:]])]
    lines += [(f"asked for ({asked})", [limit] * len(times))] if limit else []
    plots = [
        UsagePlot("Memory in bytes", times, [{"label": label, "values": values} for label, values in lines]),
        UsagePlot("Processors in use", times, [{"label": "in use", "values": busy}]),
    ]
    return ShownUsage(task.id, figures, plots)


def processors(samples: Sequence[Sample]) -> list[float]:
    """How many processors were busy between each sample and the one before it."""
    return [max(0.0, new.cpu - old.cpu) / (new.time - old.time) if new.time > old.time else 0.0 for old, new in pairwise(samples)]


def _asked(job: Job, task: Task) -> tuple[str, float]:
    """The request of memory in its words, and in bytes; ("-", 0) without one. h_vmem counts for each slot."""
    for name in _MEMORY:
        text = task.resources.get(name) or job.hard.get(name)
        try:
            size = parse_memory(text) if text else 0.0
        except SyntaxFault:
            continue
        if 0 < size < float("inf"):
            slots = task.slots if name in ("h_vmem", "s_vmem", "h_rss") else 1
            return f"{name}={text}" + (f" × {slots}" if slots > 1 else ""), size * slots
    return "-", 0.0
