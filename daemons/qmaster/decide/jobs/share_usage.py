"""Usage of users and projects: charged with every accounting record, set to zero by -clearusage.

Owns the two events. `gridengine.state.share_usage` keeps the usage. Source: qconf(1) -clearusage; QF-33; O for the texts.
"""

from __future__ import annotations

from collections.abc import Iterable

from daemons.qmaster.decision import Accounted, Decision, World
from daemons.qmaster.permissions import no_right
from gridengine.kinds import KIND
from gridengine.protocols.gdi.requests import Caller, ClearUsage
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Usage
from gridengine.state.machines.usage import UsageCharged, UsageCleared
from gridengine.state.running_usage import counted, is_kept, reserved_by, running_usage, takes_reserved
from gridengine.state.state import State


def usage_charges(state: State, accounting: Iterable[Accounted]) -> list[AnyEvent]:
    """The event for the records of a transaction whose events are not applied yet; none if no usage is kept."""
    charges = []
    for job_id, task_id, record in accounting:
        task = state.task(job_id, task_id)
        if task is not None and is_kept(state, job := state.jobs[job_id]):
            end = float(record.end_time)
            measured = Usage(float(record.cpu), float(record.mem), float(record.io))
            used = reserved_by(state, job, task, measured, end) if takes_reserved(state, task.host) else measured
            charges.append((job.owner, job.project, counted(task, used), end))
    return [UsageCharged(charges)] if charges else []


def clear_usage(state: State, request: ClearUsage, caller: Caller, world: World) -> Decision:
    """-clearusage: of the users named, or of all users and projects. An unknown user name refuses the whole request."""
    decision = Decision()
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    known = {**state.kind("user"), **state.share_usage}
    if unknown := [name for name in request.users if name not in known]:
        for name in unknown:
            decision.refuse(f'denied: user "{name}" does not exist')
        return decision
    users = request.users or sorted(known)
    projects = [] if request.users else sorted(state.kind("project"))
    for kind, names in (("user", users), ("project", projects)):
        for name in names:
            decision.answer.info(f'{caller.user}@{caller.host} modified "{name}" in {KIND[kind].listing}')
    concerned = [job for job in state.jobs.values() if not request.users or job.owner in request.users]
    running = [(job.id, task.id, used) for job, task, used in running_usage(state, concerned, world.now)]
    if users or running:
        decision.events.append(UsageCleared(list(users), running))
    return decision
