"""Volatile parts of the state, which are in no journal: reports of hosts about themselves and their tasks, scheduler results.

Owns their list, which must contain everything that events with `durable = False` write. Called by the master after it has
read its state again, and for mirrors: scheduler results are in no snapshot either.
"""

from __future__ import annotations

from msgspec import structs

from gridengine.state.events import AnyEvent
from gridengine.state.machines.job import PrioritiesSet
from gridengine.state.machines.reservation import JobReservationsSet
from gridengine.state.state import State

_OF_HOSTS = ("up", "last_heard", "lost_at", "load", "sensed_by", "orphans")


def carry_over(old: State, new: State) -> None:
    """Copy the volatile parts of the previous state to a state that was read from disk, for objects that are in both states."""
    for name, host in new.hosts.items():
        if name in old.hosts:
            new.hosts[name] = structs.replace(host, **{field: getattr(old.hosts[name], field) for field in _OF_HOSTS})
    new.sensing = {host: set(others) for host, others in old.sensing.items()}
    for job_id, job in new.jobs.items():
        for task_id, task in job.tasks.items():
            before = old.task(job_id, task_id, task.attempt)
            if before is None:
                continue
            task.usage = before.usage
            for number, slave in task.slaves.items():
                if number in before.slaves:
                    slave.usage = before.slaves[number].usage
    new.priorities = {job_id: value for job_id, value in old.priorities.items() if job_id in new.jobs}
    new.tickets = {job_id: value for job_id, value in old.tickets.items() if job_id in new.jobs}
    new.job_reservations = old.job_reservations
    finished = {(ended.id, ended.end_time): ended.priority for ended in old.finished}
    for ended in new.finished:
        ended.priority = finished.get((ended.id, ended.end_time), ended.priority)


def volatile_events(state: State) -> list[AnyEvent]:
    """The events that add the volatile scheduler results to a state from a snapshot."""
    return [PrioritiesSet(dict(state.priorities), dict(state.tickets)), JobReservationsSet(list(state.job_reservations))]
