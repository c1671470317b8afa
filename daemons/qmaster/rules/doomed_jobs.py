"""Jobs that can never run, since a job that they depend on has ended otherwise than they require.

Owns their end. Called at every tick; pure. Source: docs/adr/0020-dependencies-on-success-and-failure.md.
"""

from __future__ import annotations

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.notifications.accounting import killed_end, record
from gridengine.state.jobs import Task
from gridengine.state.machines.job import PendingTasksDeleted
from gridengine.state.state import State
from gridengine.usage.failed import ENFORCED


def end_of_doomed(state: State, world: World) -> Decision:
    """The deletion of all jobs that can never run, each with an accounting record."""
    decision = Decision()
    for job_id in sorted(state.doomed):
        job = state.jobs[job_id]
        if waiting := job.waiting:
            decision.events.append(PendingTasksDeleted(job_id, waiting, "qmaster", world.now, job.doomed))
            task = Task(waiting.first)
            end = killed_end(job, task, world.now, ENFORCED, job.doomed)
            decision.accounting.append((job_id, waiting.first, record(state, job, task, end, ENFORCED)))
    return decision
