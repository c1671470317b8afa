"""pending_effects(state, host): the instructions that a host still has to get, computed from the state.

Owns the difference between the desired state and the state that the host has confirmed. Recovery from any crash is to compute
this difference again: a lost instruction is simply still pending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from daemons.qmaster.decision import Payload
from gridengine.placement.reserved import time_left
from gridengine.protocols.delivery import Acknowledgement, Ended, Forget, Instruction, OnTask, Renice, Signal, Start, UnitDevices
from gridengine.state import checkpointing
from gridengine.state.bookings import host_holder
from gridengine.state.configured.execution import LIMITS
from gridengine.state.configured.objects import CheckpointInterface
from gridengine.state.desired_command import UNSURE, desired_command
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Job, Task
from gridengine.state.machines.host import AttemptsForgotten
from gridengine.state.machines.slave import SlaveCommandApplied
from gridengine.state.machines.task import CommandApplied, NicenessApplied, TaskStarted
from gridengine.state.state import State
from gridengine.state.units_in_use import units_on
from gridengine.usage.failed import LOST
from gridengine.values.gpus import GPUS
from gridengine.values.instance_name import host_of
from gridengine.values.ranges import Ranges
from gridengine.values.task_key import SlaveKey, TaskKey

_REVERSIBLE_COMMANDS = frozenset(("run", "suspend"))


def pending_effects(
    state: State, host: str, payload: Callable[[int], Payload], may_start: bool = True
) -> Iterator[OnTask]:
    """Instructions for one host, oldest job first; a generator, since the caller may take only the first few.

    `payload(job_id)` gives script and environment of a job. `may_start`: whether tasks may be started there now.
    """
    for job_id, task_id in sorted(state.tasks_on.get(host, ())):
        job = state.jobs[job_id]
        task = job.tasks[task_id]
        if task.slaves:
            yield from slave_effects(state, job, task, host, payload, may_start)
        if task.host != host or task.master_end is not None:
            continue
        command = desired_command(state, job, task)
        if not task.applied:
            # deliver a task to be killed, too: only the host knows whether an earlier delivery arrived
            if may_start:
                yield make_start(state, job, task, payload(job_id))
        elif command != task.applied:
            yield Signal(TaskKey(job_id, task_id, task.attempt), command)
        elif task.nice is not None and task.nice != task.nice_applied:
            yield Renice(TaskKey(job_id, task_id, task.attempt), task.nice)
    known = state.hosts.get(host)
    yield from (Forget(key) for key in (known.abandoned if known is not None else ()))


def doubt_events(state: State, instructions: Sequence[Instruction]) -> list[AnyEvent]:
    """Events to record before these instructions are sent: from then on the states of these tasks are uncertain.

    A host may suspend a task and the qmaster never learns of it: the answer is lost, or the qmaster dies. If the task is then
    resumed before the host gets the instruction again, the qmaster would assume that it runs, and would send nothing.
    """
    events: list[AnyEvent] = []
    for instruction in instructions:
        if not isinstance(instruction, Signal) or instruction.command not in _REVERSIBLE_COMMANDS:
            continue
        key = instruction.key
        if isinstance(key, SlaveKey):
            slave = state.live_slave(key)
            if slave is not None and slave.applied != UNSURE:
                events.append(SlaveCommandApplied(*key.master, key.number, UNSURE))
        elif (task := state.task(*key.master)) is not None and task.applied != UNSURE:
            events.append(CommandApplied(*key.master, UNSURE))
    return events


def slave_effects(
    state: State, job: Job, task: Task, host: str, payload: Callable[[int], Payload], may_start: bool = True
) -> Iterator[OnTask]:
    """Pending instructions for the slave tasks of a task. Slave tasks follow the state of their master task and end with it."""
    for slave in task.slaves.values():
        if slave.host != host or slave.over:
            continue
        key = SlaveKey(job.id, task.id, task.attempt, slave.number)
        master = "kill" if task.master_end is not None else desired_command(state, job, task)
        # a slave task has neither checkpoints nor a method after its end
        command = "run" if master == "migrate" else "kill" if master == "end" else master
        if not slave.applied:
            if not may_start:
                continue
            start = make_start(state, job, task, payload(job.id), slave.instance)
            mine = [grant for grant in task.granted if grant.instance == slave.instance]
            granted = [*mine, *(grant for grant in task.granted if grant not in mine)]
            changes = {"key": key, "slave": slave, "granted": granted, "time": slave.start_time}
            yield msgspec.structs.replace(start, **changes, script=False, checkpoint=None)
        elif command != slave.applied:
            yield Signal(key, command)


def make_start(state: State, job: Job, task: Task, payload: Payload, instance: str = "") -> Start:
    """The start instruction of a task. `instance`: the instance with the task's attributes, "" for the instance of the master
    task."""
    instance = instance or task.granted[0].instance
    config = state.configs[instance]
    pe = state.pes.get(task.pe)
    slim = msgspec.structs.replace(job, tasks={}, pending=Ranges(), holds={})
    return Start(
        key=TaskKey(job.id, task.id, task.attempt),
        job=slim,
        granted=task.granted,
        queue=config.execution,
        environment=payload.environment,
        script=payload.script is not None,
        pe_name=task.pe,
        pe_start=None if pe is None else pe.start_proc_args,
        pe_stop=None if pe is None else pe.stop_proc_args,
        restarted=checkpointing.restarted(state, job, task),
        checkpoint=_checkpointing(state, job),
        checkpoint_interval_s=checkpointing.interval_s(job, config.execution.min_cpu_interval_s) if job.checkpoint else 0.0,
        checkpoint_pid=task.checkpoint,
        time=task.start_time,
        submit_time=job.submit_time,
        time_limit=_time_limit(state, job, task),
        processors=_processors(state, task),
        per_job_limits=state.derived(_per_job_limits),
        gpus=_gpus(state, task, host_of(instance)),
        units=units_on(task.units, host_of(instance)),
        near_processors=_near_processors(state, task, host_of(instance)),
        devices=_devices(state, task, host_of(instance)),
    )


def _checkpointing(state: State, job: Job) -> CheckpointInterface | None:
    """The job's checkpointing environment, with `when` of this job."""
    environment = checkpointing.interface(state, job)
    if environment is None:
        return None
    return msgspec.structs.replace(environment, when="".join(sorted(checkpointing.occasions(state, job))))


def _processors(state: State, task: Task) -> dict[str, str]:
    """The `processors` of the granted instances that define them."""
    given = {grant.instance: state.configs[grant.instance].execution.processors for grant in task.granted}
    return {name: text for name, text in given.items() if text}


def _per_job_limits(state: State) -> list[str]:
    """Limits that apply to all slots of a job together."""
    return [name for name in LIMITS if state.per_job(name)]


def _gpus(state: State, task: Task, host: str) -> int:
    """Number of GPUs of a host that are booked for the task, 0 if they have names: then the units say which."""
    if GPUS not in task.resources or GPUS in units_on(task.units, host):
        return 0
    holder = host_holder(host)
    return round(sum(amounts.get(GPUS, 0.0) for booking_holder, amounts in state.bookings_of(task) if booking_holder == holder))


def _near_processors(state: State, task: Task, host: str) -> str:
    """The processors near the named units of a task on a host, as far as they are known."""
    if not task.units or not state.has("host_units", host):
        return ""
    listed = state.host_units[host]
    units = [(resource, unit) for resource, names in units_on(task.units, host).items() for unit in names]
    known = (listed[resource][unit].cores for resource, unit in units if unit in listed.get(resource, {}))
    return ",".join(dict.fromkeys(cores for cores in known if cores))


def _devices(state: State, task: Task, host: str) -> UnitDevices | None:
    """The devices of the units of a host, and which of them are the task's. A file of several units is open to each."""
    known = state.host_units.get(host)
    if not known:
        return None
    held = units_on(task.units, host)
    own: dict[str, None] = {}
    others: dict[str, None] = {}
    for resource, units in known.items():
        mine = held.get(resource, ())
        for name, unit in units.items():
            (own if name in mine else others).update(dict.fromkeys(unit.device_files))
    gpus = known.get(GPUS, {})
    identifiers = [gpus[name].identifier for name in dict.fromkeys(held.get(GPUS, ())) if name in gpus]
    return UnitDevices(
        own=[*own],
        others=[file for file in others if file not in own],
        identifiers=identifiers if len(identifiers) == len(set(held.get(GPUS, ()))) and all(identifiers) else [],
        all_gpus=bool(gpus) and all(unit.device_files for unit in gpus.values()),
    )


def _time_limit(state: State, job: Job, task: Task) -> float:
    """Seconds that its reservation leaves to a task, 0 for no limit (AR-93, AR-94)."""
    reservation = state.reservations.get(job.ar)
    return time_left(state, reservation, task.start_time) if reservation is not None else 0.0


def acknowledgement_events(
    state: State, host: str, instructions: Sequence[Instruction], answers: list[Acknowledgement], now: float
) -> tuple[list[AnyEvent], list[Ended]]:
    """Events for the instructions that a host confirmed, and ends of tasks that it could not start."""
    events: list[AnyEvent] = []
    failures: list[Ended] = []
    forgotten: list[TaskKey] = []
    for instruction, answer in zip(instructions, answers, strict=True):
        if isinstance(instruction, Start):
            task = state.task(*instruction.key.master)
            slave = state.live_slave(instruction.key) if isinstance(instruction.key, SlaveKey) else None
            if task is None or (instruction.slave is None and task.applied) or (slave is not None and slave.applied):
                continue
            if answer.again or answer.needs_script:
                continue
            if answer.ok and isinstance(instruction.key, SlaveKey):
                events.append(SlaveCommandApplied(*instruction.key.master, instruction.key.number, "run"))
            elif answer.ok:
                events.append(TaskStarted(*instruction.key.master, now, answer.confinement))
            else:
                failures.append(_failure(instruction.key, answer, now))
        elif isinstance(instruction, Signal) and answer.ok:
            key, command = instruction.key, instruction.command
            if isinstance(key, SlaveKey):
                events.append(SlaveCommandApplied(*key.master, key.number, command))
            else:
                events.append(CommandApplied(*key.master, command))
        elif isinstance(instruction, Renice) and answer.ok:
            events.append(NicenessApplied(*instruction.key.master, instruction.nice))
        elif isinstance(instruction, Forget) and answer.ok:
            forgotten.append(instruction.key)
    if forgotten:
        events.append(AttemptsForgotten(host, forgotten))
    return events, failures


def _failure(key: TaskKey, answer: Acknowledgement, now: float) -> Ended:
    """The end of an attempt that its host did not start, or that ended there without a record."""
    if answer.over:
        reason = "its host started it before, and has no record of its end"
        return Ended(key, LOST, 128 + 9, 9, reason, start_time=now, end_time=now)
    failed, faults = answer.failed, answer.host_faults
    return Ended(key, failed, reason=answer.reason, start_time=now, end_time=now, host_faults=faults)
