"""Slave tasks: the rights to start them on a host, and the ends of slave tasks and their masters.

Owns these rules; `daemons.qmaster.serve.streams.sessions` gives a client the address of the streams of its slave task. Source:
sge_pe(5) control_slaves, job_is_first_task, accounting_summary; sge_submit(1) -inherit; statements TI-1 … TI-5, PE-13.
"""

from __future__ import annotations

from daemons.qmaster.decision import Decision, World
from daemons.qmaster.notifications.accounting import slave_record, sums_up
from gridengine.protocols.delivery import Ended
from gridengine.protocols.gdi.requests import Caller, StartSlave
from gridengine.state.jobs import Task
from gridengine.state.machines.slave import SlaveEnded, SlaveRequested
from gridengine.state.slaves import SlaveTask
from gridengine.state.state import State
from gridengine.usage.failed import LOST
from gridengine.values.task_key import SlaveKey


def start_slave(state: State, request: StartSlave, caller: Caller, world: World) -> Decision:
    """Accept or refuse `qrsh -inherit HOST COMMAND` (TI-1).

    Data: {"task": [job, task, attempt, number], "host"}; with a refusal {"in_use": slots} if a later attempt may succeed.
    """
    decision = Decision()
    job = state.jobs.get(request.job_id)
    task = job.tasks.get(request.task_id) if job is not None else None
    where = f"executing task of job {request.job_id} failed: "
    if job is None or task is None:
        return decision.refuse(f"{where}there is no such job")
    if caller.user != job.owner:
        return decision.refuse(f'{where}it belongs to "{job.owner}", not to "{caller.user}"')
    if task.waits or task.is_being_ended or task.master_end is not None:
        return decision.refuse(f"{where}the job does not run")
    pe = state.pes.get(task.pe) if task.pe else None
    if pe is None or not pe.control_slaves:
        what = f'control_slaves of its parallel environment "{task.pe}" is FALSE' if task.pe else "it is no parallel job"
        return decision.refuse(f"{where}{what}")
    host = world.resolve_host(request.host)
    grants = [grant for grant in task.granted if grant.host == host]
    if not grants:
        return decision.refuse(f'{where}host "{request.host}" is not one of its hosts')
    capacity = sum(grant.slots for grant in grants) - (pe.job_is_first_task and host == task.host)
    used = sum(not slave.over and slave.host == host for slave in task.slaves.values())
    if used >= capacity:
        decision.answer.data = {"in_use": used}
        return decision.refuse(f'{where}all slots that it was granted on host "{host}" are in use ({used} of {capacity})')
    instance = _least_used(task, [(grant.instance, grant.slots) for grant in grants])
    slave = SlaveTask(
        number=task.slaves_begun + 1,
        instance=instance,
        command=request.command,
        args=list(request.args),
        cwd=request.cwd,
        environment=request.environment,
        no_shell=request.no_shell,
        start_time=world.now,
    )
    decision.events.append(SlaveRequested(job.id, task.id, task.attempt, slave))
    decision.answer.data = {"task": [job.id, task.id, task.attempt, slave.number], "host": slave.host}
    return decision


def _least_used(task: Task, instances: list[tuple[str, int]]) -> str:
    """The instance of the host with most free slots, the first of equals (PE-14)."""
    used = {name: sum(slave.instance == name and not slave.over for slave in task.slaves.values()) for name, _ in instances}
    return max(instances, key=lambda pair: pair[1] - used[pair[0]])[0]


def slave_ended(state: State, key: SlaveKey, report: Ended) -> Decision:
    """A host reports the end of a slave task: a record of its own, unless accounting_summary adds it to the job's (PE-13)."""
    slave = state.live_slave(key)
    if slave is None:
        return Decision()
    job = state.jobs[key.job]
    task = job.tasks[key.task]
    records = [] if sums_up(state, task) else [(key.job, key.task, slave_record(state, job, task, slave, report))]
    end = report.end_time or slave.start_time
    event = SlaveEnded(*key.master, key.number, end, report.exit_status, report.failed, report.reason, report.usage, report.units)
    return Decision(events=[event], accounting=records)


def slave_lost(state: State, key: SlaveKey, now: float) -> Decision:
    """The slave task is no longer known to its host."""
    slave = state.live_slave(key)
    if slave is None:
        return Decision()
    return slave_ended(state, key, Ended(key, LOST, 137, 9, "its host no longer knows it", slave.start_time, now))
