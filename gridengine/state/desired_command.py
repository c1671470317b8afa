"""What a task's host should be doing with it: one pure function over the state.

Owns the rule alone; `daemons.qmaster.effects` turns the difference between wanted and applied into
instructions, `gridengine.state.state_codes` shows it.
"""

from __future__ import annotations

from typing import Literal

from gridengine.state import checkpointing
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State

UNSURE = "unsure"
"""Among the commands that a host has carried out: `run` or `suspend`, nobody knows which."""


def desired_command(state: State, job: Job, task: Task) -> Literal["run", "suspend", "migrate", "kill", "end"]:
    """`end`, an operator's deletion, wins over `kill` wins over `suspend` wins over `run`. A task is suspended as long as
    one cause is left: by the user (QM-7), by a suspend threshold (QC-8), by slot-wise subordination (SU-7), or through one
    of its instances (QI-6, QI-7, QI-8). A job that is checkpointed on suspension migrates instead (CK-4, CK-5).
    """
    if task.ended_by_operator:
        return "end"
    if task.deleted_by or task.rescheduling:
        return "kill"
    if task.suspended or task.threshold_suspended or task.subordinated or suspending_instances(state, task):
        return "migrate" if checkpointing.SUSPENSION in checkpointing.occasions(state, job) else "suspend"
    return "run"


def suspending_instances(state: State, task: Task) -> list[str]:
    """The granted instances that suspend their jobs."""
    found = []
    for grant in task.granted:
        instance = state.instances.get(grant.instance)
        if instance is not None and instance.stops_jobs:
            found.append(grant.instance)
    return found
