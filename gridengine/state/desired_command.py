"""The desired command of a task for its host: one pure function over the state.

Owns only the rule; `daemons.qmaster.effects` turns the difference between the desired and the applied command into
instructions, `gridengine.state.state_codes` shows it.
"""

from __future__ import annotations

from typing import Literal

from gridengine.state import checkpointing
from gridengine.state.conditions import CONDITIONS
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State

Command = Literal["run", "suspend", "migrate", "kill", "end"]

UNSURE = "unsure"
"""An applied command: either `run` or `suspend`, it is not known which."""


def desired_command(state: State, job: Job, task: Task) -> Command:
    """The command of the most severe condition: `end` precedes `kill`, which precedes `suspend`, which precedes `run`. A task is
    suspended while at least one condition (QM-7, QC-8, SU-7) or one of its instances (QI-6, QI-7, QI-8) suspends it. A job that
    is checkpointed on suspension migrates instead (CK-4, CK-5).
    """
    command: Command = "run"
    if task.conditions:
        command = next(row.command for row in CONDITIONS.values() if row.name in task.conditions)
    elif suspending_instances(state, task):
        command = "suspend"
    if command == "suspend" and checkpointing.SUSPENSION in checkpointing.occasions(state, job):
        return "migrate"
    return command


def suspending_instances(state: State, task: Task) -> list[str]:
    """The granted instances that suspend their tasks."""
    found = []
    for grant in task.granted:
        instance = state.instances.get(grant.instance)
        if instance is not None and instance.stops_jobs:
            found.append(grant.instance)
    return found
