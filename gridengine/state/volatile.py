"""What of the state is in no journal: what hosts say of themselves and of their tasks, and what the scheduler found.

Owns the list of it, which must name what events with `durable = False` write. Called by the master when it has
read its state again, and for mirrors: what the scheduler found is in no snapshot either.
"""

from __future__ import annotations

from msgspec import structs

from gridengine.state.events import AnyEvent
from gridengine.state.machines.job import PrioritiesSet
from gridengine.state.machines.reservation import JobReservationsSet
from gridengine.state.state import State

_OF_HOSTS = ("up", "last_heard", "lost_at", "load", "sensed_by", "strays")


def carry_over(old: State, new: State) -> None:
    """Give a state that was read from disk what is volatile in the one before it, for whatever is in both."""
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
    """The events that give a state which was made of a snapshot what the snapshot does not have."""
    return [PrioritiesSet(dict(state.priorities), dict(state.tickets)), JobReservationsSet(list(state.job_reservations))]
