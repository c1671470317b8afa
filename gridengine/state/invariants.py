"""Invariants between any two transactions: the sums and exclusions of the state, as sentences about violations.

Owns these laws. Slow, because everything is counted again: for tests and the simulation, which check after each step, and for
backups before they are trusted. Pure. Called by `tests.harness` and `daemons.qmaster.backup`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from gridengine.state.bookings import Bookings, Holder
from gridengine.state.jobs import Job, Task
from gridengine.state.quotas import QuotaBook
from gridengine.state.reservations import ReservationIndex
from gridengine.state.shared_values import EMPTY
from gridengine.state.state import State
from gridengine.state.units_in_use import UnitsInUse, held_amounts
from gridengine.syntax.unit_list import excluded_units

K = TypeVar("K")
V = TypeVar("V")


def invariants(state: State) -> list[str]:
    """A sentence for each violation; empty if there is none."""
    return [fault for law in LAWS for fault in law(state)]


# --- jobs and tasks ------------------------------------------------------------------------------------------


def _tasks(state: State) -> Iterator[tuple[Job, Task]]:
    return ((job, task) for job in state.jobs.values() for task in job.tasks.values())


def _jobs(state: State) -> Iterator[str]:
    """A job exists while it has tasks; a task is either pending or dispatched, and in one of both lists only."""
    if EMPTY:
        yield f"the empty table that jobs share has entries: {EMPTY}"
    for number, job in state.jobs.items():
        if job.id != number:
            yield f"job {job.id} is kept as job {number}"
        if not job.pending and not job.tasks:
            yield f"job {number} has no tasks left and still exists"
        if both := [task_id for task_id in job.tasks if task_id in job.pending]:
            yield f"tasks {both} of job {number} are pending ranges and task objects"
    for job, task in _tasks(state):
        if task.waits == bool(task.granted):
            yield f"task {job.id}.{task.id} is {task.status} with the grants {task.granted}"
        if task.granted and task.attempt < 1:
            yield f"task {job.id}.{task.id} has grants without an attempt"
        if missing := [grant.instance for grant in task.granted if grant.instance not in state.instances]:
            yield f"task {job.id}.{task.id} has grants in {missing}, which do not exist"


def _slaves(state: State) -> Iterator[str]:
    """Slave tasks belong to an attempt with grants for them."""
    for job, task in _tasks(state):
        if not task.granted and (task.slaves or task.slaves_begun or task.master_end is not None):
            yield f"task {job.id}.{task.id} is pending and has slave tasks"
        for number, slave in task.slaves.items():
            if slave.number != number:
                yield f"slave task {job.id}.{task.id}.{slave.number} is kept as {number}"
            if all(grant.instance != slave.instance for grant in task.granted):
                yield f"slave task {job.id}.{task.id}.{number} is in {slave.instance}, where its master has no grant"


def _dependencies(state: State) -> Iterator[str]:
    """The indexes of dependencies match the jobs."""
    waiting: dict[int, set[int]] = defaultdict(set)
    for job in state.jobs.values():
        for other in (*job.predecessors, *job.array_predecessors):
            waiting[other].add(job.id)
    # a doomed job keeps the predecessor that did not end as required
    known = {number: others for number, others in _filled(state.dependents).items() if number in state.jobs}
    there = {number: others for number, others in waiting.items() if number in state.jobs}
    yield from _compared("jobs that wait for job {}", known, there)
    owned: dict[tuple[str, str], set[int]] = defaultdict(set)
    for job in state.jobs.values():
        owned[job.owner, job.group].add(job.id)
    yield from _compared("jobs of {}", state.owned, owned)
    doomed = {job.id for job in state.jobs.values() if job.doomed}
    if state.doomed != doomed:
        yield f"doomed are {doomed}, and not {state.doomed}"
    for what, by_job in (("priorities", state.priorities), ("tickets", state.tickets)):
        if gone := by_job.keys() - state.jobs.keys():
            yield f"there are {what} of jobs {gone}, which do not exist"


def _ending_reservations(state: State) -> Iterator[str]:
    """No job is pending in an ending reservation: job and reservation would wait forever."""
    for reservation in state.reservations.values():
        if reservation.ending:
            for number in state.reserved.jobs[reservation.id]:
                if state.jobs[number].waits:
                    yield f"job {number} waits for reservation {reservation.id}, which is ending"


# --- indexes and sums ----------------------------------------------------------------------------------------------


def _task_indexes(state: State) -> Iterator[str]:
    """The indexes of tasks by host and instance match the grants."""
    hosts: dict[str, set[tuple[int, int]]] = defaultdict(set)
    instances: dict[str, set[tuple[int, int]]] = defaultdict(set)
    reniced: set[tuple[int, int]] = set()
    for job, task in _tasks(state):
        if task.granted and task.nice is not None:
            reniced.add((job.id, task.id))
        for grant in task.granted:
            hosts[grant.host].add((job.id, task.id))
            instances[grant.instance].add((job.id, task.id))
    yield from _compared("tasks on host {}", _filled(state.tasks_on), hosts)
    yield from _compared("tasks in {}", _filled(state.tasks_in), instances)
    yield from _compared("{} nice values", {"tasks with": state.reniced}, {"tasks with": reniced})


def _sums(state: State) -> Iterator[str]:
    """The bookings are the sums over the dispatched tasks, inside and outside of reservations."""
    books: dict[int, Bookings] = defaultdict(Bookings)
    for job, task in _tasks(state):
        books[job.ar if job.ar in state.reservations else 0].book(state.bookings_of(task))
    for host in state.hosts.values():
        books[0].book(booking for held in host.held_units for booking in held_amounts(held.granted))
    for closed in state.closed_shares.values():
        books[0].book(held_amounts(closed))
    for number, booked in {0: state.bookings, **state.reserved.used}.items():
        where = f"reservation {number}, " if number else ""
        yield from _compared(f"bookings of {where}{{}}", _amounts(booked), _amounts(books[number]))


def _units(state: State) -> Iterator[str]:
    """The units in use are the units of dispatched tasks, and of finished attempts that hosts have still to forget."""
    counted = UnitsInUse()
    for job, task in _tasks(state):
        counted.book(task.units)
        if not task.granted and task.units:
            yield f"task {job.id}.{task.id} is pending and has the units {task.units}"
    for host in state.hosts.values():
        for held in host.held_units:
            counted.book(held.granted)
            if not set(held.keys) <= set(host.abandoned):
                yield f"host {host.name} holds units for {held.keys}, which it does not have to forget"
    for closed in state.closed_shares.values():
        counted.book(closed)
    yield from _compared("units in use of {}", state.units_in_use, counted)


def _slices(state: State) -> Iterator[str]:
    """A unit and its slices are not in use at the same time. A closed unit may count as in use beside slices that tasks keep."""
    for (place, resource), counts in state.units_in_use.items():
        closed = Counter(unit for each in state.closed_shares.get(place, ()) if each.resource == resource for unit in each.units)
        used = {unit: number for unit, number in counts.items() if number > closed[unit]}
        listed = state.host_units[place].get(resource, {}) if state.has("host_units", place) else {}
        for unit in sorted(excluded_units(listed, used) & used.keys()):
            yield f"{resource}/{unit} of {place} is in use together with its whole or its slices"


def _quotas(state: State) -> Iterator[str]:
    """The same for the bookings under resource quotas."""
    if not state.quotas.sets:
        return
    fresh = QuotaBook(state)
    fresh.rebuild()
    yield from _compared("use of quota {}", state.quotas.used, fresh.used)


def _amounts(booked: Bookings) -> dict[tuple[Holder, str], float]:
    return {(holder, name): round(amount, 6) for holder, name, amount in booked.entries()}


# --- reservations, instances ---------------------------------------------------------------------------------------


def _reservations(state: State) -> Iterator[str]:
    """The index of reservations matches their bookings; their jobs are the jobs that request them."""
    fresh = ReservationIndex()
    for number, reservation in state.reservations.items():
        if reservation.id != number:
            yield f"reservation {reservation.id} is kept as {number}"
        fresh.add(reservation, state.amounts(reservation.resources), 0)
    for job in state.jobs.values():
        if job.ar in fresh.jobs:
            fresh.jobs[job.ar].add(job.id)
        elif job.ar:
            yield f"job {job.id} requests reservation {job.ar}, which does not exist"
    known = state.reserved
    yield from _compared("jobs of reservation {}", known.jobs, fresh.jobs)
    yield from _compared("reservations in {}", known.of_instance, fresh.of_instance)
    yield from _compared("reserved amounts of {}", known.spans, fresh.spans)
    held = {number: _amounts(book) for number, book in known.held.items()}
    yield from _compared("bookings of reservation {}", held, {number: _amounts(book) for number, book in fresh.held.items()})


def _instances(state: State) -> Iterator[str]:
    """Each instance has its configuration; instances with subordinates are indexed by host; orphans are needed."""
    if state.instances.keys() != state.configs.keys():
        yield f"instances without configuration, or the other way: {state.instances.keys() ^ state.configs.keys()}"
    queues: dict[str, set[str]] = defaultdict(set)
    superiors: dict[str, set[str]] = defaultdict(set)
    for name, instance in state.instances.items():
        queues[instance.queue].add(name)
        if name in state.configs and state.configs[name].subordinates.queues:
            superiors[instance.host].add(name)
        if instance.orphaned and not state.is_in_use(name):
            yield f"{name} is an orphan that is no longer in use"
    yield from _compared("instances of queue {}", _filled(state.instances_of), queues)
    yield from _compared("instances with subordinates on {}", _filled(state.superiors), superiors)
    if state.unreconciled.groups or state.unreconciled.queues or state.unreconciled.quotas:
        yield "the configuration has changed, and the instances were not updated"


def _filled(index: Mapping[K, set[V]]) -> dict[K, set[V]]:
    """An index without its empty entries."""
    return {key: values for key, values in index.items() if values}


def _compared(what: str, kept: Mapping[K, object], counted: Mapping[K, object]) -> Iterator[str]:
    """A sentence for each entry of an index that differs from the counted entry; `{}` in `what` stands for its key."""
    for key in sorted(kept.keys() | counted.keys(), key=str):
        if kept.get(key) != counted.get(key):
            yield f"{what.format(key)}: kept as {kept.get(key)}, counted {counted.get(key)}"


LAWS: tuple[Callable[[State], Iterator[str]], ...] = (
    _jobs,
    _slaves,
    _dependencies,
    _ending_reservations,
    _task_indexes,
    _sums,
    _units,
    _slices,
    _quotas,
    _reservations,
    _instances,
)
