"""Tasks that may be started again, and the tasks of hosts that are lost for good.

Owns that rule for qmod -rj, for lost hosts (reschedule_unknown) and for tasks whose shepherd process died. Pure. Source:
sge_conf(5) reschedule_unknown, ENABLE_RESCHEDULE_KILL, ENABLE_RESCHEDULE_SLAVE, DISABLE_AUTO_RESCHEDULING; queue_conf(5) rerun,
checkpoint(5) when; statements EX-11, CK-6, QC-17, QM-8, IA-8.
"""

from __future__ import annotations

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.ends import ended_without_host, requeued_without_host
from daemons.qmaster.rules.lost_hosts import is_lost
from gridengine.state import checkpointing
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.usage.failed import LOST, RESCHEDULED
from gridengine.values.units import format_duration


def rerun_refusal(state: State, job: Job, task: Task) -> str:
    """The reason against a new start of a running task, "" if it may start again: its kind, `-r`, the queue's `rerun`, the flag
    `r` of a checkpointing job."""
    config = state.configs.get(task.granted[0].instance) if task.granted else None
    if job.kind != "batch":
        return "it is interactive"
    if job.checkpoint and checkpointing.UNKNOWN_HOST not in checkpointing.occasions(state, job):
        return f'it is a checkpointing job ("{job.checkpoint}") without "r" among its occasions'
    if job.rerun is False:
        return "it is not rerunnable (-r n)"
    if job.rerun is None and not (config and config.rerun):
        return f'it is not rerunnable: no -r y, and rerun of queue "{task.granted[0].queue}" is FALSE'
    return ""


def may_rerun(state: State, job: Job, task: Task, checkpoint: int = 0) -> bool:
    """Whether a task that lost its host or shepherd runs again: -r overrides the queue's `rerun` (QC-17); a task with a
    checkpoint may run again; interactive jobs never do (IA-8)."""
    if job.kind != "batch":
        return False
    if job.rerun is not None:
        return job.rerun
    config = state.configs.get(task.granted[0].instance) if task.granted else None
    return bool(task.checkpoint or checkpoint or (config and config.rerun))


def tasks_of_lost_hosts(state: State, world: World) -> Decision:
    """Tasks of hosts that have been unknown for reschedule_unknown are pending again, if they may run again (EX-11).

    A host cannot have been unknown for longer than the qmaster runs. Other tasks stay, or are ended as failed with
    ENABLE_RESCHEDULE_KILL. A host that returns gets the instruction to kill the processes that still run.
    """
    decision = Decision()
    for host in state.hosts.values():
        if not state.tasks_on.get(host.name) or not is_lost(host, world.now, world.started):
            continue
        limit = state.configuration(host.name).reschedule_unknown_s
        if limit and world.now - max(host.lost_at, world.started) >= limit:
            _give_up(state, host.name, world.now, decision)
    return decision


def _give_up(state: State, host: str, now: float, decision: Decision) -> None:
    parameters = state.configuration().qmaster_params
    lost = f"host {host} is lost for {format_duration(now - state.hosts[host].lost_at)} (reschedule_unknown)"
    if parameters.disable_auto_rescheduling:
        return
    # each decision contains the record of the attempt that it ends
    decided = {(job_id, task_id) for job_id, task_id, _ in decision.accounting}
    for job_id, task_id in sorted(state.tasks_on[host] - decided):
        job = state.jobs[job_id]
        task = job.tasks[task_id]
        if task.deleted_by or task.host != host and not parameters.enable_reschedule_slave:
            continue
        if not rerun_refusal(state, job, task):
            decision += requeued_without_host(state, job, task, now, RESCHEDULED, lost)
        elif parameters.enable_reschedule_kill and job.kind == "batch":
            decision += ended_without_host(state, job, task, now, LOST, lost)
