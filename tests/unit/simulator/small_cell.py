"""Configurations for simulated cells, and traces of a few jobs."""

from __future__ import annotations

from datetime import UTC

from daemons.simulator.replay import Replay, ReplayOutcome
from daemons.simulator.trace import TracedJob, TracedTask, TraceFaults, in_order
from daemons.simulator.virtual_cell import VirtualCell
from tests.default_cell import default_objects

BEGIN = 1_800_000_000.0
Objects = dict[str, dict[str, dict[str, str]]]


def configuration(hosts: int = 2, slots: int = 2, **scheduler: str) -> Objects:
    """The default cell with so many hosts, and all its parallel environments in all.q."""
    objects: Objects = {}
    for kind, name, text in default_objects([f"h{number}" for number in range(1, hosts + 1)], slots):
        objects.setdefault(kind, {})[name] = dict(text)
    objects["scheduler"][""] |= scheduler
    objects["cluster_queue"]["all.q"]["pe_list"] = "make mpi smp"
    return objects


def job(number: int, at: float, *run_s: float, **fields: object) -> TracedJob:
    """A job of alice, `at` seconds after the beginning, with a task for each run time; several make an array."""
    many = len(run_s) > 1
    tasks = [TracedTask(task if many else 0, seconds, seconds) for task, seconds in enumerate(run_s, 1)]
    made = TracedJob(number, BEGIN + at, "alice", "users", tasks=tasks, is_array=many)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def replay(objects: Objects, *jobs: TracedJob) -> ReplayOutcome:
    """The outcome of these jobs."""
    return Replay(VirtualCell(objects, BEGIN, UTC), in_order(list(jobs), TraceFaults())).run()


def started(outcome: ReplayOutcome) -> list[tuple[int, int, float]]:
    """Job, task and start in seconds after the beginning, in the order of starts."""
    return sorted(((run.number, run.task, run.start_time - BEGIN) for run in outcome.runs), key=lambda each: (each[2], *each))
