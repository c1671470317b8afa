"""Tasks on a host that the state does not have there: their standing in this cell, and their treatment.

Owns the judgement. A task of this cell that has ended is forgotten by its host. A task that was started after the spool was
saved from which the master continues is adopted. Every other task is an orphan: the host keeps it in any case, until an
operator ends it (qdel -f). Called by `reports` and `deletion`. Source: docs/adr/0093; EX-9.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from gridengine.placement.charges import charges
from gridengine.placement.unit_choice import place_of
from gridengine.protocols.delivery import Origin
from gridengine.state.bookings import GLOBAL
from gridengine.state.events import AnyEvent
from gridengine.state.hosts import Host, OrphanTask
from gridengine.state.jobs import GrantedUnits, Job
from gridengine.state.machines.host import OrphansFound
from gridengine.state.machines.job import JobNumbersRaised
from gridengine.state.machines.task import TaskDispatched, TaskStarted
from gridengine.state.state import State
from gridengine.values.task_key import SlaveKey, TaskKey

HasEndedHere = Callable[[TaskKey, Origin], bool]
"""Whether an attempt of a task has ended in this cell, by the accounting index."""


class Standing(Enum):
    """The standing in the cell of a task on a host."""

    LIVE = "running, by the state"
    OVER = "of this cell, and ended"
    LATER = "a later attempt of a task that is pending, by the state"
    UNKNOWN = "not known by the state"


def find_standing(state: State, host: str, key: TaskKey, origin: Origin, has_ended_here: HasEndedHere) -> Standing:
    """The standing of a task on a host. `origin`: as the host reports it, empty for a host that does not."""
    known = state.hosts.get(host)
    if known is not None and key in known.abandoned:
        return Standing.OVER
    standing = _standing_of_attempt(state, key, origin)
    if isinstance(key, SlaveKey):
        standing = _standing_of_slave(state, key, standing)
    elif standing is Standing.LIVE and state.jobs[key.job].tasks[key.task].host != host:
        standing = Standing.UNKNOWN
    return Standing.OVER if standing is Standing.UNKNOWN and has_ended_here(key, origin) else standing


def _standing_of_attempt(state: State, key: TaskKey, origin: Origin) -> Standing:
    job_id, task_id, attempt = key.master
    job = state.jobs.get(job_id)
    if job is None or not _is_same_job(job, origin):
        return Standing.UNKNOWN
    task = job.tasks.get(task_id)
    if task is not None and not task.waits:
        if attempt > task.attempt:
            return Standing.UNKNOWN
        return Standing.LIVE if attempt == task.attempt else Standing.OVER
    waits = task is not None or task_id in job.pending
    begun = task.attempt if task is not None else 0
    return Standing.LATER if waits and attempt > begun else Standing.OVER


def _standing_of_slave(state: State, key: SlaveKey, master: Standing) -> Standing:
    """A slave task has the standing of its master, unless it ended before it, or the state does not know its start."""
    if master is not Standing.LIVE or state.live_slave(key) is not None:
        return Standing.UNKNOWN if master is Standing.LATER else master
    return Standing.OVER if key.number <= state.jobs[key.job].tasks[key.task].slaves_begun else Standing.UNKNOWN


def _is_same_job(job: Job, origin: Origin) -> bool:
    """Whether a job of the state is the job of a task's origin: job numbers are reused."""
    return not origin.owner or (job.owner, job.submitted) == (origin.owner, origin.submit_time)


def adoption_events(state: State, key: TaskKey, origin: Origin, now: float) -> list[AnyEvent]:
    """The events that adopt a LATER attempt, with the slots and units that it has; none when their queue instances are gone."""
    if not origin.granted or any(grant.instance not in state.instances for grant in origin.granted):
        return []
    if origin.pe and not state.has("parallel_environment", origin.pe):
        return []
    job = state.jobs[key.job]
    resources, host = charges(state, job), origin.granted[0].host
    units = [
        GrantedUnits(host, resource, units, place_of(state, host, resource) == GLOBAL) for resource, units in origin.units.items()
    ]
    dispatched = TaskDispatched(*key.master, origin.granted, origin.time or now, origin.pe, resources, units)
    return [dispatched, TaskStarted(*key.master, origin.time or now)]


def orphan_events(state: State, host: str, orphans: list[OrphanTask]) -> list[AnyEvent]:
    """The events for the orphans of an inventory, none when they are unchanged. No new job gets the number of an orphan."""
    known = state.hosts.get(host)
    events: list[AnyEvent] = []
    if orphans != (known.orphans if known is not None else []):
        events.append(OrphansFound(host, orphans))
    last = max((orphan.key.job for orphan in orphans), default=0)
    return [*events, JobNumbersRaised(last + 1)] if last >= state.next_job_id else events


def select_hosts_with_orphans(state: State) -> list[Host]:
    """The hosts that have orphans: few, if any."""
    return [host for host in state.hosts.values() if host.orphans]


def select_orphans(hosts: list[Host], target: str) -> dict[str, list[TaskKey]]:
    """The orphans on these hosts that match `JOB` or `JOB.TASK`, by host."""
    number, _, task = target.partition(".")
    if not number.isdecimal() or not (task or "1").isdecimal():
        return {}
    prefix = (int(number), int(task)) if task else (int(number),)
    matching = {host.name: [orphan.key for orphan in host.orphans if orphan.key[: len(prefix)] == prefix] for host in hosts}
    return {name: keys for name, keys in matching.items() if keys}
