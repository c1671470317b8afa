"""When a checkpointing job is checkpointed, migrated and restarted: pure functions over the job and its interface.

Owns the meaning of `-c`, `when` and `interface`; the shepherd executes the actions. Source: checkpoint(5),
sge_submit(1) -c; statements CK-3 … CK-7, QC-11.
"""

from __future__ import annotations

from gridengine.errors import InvalidValueError
from gridengine.state.configured.objects import CheckpointInterface
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.values.units import INFINITY, parse_time

WITH_COMMANDS = frozenset(("application-level", "hibernator", "cpr"))
"""Interfaces that use the commands of the object; the others get its signal (O)."""
SHUTDOWN, PERIODIC, SUSPENSION, UNKNOWN_HOST = "s", "m", "x", "r"
_OCCASIONS = frozenset("nsmxr")


def is_occasion(text: str) -> bool:
    """Whether the text is valid for -c: characters of `nsmxr`, a finite interval, or empty."""
    if _OCCASIONS.issuperset(text):
        return True
    try:
        return parse_time(text) != INFINITY
    except InvalidValueError:
        return False


def interface(state: State, job: Job) -> CheckpointInterface | None:
    """Return the job's checkpointing environment, None for jobs without checkpointing."""
    return state.checkpoints.get(job.checkpoint) if job.checkpoint else None


def occasions(state: State, job: Job) -> frozenset[str]:
    """Characters of `s m x r`: the characters of -c, else the characters of `when`. An interval with -c adds `m` to the
    latter (CK-3)."""
    environment = interface(state, job)
    if environment is None:
        return frozenset()
    if job.checkpoint_when and _OCCASIONS.issuperset(job.checkpoint_when):
        return frozenset(job.checkpoint_when) - {"n"}
    when = frozenset(environment.when)
    return when | {PERIODIC} if job.checkpoint_when else when


def interval_s(job: Job, min_cpu_interval_s: float) -> float:
    """Seconds between periodic checkpoints: the interval of -c, at least the queue's min_cpu_interval (CK-7, QC-11)."""
    asked = job.checkpoint_when
    own = 0.0 if not asked or _OCCASIONS.issuperset(asked) else float(parse_time(asked))
    return max(own, min_cpu_interval_s)


def restarted(state: State, job: Job, task: Task) -> int:
    """RESTARTED of the next attempt (EN-4): 0 at first, 2 with a checkpoint made by commands, else 1."""
    if not task.restarts:
        return 0
    environment = interface(state, job)
    return 2 if task.checkpoint and environment is not None and environment.interface in WITH_COMMANDS else 1
