"""The desired command of a task for its host: one pure function over the state.

Owns only the rule; `daemons.qmaster.effects` turns the difference between the desired and the applied command into
instructions, `gridengine.state.state_codes` shows it.
"""

from __future__ import annotations

from typing import Literal

from gridengine.state import checkpointing
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State

UNSURE = "unsure"
"""An applied command: either `run` or `suspend`, it is not known which."""


def desired_command(state: State, job: Job, task: Task) -> Literal["run", "suspend", "migrate", "kill", "end"]:
    """`end`, an operator's deletion, precedes `kill`, which precedes `suspend`, which precedes `run`. A task is suspended while
    at least one cause exists: by the user (QM-7), by a suspend threshold (QC-8), by slot-wise subordination (SU-7), or by one of
    its instances (QI-6, QI-7, QI-8). A job that is checkpointed on suspension migrates instead (CK-4, CK-5).
    """
    if task.ended_by_operator:
        return "end"
    if task.deleted_by or task.rescheduling:
        return "kill"
    if task.suspended or task.threshold_suspended or task.subordinated or suspending_instances(state, task):
        return "migrate" if checkpointing.SUSPENSION in checkpointing.occasions(state, job) else "suspend"
    return "run"


def suspending_instances(state: State, task: Task) -> list[str]:
    """The granted instances that suspend their tasks."""
    found = []
    for grant in task.granted:
        instance = state.instances.get(grant.instance)
        if instance is not None and instance.stops_jobs:
            found.append(grant.instance)
    return found
