"""Cleaning of queues: -cq takes all jobs out of queue instances, independent of their hosts' reports.

Owns the verb. Running tasks end as with a forced deletion: at once in the state, with an accounting record; their host is
instructed to kill and forget them. Source: qconf(1) -cq; QF-14, QF-36; O for the texts.
"""

from __future__ import annotations

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import no_right
from daemons.qmaster.rules.ends import ended_without_host
from daemons.qmaster.selection import on_unique_hosts, select_instances
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import Caller, CleanQueues
from gridengine.state.state import State
from gridengine.usage.failed import ENFORCED


def clean_queues(state: State, request: CleanQueues, caller: Caller, world: World) -> Decision:
    decision = Decision()
    if refusal := no_right(state, caller, world, operators=True):
        return decision.refuse(refusal)
    ended: set[tuple[int, int]] = set()
    for expression in request.queues:
        try:
            instances = select_instances(state, on_unique_hosts(state, expression, world.resolve_host))
        except InvalidValueError:
            instances = []
        if not instances:
            decision.answer.error(f'invalid queue or job "{expression}"')
        for instance in instances:
            _clean(state, instance, ended, caller, world, decision)
            decision.answer.info(f'{caller.user}@{caller.host} purged queue "{instance}"')
    return decision


def _clean(
    state: State, instance: str, ended: set[tuple[int, int]], caller: Caller, world: World, decision: Decision
) -> None:
    for job_id, task_id in sorted(state.tasks_in.get(instance, ())):
        if (job_id, task_id) in ended:
            continue
        ended.add((job_id, task_id))
        job = state.jobs[job_id]
        decision += ended_without_host(state, job, job.tasks[task_id], world.now, ENFORCED, f"qconf -cq {instance}")
