"""What event clients are told: notices by kind of object, derived from the events of a transaction.

Owns the kinds, their lists and the derivation. Works on a mirror of the state that follows by the same events, so that a
notice says what was true after its transaction. No sockets here: those are `event_clients`'.
Source: EV-1 … EV-7, EV-9; names of kinds as in the events of 8.1.9.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gridengine.state.apply import apply
from gridengine.state.events import AnyEvent
from gridengine.state.letters import instance_letters
from gridengine.state.machines.configuration import GroupMembersSet, ObjectRemoved, ObjectSet
from gridengine.state.machines.host import HostHeard, HostLost
from gridengine.state.machines.instance import InstanceErrorsCleared, InstanceErrorSet, InstanceFlagsChanged
from gridengine.state.machines.job import HoldsChanged, JobChanged, JobErrorChanged, JobSubmitted, PendingTasksDeleted
from gridengine.state.machines.reservation import ReservationGranted, ReservationRemoved
from gridengine.state.machines.task import TaskDispatched, TaskEnded, TaskRequeued
from gridengine.state.state import State

OBJECT_TYPES = {
    "admin_host": "ADMINHOST",
    "calendar": "CALENDAR",
    "checkpoint": "CKPT",
    "complex": "COMPLEX",
    "configuration": "CONFIG",
    "exec_host": "EXECHOST",
    "host_group": "HOST_GROUP",
    "manager": "MANAGER",
    "operator": "OPERATOR",
    "parallel_environment": "PE",
    "project": "PROJECT",
    "cluster_queue": "CLUSTERQUEUE",
    "resource_quota": "RQS",
    "scheduler": "SCHED_CONF",
    "share_tree": "SHARETREE",
    "submit_host": "SUBMITHOST",
    "user": "USER",
    "userset": "USERSET",
}
INSTANCE, JOB, TASK, RESERVATION = "QUEUEINSTANCE", "JOB", "JATASK", "AR"
TYPES = (*OBJECT_TYPES.values(), INSTANCE, JOB, TASK, RESERVATION)
_CONFIGURATION = (ObjectSet, ObjectRemoved, GroupMembersSet)


class Notice(Struct, frozen=True):
    """One thing that happened. `action`: LIST, ADD, MOD, DEL, or SUSPEND_ON_SUB and UNSUSPEND_ON_SUB of an instance."""

    type: str
    action: str
    name: str
    data: Any = None


def full_list(state: State, type_name: str) -> Notice:
    """Everything of one type, as a client gets it when it registers (EV-1)."""
    for kind, name in OBJECT_TYPES.items():
        if name == type_name:
            objects = sorted(state.kind(kind).items())
            return Notice(type_name, "LIST", "", [{"name": key, "attributes": text} for key, text in objects])
    if type_name == INSTANCE:
        return Notice(type_name, "LIST", "", [_instance(state, name) for name in sorted(state.instances)])
    if type_name == JOB:
        return Notice(type_name, "LIST", "", [_job(state, job_id) for job_id in sorted(state.jobs)])
    if type_name == RESERVATION:
        return Notice(type_name, "LIST", "", [_reservation(state, ar_id) for ar_id in sorted(state.reservations)])
    tasks = [_task(state, job_id, task_id) for job_id in sorted(state.jobs) for task_id in sorted(state.jobs[job_id].tasks)]
    return Notice(type_name, "LIST", "", tasks)


def _instance(state: State, name: str) -> dict[str, Any]:
    instance = state.instances[name]
    config = state.configs.get(name)
    return {
        "name": name,
        "states": instance_letters(state, instance),
        "attributes": config.text if config is not None else {},
    }


def _job(state: State, job_id: int) -> dict[str, Any]:
    job = state.jobs[job_id]
    return {"job_id": job_id, "name": job.name, "owner": job.owner, "tasks": str(job.array or 1)}


def _task(state: State, job_id: int, task_id: int) -> dict[str, Any]:
    task = state.jobs[job_id].tasks[task_id]
    granted = [[grant.instance, grant.slots] for grant in task.granted]
    return {"job_id": job_id, "task_id": task_id, "status": task.status, "granted": granted}


def _reservation(state: State, ar_id: int) -> dict[str, Any]:
    found = state.reservations[ar_id]
    times = {"start_time": found.start_time, "end_time": found.end_time}
    granted = [[grant.instance, grant.slots] for grant in found.granted]
    return {"ar_id": ar_id, "name": found.name, "owner": found.owner, "state": found.state, **times, "granted": granted}


def advance(mirror: State, events: list[AnyEvent]) -> list[Notice]:
    """Apply one transaction to the mirror; the notices that it gives, objects before their instances (EV-3)."""
    watched = _watched(mirror, events)
    before = {name: _signature(mirror, name) for name in watched}
    jobs = {job_id for event in events if (job_id := getattr(event, "job_id", None)) in mirror.jobs}
    notices: list[Notice] = []
    for event in events:
        known = _known(mirror, event)
        apply(mirror, event)
        notices.extend(_of_event(mirror, event, known))
    notices.extend(Notice(JOB, "DEL", str(job_id), {"job_id": job_id}) for job_id in jobs if job_id not in mirror.jobs)
    gone = {n.name for n in notices if n.type == "CLUSTERQUEUE" and n.action == "DEL"}
    everything = any(isinstance(event, _CONFIGURATION) for event in events)
    for name in sorted({*before, *mirror.instances} if everything else before):
        notices.extend(_of_instance(mirror, name, before.get(name), gone))
    return notices


def _watched(mirror: State, events: list[AnyEvent]) -> list[str]:
    """Instances that a transaction may change."""
    if any(isinstance(event, _CONFIGURATION) for event in events):
        return list(mirror.instances)
    names: set[str] = set()
    for event in events:
        if isinstance(event, InstanceFlagsChanged | InstanceErrorsCleared):
            names.update(event.instances)
        elif isinstance(event, InstanceErrorSet):
            names.add(event.instance)
        elif isinstance(event, HostHeard | HostLost):
            host = mirror.hosts.get(event.host)
            if host is not None and host.up == isinstance(event, HostLost):
                names.update(name for name, found in mirror.instances.items() if found.host == event.host)
        elif isinstance(event, TaskEnded | TaskRequeued):
            task = mirror.task(event.job_id, event.task_id)
            names.update(grant.instance for grant in task.granted) if task is not None else None
    return [name for name in names if name in mirror.instances]


def _signature(mirror: State, name: str) -> tuple[Any, ...]:
    """What of an instance clients see: configuration, flags, ambiguity, and whether its host is heard."""
    found = mirror.instances[name]
    host = mirror.hosts.get(found.host)
    flags = (found.disabled, found.suspended, found.calendar_disabled, found.calendar_suspended, found.orphaned)
    config = mirror.configs.get(name)
    text = config.text if config is not None else None
    return (found.subordinated, text, flags, tuple(found.errors), bool(mirror.ambiguous.get(name)), host and host.up)


def _of_instance(
    mirror: State, name: str, before: tuple[Any, ...] | None, gone: set[str]
) -> Iterator[Notice]:
    if name not in mirror.instances:
        # the end of a cluster queue implies that of its instances (EV-2)
        if name.partition("@")[0] not in gone:
            yield Notice(INSTANCE, "DEL", name)
        return
    if before is None:
        yield Notice(INSTANCE, "ADD", name, _instance(mirror, name))
        return
    now = _signature(mirror, name)
    if now[0] != before[0]:
        yield Notice(INSTANCE, "SUSPEND_ON_SUB" if now[0] else "UNSUSPEND_ON_SUB", name)
    if now[1:] != before[1:]:
        yield Notice(INSTANCE, "MOD", name, _instance(mirror, name))


def _known(mirror: State, event: AnyEvent) -> bool:
    """Whether what an event is about was there before."""
    if isinstance(event, ObjectSet | ObjectRemoved):
        return mirror.has(event.kind, event.name)
    if isinstance(event, TaskDispatched):
        return mirror.task(event.job_id, event.task_id) is not None
    return True


def _of_event(mirror: State, event: AnyEvent, known: bool) -> Iterator[Notice]:
    """Notices of one event, which was just applied."""
    if isinstance(event, ObjectSet):
        data = {"name": event.name, "attributes": event.attributes}
        yield Notice(OBJECT_TYPES[event.kind], "MOD" if known else "ADD", event.name, data)
    elif isinstance(event, ObjectRemoved):
        yield Notice(OBJECT_TYPES[event.kind], "DEL", event.name)
    elif isinstance(event, HostHeard | HostLost):
        if mirror.has("exec_host", event.host) and (isinstance(event, HostLost) or event.load):
            load = event.load if isinstance(event, HostHeard) else None
            yield Notice("EXECHOST", "MOD", event.host, {"name": event.host, "load_values": load})
    elif isinstance(event, JobSubmitted):
        yield Notice(JOB, "ADD", str(event.job.id), _job(mirror, event.job.id))
    elif isinstance(event, JobChanged | HoldsChanged | JobErrorChanged | PendingTasksDeleted):
        if event.job_id in mirror.jobs:
            yield Notice(JOB, "MOD", str(event.job_id), _job(mirror, event.job_id))
    elif isinstance(event, ReservationRemoved):
        yield Notice(RESERVATION, "DEL", str(event.ar_id), {"ar_id": event.ar_id})
    elif isinstance(event, ReservationGranted):
        yield Notice(RESERVATION, "ADD", str(event.reservation.id), _reservation(mirror, event.reservation.id))
    elif (ar_id := getattr(event, "ar_id", None)) is not None:
        yield Notice(RESERVATION, "MOD", str(ar_id), _reservation(mirror, ar_id))
    elif isinstance(event, TaskEnded):
        ended = {"exit_status": event.exit_status, "failed": event.failed}
        key = {"job_id": event.job_id, "task_id": event.task_id}
        yield Notice(TASK, "DEL", f"{event.job_id}.{event.task_id}", {**key, **ended})
    elif (task_id := getattr(event, "task_id", None)) is not None:
        job_id = event.job_id  # type: ignore[union-attr]
        if mirror.task(job_id, task_id) is not None:
            yield Notice(TASK, "MOD" if known else "ADD", f"{job_id}.{task_id}", _task(mirror, job_id, task_id))
