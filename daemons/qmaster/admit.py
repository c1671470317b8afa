"""admit(state, orders, now) -> events: the qmaster's check of orders that the scheduler computed on an older state.

Owns the second check: an order is accepted if its job, task and instances are unchanged since it was made and there is
capacity. The qmaster drops every other order, and the next cycle sees the newer state. Source: house rule "orders are
re-checked".
"""

from __future__ import annotations

from collections import Counter
from math import isfinite

from gridengine.placement.access import user_sets_of
from gridengine.placement.charges import charges
from gridengine.placement.config_snapshot import PlacementConfig, bookings_of_units
from gridengine.placement.ledger import Ledger
from gridengine.placement.obstacles import state_obstacle
from gridengine.placement.placement_request import Request, request_of
from gridengine.placement.quotas import bookings_of
from gridengine.placement.spread import grants_fit
from gridengine.placement.timeline import Timeline
from gridengine.placement.unit_choice import UnitChooser
from gridengine.protocols.orders import JobFault, Orders, StartOrder
from gridengine.state.events import AnyEvent
from gridengine.state.jobs import Grant, GrantedUnits, Job
from gridengine.state.machines.job import JobErrorChanged, PendingTasksDeleted, PrioritiesSet
from gridengine.state.machines.reservation import JobReservationsSet
from gridengine.state.machines.task import TaskDispatched, TaskSuspensionChanged
from gridengine.state.state import State


def admit(state: State, orders: Orders, now: float) -> list[AnyEvent]:
    """The events of all valid orders; capacity is counted over the whole batch. An order that cannot be checked is dropped
    alone."""
    newly_reserved = _hosts_reserved_since(state, orders.revision)
    starts, faults = _starts(state, orders, newly_reserved, now) if orders.starts else ([], [])
    started = Counter(event.job_id for event in starts)
    events: list[AnyEvent] = [*starts]
    for fault in {fault.job_id: fault for fault in (*orders.faults, *faults)}.values():
        events += _error_events(state, fault, now)
    for job_id in orders.give_up:
        job = state.jobs.get(job_id)
        if job is not None and job.now and job.pending and not job.tasks and not started[job_id]:
            events.append(PendingTasksDeleted(job_id, job.pending, "scheduler", now))
    for suspend in orders.suspends:
        task = state.task(suspend.job_id, suspend.task_id, suspend.attempt)
        if task is not None and task.status == "running" and ("threshold_suspended" in task.conditions) != suspend.suspended:
            events.append(TaskSuspensionChanged(suspend.job_id, suspend.task_id, "threshold", suspend.suspended))
    reservations = [each for each in orders.job_reservations if isfinite(each.start_time) and isfinite(each.end_time)]
    if reservations != state.job_reservations and not newly_reserved:
        events.append(JobReservationsSet(reservations))
    priorities = {job_id: each for job_id, each in orders.priorities.items() if all(map(isfinite, each))}
    tickets = {job_id: each for job_id, each in orders.tickets.items() if all(map(isfinite, each))}
    if priorities or tickets:
        events.append(PrioritiesSet(priorities, tickets))
    return events


def _starts(
    state: State, orders: Orders, newly_reserved: frozenset[str], now: float
) -> tuple[list[TaskDispatched], list[JobFault]]:
    """The starts for which there is capacity, and faults for the jobs of orders that cannot be checked."""
    remaining = _RemainingCapacity(state, now)
    events = []
    faults = []
    given: set[tuple[int, int]] = set()
    for order in orders.starts:
        job = state.jobs.get(order.job_id)
        if job is None or (job.id, order.task_id) in given:
            continue
        try:
            if not _may_start(state, job, order, newly_reserved) or not remaining.take(job, order):
                continue
            held = remaining.charges(job)
            units = remaining.choose_units(job, order, held)
        except Exception as error:  # noqa: BLE001 - one order must not void all others
            faults.append(JobFault.of(job, error))
            continue
        if units is None:
            continue
        grants = list(order.granted)
        given.add((job.id, order.task_id))
        events.append(TaskDispatched(job.id, order.task_id, order.attempt, grants, now, order.pe, held, units))
    return events, faults


def _error_events(state: State, fault: JobFault, now: float) -> list[AnyEvent]:
    """A job that cannot be handled is set in error state; an interactive job is deleted (IA-8)."""
    job = state.jobs.get(fault.job_id)
    if job is None or job.version != fault.version or job.error:
        return []
    waiting = job.waiting
    if waiting and (job.now or job.kind != "batch"):
        return [PendingTasksDeleted(job.id, waiting, "scheduler", now, fault.reason)]
    return [JobErrorChanged(job.id, fault.reason)]


def _hosts_reserved_since(state: State, revision: int) -> frozenset[str]:
    """Hosts with reservations that were granted after the scheduler's snapshot: its orders there wait for its next cycle.
    "" stands for all hosts: such a reservation holds resources of a PE or of the cluster."""
    hosts: set[str] = set()
    for number, at in state.reserved.granted_at.items():
        if at >= revision:
            reservation = state.reservations[number]
            hosts.update(grant.host for grant in reservation.granted)
            if reservation.granted_pe or reservation.resources:
                hosts.add("")
    return frozenset(hosts)


class _RemainingCapacity:
    """The remaining capacity for a batch of orders: slots, consumables, named units and PE slots, of the cluster or inside a
    reservation.

    An accepted order is charged before the next is checked, so nothing is ever overbooked (CX-46, PE-2).
    """

    def __init__(self, state: State, now: float) -> None:
        self._state = state
        self._config_snapshot = PlacementConfig.of(state)
        self._units = UnitChooser(state)
        self._ledger = Ledger(state, timeline=Timeline(state, now) if state.reservations else None)
        self._reserved: dict[int, PlacementConfig] = {}
        self._sets: dict[tuple[str, str], frozenset[str]] = {}
        self._charges: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def take(self, job: Job, order: StartOrder) -> bool:
        """Charge an order if there is capacity for it. Returns whether there is."""
        if order.pe and not self._state.has("parallel_environment", order.pe):
            return False
        config_snapshot, ledger = self._where(job)
        request = self._request(job, config_snapshot)
        if not grants_fit(config_snapshot, ledger, request, order.granted, order.pe):
            return False
        ledger.charge(bookings_of(config_snapshot, request, order.granted, order.pe))
        return True

    def choose_units(self, job: Job, order: StartOrder, charged: dict[str, str]) -> list[GrantedUnits] | None:
        """The named units for an order, and charge their classes; None if units lack."""
        config_snapshot, ledger = self._where(job)
        request = self._request(job, config_snapshot)
        units = self._units.choose(config_snapshot, ledger, request, order.granted, charged, order.units)
        if units:
            ledger.charge(bookings_of_units(config_snapshot, units))
        return units

    def _where(self, job: Job) -> tuple[PlacementConfig, Ledger]:
        """The cluster, or the job's reservation: its capacity and its use."""
        if not job.ar:
            return self._config_snapshot, self._ledger
        if job.ar not in self._reserved:
            self._reserved[job.ar] = self._config_snapshot.within(self._state.reservations[job.ar])
        return self._reserved[job.ar], self._ledger.within(job.ar)

    def _request(self, job: Job, config_snapshot: PlacementConfig) -> Request:
        owner = (job.owner, job.group)
        if owner not in self._sets:
            self._sets[owner] = user_sets_of(self._state, *owner)
        return request_of(config_snapshot, job, self._sets[owner])

    def charges(self, job: Job) -> dict[str, str]:
        """The amounts that a task of the job holds while it runs."""
        key = tuple(job.hard.items())
        cached = self._charges.get(key)
        if cached is None:
            cached = self._charges[key] = charges(self._state, job)
        return dict(cached)


def _may_start(state: State, job: Job, order: StartOrder, newly_reserved: frozenset[str]) -> bool:
    if job.version != order.version or job.error or job.held(order.task_id) or state.waits_for(job):
        return False
    task = job.tasks.get(order.task_id)
    if task is None:
        if order.task_id not in job.pending or order.attempt != 1:
            return False
    elif not task.waits or task.error or order.attempt != task.attempt + 1:
        return False
    if job.ar:
        reservation = state.reservations.get(job.ar)
        if reservation is None or not reservation.is_usable:
            return False
    elif newly_reserved and ("" in newly_reserved or any(grant.host in newly_reserved for grant in order.granted)):
        return False
    return all(_is_open(state, job, grant) for grant in order.granted)


def _is_open(state: State, job: Job, grant: Grant) -> bool:
    instance = state.instances.get(grant.instance)
    return instance is not None and state_obstacle(state, instance, reserved=bool(job.ar)) is None
