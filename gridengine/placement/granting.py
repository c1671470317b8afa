"""Granting: the grants of an advance reservation in its window, and the reasons of refusals.

Owns the differences from the placement of a job: all named users must have access, states and load do not matter, quotas
are not applied, calendars must keep the queue on in the window, and the time line gives the use. The rules of resources
and the allocation rules are the same code. Source: AR-32 … AR-51.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

from gridengine.placement.access import user_sets_of, users_allowed
from gridengine.placement.config_snapshot import Capacity, PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import (
    host_refusal,
    instance_refusal,
    is_reported,
    load_refusal,
    queue_refusal,
    unknown_resources,
    use_refusal,
)
from gridengine.placement.natural_order import natural_order
from gridengine.placement.placement_request import Request
from gridengine.placement.reasons import Reason
from gridengine.placement.spread import Candidates, grants_fit, place_parallel
from gridengine.placement.timeline import Timeline
from gridengine.placement.unit_bookings import standing_for
from gridengine.placement.use import WindowUse
from gridengine.state.bookings import CLUSTER, Holder, holders_at
from gridengine.state.jobs import Grant, GrantedUnits, Job
from gridengine.state.queues import InstanceConfig, QueueInstance
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.syntax.calendar import OFF, ON, next_change, state_at
from gridengine.values.ranges import parse_slot_ranges

Sets = frozenset[str]


def as_job(reservation: AdvanceReservation) -> Job:
    """A job with the same requests, as input for the rules of placement."""
    return Job(
        id=0, name=reservation.name, owner=reservation.owner, uid=0, group=reservation.group, gid=0,
        submit_time=reservation.submit_time, hard=reservation.hard, hard_queues=reservation.hard_queues,
        master_queues=reservation.master_queues if reservation.pe or reservation.allocation_rule else (),
        pe=reservation.pe, pe_range=reservation.pe_range, allocation_rule=reservation.allocation_rule,
        checkpoint=reservation.checkpoint, now=reservation.immediate,
    )


def users_of(state: State, reservation: AdvanceReservation) -> dict[str, str]:
    """User or `@unix_group` -> unix group ("" if not known) of all users of a reservation, members of its lists included;
    denied users are left out (AR-36)."""
    if not reservation.allowed:
        return {reservation.owner: reservation.group}
    found: dict[str, str] = {}
    for name in _expanded(state, reservation.allowed):
        found[name] = reservation.group if name == reservation.owner else ""
    for name in _expanded(state, reservation.denied):
        found.pop(name, None)
    return found


def _expanded(state: State, names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        userset = state.usersets.get(name[1:]) if name.startswith("@") else None
        found += sorted(userset.entries) if userset is not None else [name]
    return found


def sets_of_users(state: State, users: dict[str, str]) -> list[Sets]:
    """The access lists of each of these users, equal sets once."""
    found: dict[Sets, None] = {}
    for name, group in users.items():
        found[user_sets_of(state, "", name[1:]) if name.startswith("@") else user_sets_of(state, name, group)] = None
    return list(found)


def reservation_request(config_snapshot: PlacementConfig, reservation: AdvanceReservation) -> Request:
    """The request of a reservation, in the form of a job's."""
    return replace(Request.of(config_snapshot, as_job(reservation)), exempt=True)


def _with_sets(request: Request, sets: Sets) -> Request:
    return request if request.sets == sets else replace(request, sets=sets)


class Granting:
    """One question: can this reservation be granted from `start_time` to `end_time`? `config_snapshot` can be used for several.

    zone: of calendars. `sets`: the access lists of each user, looked up if not given; `request`: replaces the reservation's
    request. `reasons`: the refusals of the last question. `without`: instances to leave out.
    """

    def __init__(
        self,
        config_snapshot: PlacementConfig,
        timeline: Timeline,
        reservation: AdvanceReservation,
        zone: tzinfo,
        sets: list[Sets] | None = None,
        request: Request | None = None,
    ) -> None:
        self.config_snapshot, self.state, self.timeline = config_snapshot, config_snapshot.state, timeline
        self.zone = zone
        self.sets = sets if sets is not None else sets_of_users(self.state, users_of(self.state, reservation))
        self.without: frozenset[str] = frozenset()
        self.reasons: dict[Reason, None] = {}
        self._queues: dict[int, Reason | None] = {}
        self._open_hosts: set[int] = set()
        self._closed: dict[int, str] = {}
        self.request = request or reservation_request(config_snapshot, reservation)
        self.window(reservation.start_time, reservation.end_time)
        self.request = self._usable(self.request)
        self._requests = [_with_sets(self.request, sets) for sets in self.sets]

    def window(self, start: float, end: float) -> None:
        """Set another window; cached results about the configuration stay."""
        self.start, self.end = start, end
        # the future load is unknown: `empty` keeps only the values that never change (AR-35)
        self.ledger = Ledger(self.state, empty=True, now=WindowUse(self.timeline, start, end))
        self._cluster_load = load_refusal(self.config_snapshot, self.ledger, self.request, CLUSTER)
        self._closed.clear()
        self.reasons.clear()

    def place(self) -> tuple[list[Grant], str]:
        """Grants, the master's first, and the PE; no grants if the reservation does not fit."""
        suiting = self._suiting()
        suiting.sort(key=self._rank)
        if self.request.parallel:
            why_not: list[Reason] = []
            granted, pe = place_parallel(self.config_snapshot, self.ledger, self.request, Candidates.of(suiting), why_not)
            self.reasons.update(dict.fromkeys(why_not))
            return granted, pe
        for name in suiting:
            reason = use_refusal(self.config_snapshot, self.ledger, self.request, name)
            if reason is None:
                return [Grant(name, 1)], ""
            self.reasons[reason] = None
        return [], ""

    def units(self, granted: list[Grant]) -> list[GrantedUnits]:
        """Units that stand for the classes which grants in the window take."""
        return standing_for(self.config_snapshot, self.ledger, self.request, granted)

    def still_fits(self, granted: list[Grant], pe: str, pe_range: str) -> bool:
        """Whether these grants satisfy the request in the window."""
        request, slots = self.request, sum(grant.slots for grant in granted)
        if bool(pe) != bool(request.pe) or (pe and pe not in request.pes):
            return False
        if (slots > 1 and not request.parallel) or (request.parallel and not _in_range(pe_range, slots)):
            return False
        for grant in granted:
            instance = self.state.instances.get(grant.instance)
            if instance is None or self.refusal(grant.instance, instance) is not None:
                return False
        return self._host(CLUSTER) is None and grants_fit(self.config_snapshot, self.ledger, request, granted, pe)

    def _usable(self, request: Request) -> Request:
        """Restrict a request to the PEs that all users may use, with access lists that admit them."""
        usable = []
        for name in request.pes:
            pe = self.state.pes[name]
            if all(users_allowed(sets, pe.user_lists, pe.xuser_lists) for sets in self.sets):
                usable.append(name)
            else:
                self.reasons[Reason("pe_permission", name)] = None
        if len(usable) < len(request.pes):
            request = replace(request, pes=tuple(usable))
        return _with_sets(request, self.sets[0]) if self.sets else request

    def _suiting(self) -> list[str]:
        """The matching instances, whether or not they are in use in the window."""
        suiting = []
        general = self._host(CLUSTER)
        for name, instance in self.state.instances.items():
            if name in self.without:
                continue
            reason = general or self.refusal(name, instance)
            if reason is None:
                suiting.append(name)
            else:
                self.reasons[reason] = None
        return suiting

    def refusal(self, name: str, instance: QueueInstance) -> Reason | None:
        """Return the reason why an instance does not match; None if it does. Instances that are disabled, suspended,
        unknown or in error match (AR-33)."""
        config = self.state.configs.get(name)
        if config is None or instance.orphaned:
            return Reason("orphaned", name)
        if name in self.state.ambiguous:
            return Reason("ambiguous", name)
        holder, host, _ = holders_at(name)
        queue, request = self.config_snapshot.capacities[holder], self.request
        kind = id(queue)  # instances of a queue with equal configuration share it
        reason = self._queues[kind] if kind in self._queues else self._queue(instance.queue, config, queue)
        if reason is None:
            reason = self._host(host)
        if reason is None and (request.hosts or request.hard_queues is not None):
            reason = instance_refusal(self.config_snapshot, request, instance, config)
        if reason is None and request.hard:
            reason = self._loads(name, host, queue)
        return reason if reason is not None or self._closed.get(kind) == "" else self._calendar(name, config, queue)

    def _queue(self, queue: str, config: InstanceConfig, capacity: Capacity) -> Reason | None:
        reason = self._for_all(lambda request: queue_refusal(request, queue, config, capacity))
        self._queues[id(capacity)] = reason
        return reason

    def _host(self, host: Holder) -> Reason | None:
        key = id(self.config_snapshot.capacities[host])  # hosts with equal configuration share it
        if key in self._open_hosts:
            return None
        reason = self._for_all(lambda request: host_refusal(self.config_snapshot, request, host))
        if reason is None:
            self._open_hosts.add(key)
        return reason

    def _for_all(self, refusal: Callable[[Request], Reason | None]) -> Reason | None:
        """The first refusal of one of the users (AR-36)."""
        return next((reason for request in self._requests if (reason := refusal(request)) is not None), None)

    def _loads(self, name: str, host: Holder, queue: Capacity) -> Reason | None:
        config_snapshot, ledger, request = self.config_snapshot, self.ledger, self.request
        reason = self._cluster_load or load_refusal(config_snapshot, ledger, request, host)
        if reason is not None:
            return reason
        for demand in unknown_resources(config_snapshot, request.hard, config_snapshot.capacities[host], queue):
            if not is_reported(ledger, host.name, demand):
                return Reason("unknown", name, resource=demand.name, asked=request.text)
        return None

    def _calendar(self, name: str, config: InstanceConfig, capacity: Capacity) -> Reason | None:
        """AR-37."""
        closed = self._closed.get(id(capacity))
        if closed is None:
            closed = closed_within(self.state, config.calendar, self.start, self.end, self.zone)
            self._closed[id(capacity)] = closed
        return Reason("calendar", name, other="disabled" if closed == OFF else "suspended") if closed else None

    def _rank(self, name: str) -> tuple[int, float, tuple[str | int, ...]]:
        """Sort key: sequence number, then the fewest slots used or reserved in the window, then the name."""
        state, host = self.state, holders_at(name)[1]
        used = state.bookings.of(host, "slots")
        for number, (begin, end, slots) in state.reserved.slots(host).items():
            if state.reservations[number].ending:
                end = self.timeline.window(state.reservations[number])[1]
            if begin < self.end and end > self.start:
                used += slots
        return state.configs[name].seq_no, used, natural_order(name)


def _in_range(pe_range: str, slots: int) -> bool:
    return any(low <= slots <= high for low, high in parse_slot_ranges(pe_range))


def closed_within(state: State, calendar: str, start: float, end: float, zone: tzinfo) -> str:
    """`off` or `suspended` if a calendar has that state at any moment of a window, "" if it is always on. Times: epoch s."""
    compiled = state.calendars.get(calendar)
    if compiled is None:
        return ""
    begin = datetime.fromtimestamp(start, zone).replace(tzinfo=None)
    closed = state_at(compiled, begin)
    if closed != ON:
        return closed
    change = next_change(compiled, begin)
    over = datetime.fromtimestamp(end, zone)
    # a window that ends in the repeated hour of a clock change contains that hour once
    last = over.replace(tzinfo=None) + timedelta(hours=over.fold)
    return "" if change is None or change[0] >= last else change[1]
