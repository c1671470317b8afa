"""Notices to event clients by kind of object, derived from the events of a transaction.

Owns the kinds, their lists and the derivation. Works on a mirror of the state that follows by the same events, so that a notice
contains the values after its transaction. The sockets belong to `event_clients`. Source: EV-1 … EV-7, EV-9; names of kinds as
in the events of 8.1.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from daemons.qmaster.transaction import Transaction
from gridengine.kinds import EVENT_TYPES, KIND
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.machines import reservation, slave, task
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.machines.host import HostHeard, HostLost
from gridengine.state.machines.job import HoldsChanged, JobChanged, JobErrorChanged, JobSubmitted, PendingTasksDeleted
from gridengine.state.machines.reservation import ReservationGranted, ReservationRemoved
from gridengine.state.machines.task import TaskDispatched, TaskEnded
from gridengine.state.state import State
from gridengine.state.state_codes import instance_state_codes
from gridengine.values.instance_name import queue_of

INSTANCE, JOB, TASK, RESERVATION = "QUEUEINSTANCE", "JOB", "JATASK", "AR"
TYPES = (*sorted(EVENT_TYPES), INSTANCE, JOB, TASK, RESERVATION)


class Notice(Struct, frozen=True):
    """One change. `action`: LIST, ADD, MOD, DEL, or SUSPEND_ON_SUB and UNSUSPEND_ON_SUB of an instance. `data`: the object
    after the change, for LIST all objects, None for none."""

    type: str
    action: str
    name: str
    data: Any = None


def full_list(state: State, type_name: str) -> Notice:
    """All objects of one type, as a client gets them when it registers (EV-1)."""
    if kind := EVENT_TYPES.get(type_name):
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
        "states": instance_state_codes(state, instance),
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
    entry = state.reservations[ar_id]
    times = {"start_time": entry.start_time, "end_time": entry.end_time}
    granted = [[grant.instance, grant.slots] for grant in entry.granted]
    return {"ar_id": ar_id, "name": entry.name, "owner": entry.owner, "state": entry.state, **times, "granted": granted}


def advance(mirror: State, transaction: Transaction) -> list[Notice]:
    """Apply one transaction to the mirror. Returns its notices, objects before their instances (EV-3)."""
    affected = transaction.affected
    configured = bool(affected.objects) or affected.members
    before = {name: _signature(mirror, name) for name in _watched(mirror, affected, configured)}
    jobs = affected.jobs & mirror.jobs.keys()
    tasks = {key for key in affected.tasks if mirror.task(*key) is not None}
    notices: list[Notice] = []
    for event in transaction.events:
        apply(mirror, event)
        notices_of = _OF_EVENTS.get(type(event))
        if notices_of is not None:
            notices.extend(notices_of(_Before(mirror, affected, tasks), event))
    notices.extend(Notice(JOB, "DEL", str(job_id), {"job_id": job_id}) for job_id in jobs if job_id not in mirror.jobs)
    gone = {n.name for n in notices if n.type == "CLUSTERQUEUE" and n.action == "DEL"}
    for name in sorted({*before, *mirror.instances} if configured else before):
        notices.extend(_of_instance(mirror, name, before.get(name), gone))
    return notices


def _watched(mirror: State, affected: Affected, configured: bool) -> Iterable[str]:
    """Instances that a transaction may change."""
    if configured:
        return list(mirror.instances)
    turned = affected.returned | affected.lost
    on_hosts = (name for name, instance in mirror.instances.items() if instance.host in turned) if turned else ()
    return [name for name in {*affected.instances, *on_hosts} if name in mirror.instances]


def _signature(mirror: State, name: str) -> tuple[Any, ...]:
    """The facts of an instance that clients see: configuration, flags, ambiguity, and whether its host is up or drained."""
    instance = mirror.instances[name]
    host = mirror.hosts.get(instance.host)
    flags = (instance.disabled, instance.suspended, instance.calendar_disabled, instance.calendar_suspended, instance.orphaned)
    config = mirror.configs.get(name)
    text = config.text if config is not None else None
    of_host = (host.up, host.drained is not None) if host is not None else None
    return (instance.subordinated, text, flags, tuple(instance.errors), bool(mirror.ambiguous.get(name)), of_host)


def _of_instance(
    mirror: State, name: str, before: tuple[Any, ...] | None, gone: set[str]
) -> Iterator[Notice]:
    if name not in mirror.instances:
        # the end of a cluster queue implies that of its instances (EV-2)
        if queue_of(name) not in gone:
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


class _Before(NamedTuple):
    """The mirror with an event applied, the objects that its transaction affected, and the tasks that existed before it."""

    mirror: State
    affected: Affected
    tasks: set[tuple[int, int]]


def _object_set(before: _Before, event: ObjectSet) -> Iterator[Notice]:
    action = "ADD" if before.affected.objects[event.kind, event.name] is None else "MOD"
    yield Notice(KIND[event.kind].event_type, action, event.name, {"name": event.name, "attributes": event.attributes})


def _object_removed(before: _Before, event: ObjectRemoved) -> Iterator[Notice]:
    yield Notice(KIND[event.kind].event_type, "DEL", event.name)


def _host_heard(before: _Before, event: HostHeard) -> Iterator[Notice]:
    if event.load and before.mirror.has("exec_host", event.host):
        yield Notice("EXECHOST", "MOD", event.host, {"name": event.host, "load_values": event.load})


def _host_lost(before: _Before, event: HostLost) -> Iterator[Notice]:
    if before.mirror.has("exec_host", event.host):
        yield Notice("EXECHOST", "MOD", event.host, {"name": event.host, "load_values": None})


def _job_submitted(before: _Before, event: JobSubmitted) -> Iterator[Notice]:
    yield Notice(JOB, "ADD", str(event.job.id), _job(before.mirror, event.job.id))


def _job_changed(before: _Before, event: Any) -> Iterator[Notice]:
    if event.job_id in before.mirror.jobs:
        yield Notice(JOB, "MOD", str(event.job_id), _job(before.mirror, event.job_id))


def _task_ended(before: _Before, event: TaskEnded) -> Iterator[Notice]:
    ended = {"exit_status": event.exit_status, "failed": event.failed}
    key = {"job_id": event.job_id, "task_id": event.task_id}
    yield Notice(TASK, "DEL", f"{event.job_id}.{event.task_id}", {**key, **ended})


def _task_changed(before: _Before, event: Any) -> Iterator[Notice]:
    key = (event.job_id, event.task_id)
    if before.mirror.task(*key) is not None:
        yield Notice(TASK, "MOD", f"{event.job_id}.{event.task_id}", _task(before.mirror, *key))


def _task_dispatched(before: _Before, event: TaskDispatched) -> Iterator[Notice]:
    for notice in _task_changed(before, event):
        yield notice if (event.job_id, event.task_id) in before.tasks else replace(notice, action="ADD")


def _reservation_granted(before: _Before, event: ReservationGranted) -> Iterator[Notice]:
    number = event.reservation.id
    yield Notice(RESERVATION, "ADD", str(number), _reservation(before.mirror, number))


def _reservation_changed(before: _Before, event: Any) -> Iterator[Notice]:
    yield Notice(RESERVATION, "MOD", str(event.ar_id), _reservation(before.mirror, event.ar_id))


def _reservation_removed(before: _Before, event: ReservationRemoved) -> Iterator[Notice]:
    yield Notice(RESERVATION, "DEL", str(event.ar_id), {"ar_id": event.ar_id})


_OF_EVENTS: dict[type, Callable[[_Before, Any], Iterator[Notice]]] = {
    ObjectSet: _object_set,
    ObjectRemoved: _object_removed,
    HostHeard: _host_heard,
    HostLost: _host_lost,
    JobSubmitted: _job_submitted,
    **dict.fromkeys((JobChanged, HoldsChanged, JobErrorChanged, PendingTasksDeleted), _job_changed),
    **dict.fromkeys((*task.TRANSITIONS, *slave.TRANSITIONS), _task_changed),
    TaskDispatched: _task_dispatched,
    TaskEnded: _task_ended,
    **dict.fromkeys(reservation.TRANSITIONS, _reservation_changed),
    ReservationGranted: _reservation_granted,
    ReservationRemoved: _reservation_removed,
}
"""Notices of one event; notices of instances come from a comparison before and after."""
