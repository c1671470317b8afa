"""Deletion: qdel for pending and running jobs, whole or by task (statements SO-46, SO-48).

A name or pattern selects the caller's own jobs, for operators as well, unless -u names the owners. A pending task is deleted at
once. A task at a host is marked, and deleted when its host reports the end. `-f` of an operator deletes it at once, and its
host gets the instruction to kill and forget it. Owners may use -f if ENABLE_FORCED_QDEL allows it, but only for tasks that a
regular deletion cannot reach: tasks of a host that does not answer. ENABLE_FORCED_QDEL_IF_UNKNOWN has this effect without -f.
An operator's `-f` of a number also ends orphan tasks, tasks of that number on hosts that this cell does not know (ADR 93).
Source: qdel(1) -f, -u; sge_conf(5) qmaster_params.
"""

from __future__ import annotations

from collections.abc import Callable

from daemons.qmaster.decide.hosts.orphans import select_hosts_with_orphans, select_orphans
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import is_admin_host, is_operator, is_submit_host, not_submit_host
from daemons.qmaster.rules.ends import ended_without_host
from daemons.qmaster.rules.lost_hosts import is_lost
from daemons.qmaster.selection import Selected, may_control, select_jobs
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import Caller, DeleteJobs
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.host import OrphansAbandoned
from gridengine.state.machines.job import PendingTasksDeleted
from gridengine.state.machines.task import TaskDeletionRequested
from gridengine.state.state import State
from gridengine.usage.failed import ENFORCED
from gridengine.values.ranges import Ranges


def delete_jobs(state: State, request: DeleteJobs, caller: Caller, world: World) -> Decision:
    decision = Decision()
    if not (is_submit_host(state, caller.host) or is_admin_host(state, caller.host)):
        return decision.refuse(not_submit_host(caller))
    operator = is_operator(state, caller, world.admin_user)
    if request.force and not operator and not state.configuration().qmaster_params.enable_forced_qdel:
        return decision.refuse(f'denied: "{caller.user}" must be operator to delete jobs by force (-f)')
    try:
        selection = select_jobs(state, request.targets, request.tasks, request.users, caller.user)
    except InvalidValueError as fault:
        return decision.refuse(f"denied: {fault}")
    gone: dict[int, Ranges] = {}
    forced = _forced(state, request, operator, world)
    hosts_with_orphans = select_hosts_with_orphans(state) if request.force and operator else []
    for target, matching in selection:
        matching = [selected for selected in matching if _remaining(selected.job, gone)]
        orphans = select_orphans(hosts_with_orphans, target)
        for host, keys in orphans.items():
            decision.events.append(OrphansAbandoned(host, keys))
            for key in keys:
                decision.answer.info(f"{caller.user} forced the end of the orphan task {key.job}.{key.task} on host {host}")
        if not matching and not orphans:
            _refuse_unmatched(decision, target, caller, request)
        for selected in matching:
            if not may_control(selected.job, caller, operator):
                job_id = selected.job.id
                decision.answer.error(f'{caller.user} - you do not have the necessary privileges to delete the job "{job_id}"')
                continue
            _delete(state, decision, selected, caller, world, forced, gone)
    return decision


def _forced(state: State, request: DeleteJobs, operator: bool, world: World) -> Callable[[Task], bool]:
    """Whether a task is removed without waiting for its host."""
    if request.force and operator:
        return lambda task: True
    if not request.force and not state.configuration().qmaster_params.enable_forced_qdel_if_unknown:
        return lambda task: False
    return lambda task: is_lost(state.hosts.get(task.host), world.now, world.started)


def _refuse_unmatched(decision: Decision, target: str, caller: Caller, request: DeleteJobs) -> None:
    if target.partition(".")[0].isdecimal():
        decision.answer.error(f'denied: job "{target}" does not exist')
    elif target:
        decision.answer.error(f"The job {target} of user(s) {','.join(request.users or [caller.user])} does not exist")
    elif request.users:
        decision.answer.error(f"There is no job registered for the following users: {','.join(request.users)}")


def _remaining(job: Job, gone: dict[int, Ranges]) -> Ranges:
    """Tasks of a job that this request has not deleted yet: a command may name a job twice."""
    return (job.pending | Ranges.of(job.tasks)) - gone.get(job.id, Ranges())


def _delete(
    state: State,
    decision: Decision,
    selected: Selected,
    caller: Caller,
    world: World,
    forced: Callable[[Task], bool],
    gone: dict[int, Ranges],
) -> None:
    job = selected.job
    remaining = _remaining(job, gone)
    here = remaining if selected.tasks is None else remaining & selected.tasks
    gone[job.id] = gone.get(job.id, Ranges()) | here
    pending = job.pending & here
    at_host: list[Task] = []
    for task in job.tasks.values():
        if task.id not in here:
            continue
        if task.waits:
            pending = pending.union(task.id)
        else:
            at_host.append(task)
    if not pending and not at_host:
        assert selected.tasks is not None, "of a whole job something remains"
        single = len(selected.tasks) == 1
        what, empty = ("task", "does not exist") if single else ("task id range", "comprises no tasks")
        decision.answer.error(f'job "{job.id}" {what} "{selected.tasks}" {empty}')
        return
    if pending:
        decision.events.append(PendingTasksDeleted(job.id, pending, caller.user, world.now))
        whole = selected.tasks is None and pending == remaining
        _report_deleted(decision, job, pending, whole, caller)
    for task in sorted(at_host, key=lambda task: task.id):
        _delete_at_host(state, decision, job, task, caller, world, forced(task))


def _report_deleted(decision: Decision, job: Job, pending: Ranges, whole: bool, caller: Caller) -> None:
    if whole:
        decision.answer.info(f"{caller.user} has deleted job {job.id}")
    elif len(pending) == 1:
        decision.answer.info(f"{caller.user} has deleted job-array task {job.id}.{pending.first}")
    else:
        decision.answer.info(f"{caller.user} has deleted job-array tasks {pending.summary()} of job {job.id}")


def _delete_at_host(
    state: State, decision: Decision, job: Job, task: Task, caller: Caller, world: World, force: bool
) -> None:
    what = f"job-array task {job.id}.{task.id}" if job.is_array else f"job {job.id}"
    if force:
        decision += ended_without_host(state, job, task, world.now, ENFORCED, "qdel -f")
        decision.answer.info(f"{caller.user} forced the deletion of {what}")
        return
    operator = is_operator(state, caller, world.admin_user)
    if not task.deleted_by or operator:
        decision.events.append(TaskDeletionRequested(job.id, task.id, caller.user, operator))
    if task.deleted_by:
        decision.answer.info(f"{what.replace('job-array task', 'job')} is already in deletion")
    else:
        decision.answer.info(f"{caller.user} has registered the {what} for deletion")
