"""State changes: qmod on jobs and queue instances (statements QM-1 … QM-11, QI-4, QI-6, QI-10).

Owns the texts and rights; the effect of a suspension on jobs follows from the state (`gridengine.state.desired_command`).
"""

from __future__ import annotations

from collections.abc import Iterable

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import is_operator, owns_queue
from daemons.qmaster.rules.ends import requeued_without_host
from daemons.qmaster.rules.lost_hosts import is_lost
from daemons.qmaster.rules.rerun import rerun_refusal
from daemons.qmaster.rules.task_ends import goes_behind
from daemons.qmaster.selection import Selected, may_control, on_unique_hosts, select_instances, select_jobs
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import Caller, ChangeStates
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.instance import InstanceErrorsCleared, InstanceFlagsChanged
from gridengine.state.machines.job import JobErrorChanged
from gridengine.state.machines.task import TaskErrorCleared, TaskReschedulingRequested, TaskSuspensionChanged
from gridengine.state.state import State
from gridengine.usage.failed import RESCHEDULED
from gridengine.values.ranges import Ranges

TaskId = tuple[int, int]
"""(job, task)."""
_FLAGS = {
    "disable": ("disabled", True),
    "enable": ("disabled", False),
    "suspend": ("suspended", True),
    "unsuspend": ("suspended", False),
}
_DONE = {"disable": "disabled", "enable": "enabled", "suspend": "suspended", "unsuspend": "unsuspended"}


def change_states(state: State, request: ChangeStates, caller: Caller, world: World) -> Decision:
    decision = Decision()
    pushed: list[TaskId] = []
    operator = is_operator(state, caller, world.admin_user)
    if request.force and not operator:
        return decision.refuse(f'denied: "{caller.user}" must be operator to force a state change (-f)')
    for target in request.targets:
        instances: list[str] = []
        jobs: list[Selected] = []
        try:
            if request.what in ("queue", "any"):
                instances = select_instances(state, on_unique_hosts(state, target, world.resolve_host))
            if request.what in ("job", "any") and not instances:
                jobs = [selected for _, matching in select_jobs(state, [target], request.tasks) for selected in matching]
        except InvalidValueError:
            pass
        if not instances and not jobs:
            what = "invalid queue" if request.what == "queue" else "invalid queue or job"
            decision.answer.error(f'{what} "{target}"')
        for instance in instances:
            _change_instance(state, request, instance, caller, operator, decision, pushed)
        for selected in jobs:
            _change_job(state, request, selected, caller, operator, decision, pushed)
    if request.force:
        _requeue_unreachable(state, world, pushed, decision)
    return decision


def _requeue_unreachable(state: State, world: World, pushed: Iterable[TaskId], decision: Decision) -> None:
    """-f: tasks to be rescheduled whose host cannot be reached are pending again at once (QM-5).

    A host that comes back gets the instruction to kill any remaining processes of these tasks.
    """
    # a command may name a task twice
    for job_id, task_id in dict.fromkeys(pushed):
        job = state.jobs[job_id]
        task = job.tasks[task_id]
        if is_lost(state.hosts[task.host], world.now, world.started):
            behind = goes_behind(state, job)
            decision += requeued_without_host(state, job, task, world.now, RESCHEDULED, "qmod -f -r", behind=behind)


def _change_instance(
    state: State,
    request: ChangeStates,
    name: str,
    caller: Caller,
    operator: bool,
    decision: Decision,
    pushed: list[TaskId],
) -> None:
    action = request.action
    if not operator and not (owns_queue(state, caller, name) and action != "reschedule"):
        decision.answer.error(f'{caller.user} - you have no permission to modify queue "{name}"')
        return
    instance = state.instances[name]
    host = state.hosts.get(instance.host)
    if action == "enable" and host is not None and host.drained is not None:
        decision.answer.warning(f'host "{instance.host}" is drained: gridengine host resume {instance.host} lets jobs go there')
    changed = "forced state change" if request.force else "changed state"
    if action in _FLAGS:
        flag, on = _FLAGS[action]
        if getattr(instance, flag) == on and not request.force:
            decision.answer.info(f'Queue instance "{name}" is already in the specified state: {_DONE[action]}')
            return
        decision.events.append(InstanceFlagsChanged([name], {flag: on}))
        decision.answer.info(f'{caller.user}@{caller.host} {changed} of "{name}" ({_DONE[action]})')
    elif action == "clear":
        if not instance.errors and not request.force:
            decision.answer.info(f'Queue instance "{name}" is already in the specified state: no error')
            return
        decision.events.append(InstanceErrorsCleared([name]))
        decision.answer.info(f'{caller.user}@{caller.host} {changed} of "{name}" (no error)')
    else:
        for job_id, task_id in sorted(state.tasks_in.get(name, ())):
            job = state.jobs[job_id]
            task = job.tasks[task_id]
            if task.granted[0].instance == name:  # of a parallel job, the instance of its master task counts (O)
                _reschedule(state, job, task, caller, decision, pushed, request.force)


def _change_job(
    state: State,
    request: ChangeStates,
    selected: Selected,
    caller: Caller,
    operator: bool,
    decision: Decision,
    pushed: list[TaskId],
) -> None:
    action, job = request.action, selected.job
    if not may_control(job, caller, operator):
        decision.answer.error(f'{caller.user} - you do not have the necessary privileges to modify the job "{job.id}"')
        return
    if action == "reschedule" and not operator:
        text = f'{caller.user} - you do not have the necessary privileges to modify the job "{job.id}"'
        decision.answer.error(text, hint="only operators reschedule jobs: ask one (qconf -so), or submit a copy (qresub)")
        return
    if selected.tasks is not None and not selected.tasks & (job.pending | Ranges.of(job.tasks)):
        decision.answer.error(f'invalid queue or job "{job.id}.{selected.tasks}"')
        return
    tasks = [t for t in job.tasks.values() if selected.tasks is None or t.id in selected.tasks]
    if action == "clear":
        _clear(job, tasks, caller, decision)
        return
    here = [task for task in tasks if not task.waits]
    if not here:
        selected_tasks = selected.tasks or job.pending | Ranges.of(job.tasks)
        what = f"job-array task {job.id}.{selected_tasks.first}" if job.is_array and len(selected_tasks) == 1 else f"job {job.id}"
        decision.answer.info(f"Modify operation can not be applied on {what} in pending/hold state")
        return
    for task in here:
        if action == "reschedule":
            _reschedule(state, job, task, caller, decision, pushed, request.force)
        else:
            _suspend(job, task, action == "suspend", caller, decision)


def _task_label(job: Job, task: Task) -> str:
    return f"job-array task {job.id}.{task.id}" if job.is_array else f"job {job.id}"


def _suspend(job: Job, task: Task, on: bool, caller: Caller, decision: Decision) -> None:
    if ("suspended" in task.conditions) == on:
        decision.answer.info(f"{caller.user} - {_task_label(job, task)} is already {'suspended' if on else 'unsuspended'}")
        return
    decision.events.append(TaskSuspensionChanged(job.id, task.id, "user", on))
    decision.answer.info(f"{caller.user} - {'suspended' if on else 'unsuspended'} {_task_label(job, task)}")


def _clear(job: Job, tasks: list[Task], caller: Caller, decision: Decision) -> None:
    in_error = [task for task in tasks if task.error]
    if job.error:
        decision.events.append(JobErrorChanged(job.id, ""))
        decision.answer.info(f"{caller.user}@{caller.host} cleared error state of job {job.id}")
    elif not in_error:
        decision.answer.error(f"Job {job.id} is not in error state")
    for task in in_error:
        decision.events.append(TaskErrorCleared(job.id, task.id))
        decision.answer.info(f"{caller.user}@{caller.host} cleared error state of {_task_label(job, task)}")


def _reschedule(
    state: State, job: Job, task: Task, caller: Caller, decision: Decision, pushed: list[TaskId], force: bool
) -> None:
    """Request the rescheduling of a task, and add it to `pushed`; `force`: also a task that may not run again (O)."""
    reason = rerun_refusal(state, job, task)
    if reason and (job.kind != "batch" or not force):
        # no failure of the command: in a whole queue, the tasks that may run again are pushed (O)
        decision.answer.warning(f"{_task_label(job, task)} can not be rescheduled: {reason}")
    elif task.deleted_by or ("rescheduling" in task.conditions and state.hosts[task.host].up):
        # on a host that does not answer, the request may be repeated with -f
        decision.answer.info(f"{_task_label(job, task)} is already being ended")
    else:
        decision.events.append(TaskReschedulingRequested(job.id, task.id, caller.user))
        pushed.append((job.id, task.id))
        decision.answer.info(f"{caller.user} - pushed rescheduling of {_task_label(job, task)} on host {task.host}")
