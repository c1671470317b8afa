"""Share usage: charged with the usage of tasks, and cleared.

Owns the events and the writing of `State.share_usage`; `gridengine.state.share_usage` owns the meaning of the amounts.
Called by `gridengine.state.apply` only.
"""

from __future__ import annotations

from gridengine.state.jobs import Usage
from gridengine.state.machines.event import Event, Handlers
from gridengine.state.share_usage import ShareUsage
from gridengine.state.state import State


class UsageCharged(Event, frozen=True, tag=True):
    """`charges`: usage of tasks that ended or were requeued: (user, project or "", usage, epoch s of the end) each."""

    charges: list[tuple[str, str, Usage, float]]


class UsageCleared(Event, frozen=True, tag=True):
    """The usage of users was set to zero (QF-33). `running`: (job, task, usage so far) of their running tasks."""

    users: list[str]
    running: list[tuple[int, int, Usage]]


UsageEvent = UsageCharged | UsageCleared


def _charged(state: State, event: UsageCharged) -> None:
    lives = state.scheduler.half_lives_s
    for user, project, used, time in event.charges:
        projects = state.share_usage.setdefault(user, {})
        past = projects.get(project, ShareUsage(time)).at(time, lives)
        projects[project] = past.plus(used.cpu, used.mem, used.io)


def _cleared(state: State, event: UsageCleared) -> None:
    for user in event.users:
        state.share_usage.pop(user, None)
    for job_id, task_id, used in event.running:
        task = state.task(job_id, task_id)
        if task is not None:
            task.cleared = used


def forget(state: State, kind: str, name: str) -> None:
    """A user or project is no longer configured. Called by `apply` alone."""
    if kind == "user":
        state.share_usage.pop(name, None)
    else:
        for projects in state.share_usage.values():
            projects.pop(name, None)


HANDLERS: Handlers = {
    UsageCharged: _charged,
    UsageCleared: _cleared,
}
