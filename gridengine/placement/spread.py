"""Spread: the grants of one task, serial or parallel, from the matching instances.

Owns the combination of capacities of cluster, PE, hosts and queues, the master's queue and the allocation rule. Called by
the scheduler and by verify; does not change the ledger: the caller charges the grants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from gridengine.placement.access import users_allowed
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import free_slots, master_lacks, use_refusal
from gridengine.placement.parallel import HostCapacity, allocate, largest_count, max_slots_by_rule, smallest_count
from gridengine.placement.placement_request import Request
from gridengine.placement.quotas import Allowance, claim_of
from gridengine.placement.reasons import Reason
from gridengine.state.bookings import CLUSTER, Holder, holders_at, host_holder, pe_holder
from gridengine.state.configured.objects import ParallelEnvironment
from gridengine.state.jobs import Grant
from gridengine.state.state import State
from gridengine.values.instance_name import host_of
from gridengine.values.ranges import MAX_SLOTS

NO_PE = ParallelEnvironment("", MAX_SLOTS, (), (), "$pe_slots", False, True, "min", False)
"""The PE of a job that requests slots by an allocation rule alone (-alloc; AR-126)."""

OfHost = Callable[[str], list[str]]
SiteOrder = Callable[[ParallelEnvironment, Request, list[str]], list[str]]


class Candidates:
    """Matching, open instances in order of preference; `of_host` gives the instances of one host.

    site_order: the order of a PE that has one of its own (PE-16).
    """

    __slots__ = ("order", "of_host", "site_order")

    def __init__(
        self, order: Callable[[], Iterable[str]], of_host: OfHost, site_order: SiteOrder | None = None
    ) -> None:
        self.order = order
        self.of_host = of_host
        self.site_order = site_order

    @classmethod
    def of(cls, instances: list[str]) -> Candidates:
        """Candidates from a list."""
        hosts: dict[str, list[str]] = {}
        for name in instances:
            hosts.setdefault(host_of(name), []).append(name)
        return cls(lambda: instances, lambda host: hosts.get(host, []))

    def for_pe(self, pe: ParallelEnvironment, request: Request) -> Candidates:
        """The same in the order of a PE."""
        if self.site_order is None or not pe.qsort_args:
            return self
        return Candidates.of(self.site_order(pe, request, list(self.order())))


def place_parallel(
    config_snapshot: PlacementConfig,
    ledger: Ledger,
    request: Request,
    candidates: Candidates,
    why_not: list[Reason] | None = None,
) -> tuple[list[Grant], str]:
    """Grants, the master's first, and the PE; no grants if the job does not fit in any PE: then `why_not` gets the reason of
    each PE.

    Of several PEs that match a wildcard the PE that gives the job most slots counts, of equal PEs the PE with most free
    slots (PE-8).
    """
    usable = _usable_pes(config_snapshot, ledger, request)
    requested = largest_count(request.slot_ranges, MAX_SLOTS)
    best: tuple[list[Grant], str] = ([], "")
    refused: list[Reason] = []
    for pe in usable:
        limit = _limit(config_snapshot, ledger, request, pe)
        if limit < 1 and why_not is None:
            continue
        host_capacities = _HostCapacities(config_snapshot, ledger, request, candidates.for_pe(pe, request), pe.name)
        rule = request.rule or pe.allocation_rule
        granted = _allocate(host_capacities, rule, limit)
        if _slots(granted) > _slots(best[0]):
            best = granted, pe.name
            if _slots(granted) >= requested:
                break
        if not granted and why_not is not None:
            refused += _quota_refusals(config_snapshot, ledger, request, candidates, pe)
            most = max(0, min(limit, max_slots_by_rule(host_capacities.all(), rule)))
            named = Reason("pe_offers", pe.name, number=most)
            refused.append(named if pe.name else Reason("rule_offers", other=rule, number=most))
    if best[0] or why_not is None:
        return best
    if ledger.timeline is not None:
        refusals = (use_refusal(config_snapshot, ledger, request, name) for name in candidates.order())
        refused += dict.fromkeys(reason for reason in refusals if reason is not None and reason.code == "kept")
    names = {pe.name for pe in usable}
    why_not += [Reason("pe_permission", name) for name in request.pes if name not in names] + refused
    return best


def least_slots(state: State, request: Request) -> tuple[int, int]:
    """The slots without which no PE has grants for the job: in all, and on each host that takes part. Bookings do not count."""
    slots = smallest_count(request.slot_ranges)
    rules = [request.rule] if request.rule else [state.pes[name].allocation_rule for name in request.pes]
    of_host = [slots if rule == "$pe_slots" else int(rule) if rule.isdecimal() else 1 for rule in rules]
    return slots, max(1, min(of_host, default=1))


def _quota_refusals(
    config_snapshot: PlacementConfig, ledger: Ledger, request: Request, candidates: Candidates, pe: ParallelEnvironment
) -> list[Reason]:
    """The resource quotas that leave less than the minimum of the job, or nothing of an instance."""
    claim = claim_of(config_snapshot, request, pe.name)
    if claim is None:
        return []
    found = dict.fromkeys(claim.refusal(ledger, request, claim.buckets(name)) for name in candidates.order())
    found[claim.refusal(ledger, request, claim.everywhere, smallest_count(request.slot_ranges))] = None
    return [reason for reason in found if reason is not None]


def _usable_pes(config_snapshot: PlacementConfig, ledger: Ledger, request: Request) -> list[ParallelEnvironment]:
    """Return the PEs that the job's owner may use, first the PEs with most free slots."""
    if not request.pe:
        return [NO_PE]
    pes: list[ParallelEnvironment] = [config_snapshot.state.pes[name] for name in request.pes]
    usable = [pe for pe in pes if users_allowed(request.sets, pe.user_lists, pe.xuser_lists)]
    if len(usable) < 2:
        return usable
    return sorted(usable, key=lambda pe: (ledger.of(pe_holder(pe.name), "slots") - pe.slots, pe.name))


def _limit(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, pe: ParallelEnvironment) -> int:
    """The limit of slots for the job by PE, quotas and cluster (PE-2, RQ-2, CX-39)."""
    left = free_slots(config_snapshot, ledger, request, pe_holder(pe.name))[0] if pe.name else MAX_SLOTS
    claim = claim_of(config_snapshot, request, pe.name)
    if claim is not None:
        left = min(left, claim.free_slots(ledger, request, claim.everywhere))
    return min(left, free_slots(config_snapshot, ledger, request, CLUSTER, master=False)[0])


def grants_fit(config_snapshot: PlacementConfig, ledger: Ledger, request: Request, granted: list[Grant], pe: str) -> bool:
    """Whether earlier computed grants still fit in the ledger: consumables, slots, the PE.

    States and static rules are not checked. The caller charges accepted grants before the next check.
    """
    if pe and free_slots(config_snapshot, ledger, request, pe_holder(pe))[0] < _slots(granted):
        return False
    claim = claim_of(config_snapshot, request, pe)
    if claim is not None and not claim.fits(ledger, request, granted):
        return False
    requested: dict[Holder, int] = {}
    for grant in granted:
        for holder in holders_at(grant.instance):
            requested[holder] = requested.get(holder, 0) + grant.slots
    of_master = holders_at(granted[0].instance)
    return all(
        free_slots(config_snapshot, ledger, request, holder, holder in of_master)[0] >= slots
        for holder, slots in requested.items()
    )


def _allocate(host_capacities: _HostCapacities, rule: str, limit: int) -> list[Grant]:
    """Allocate; if the job has rules for its master, from each possible master's instance in turn."""
    ranges = host_capacities.request.slot_ranges
    if not host_capacities.master_matters:
        return allocate(host_capacities.all(), rule, ranges, limit, host_capacities.allowance())
    best: list[Grant] = []
    requested = largest_count(ranges, limit)
    tried: set[str] = set()
    for master in host_capacities.masters():
        host = host_of(master)
        if host in tried:
            continue
        tried.add(host)
        granted = _from_master(host_capacities, rule, limit, master)
        if granted and granted[0].instance == master and _slots(granted) > _slots(best):
            best = granted
        if best and (rule != "$pe_slots" or _slots(best) >= requested):
            break
    return best


def _from_master(host_capacities: _HostCapacities, rule: str, limit: int, master: str) -> list[Grant]:
    """Allocate with a slot for the master in its instance; the rule gives the other slots, from the most preferred host on.

    Rules with a fixed number of slots for each host count the master's slot among the slots of its host, and so does
    $round_robin if its first slot is in the master's instance. Source: O.
    """
    ranges, allowance, host = host_capacities.request.slot_ranges, host_capacities.allowance(), host_of(master)
    first, in_turn = host_capacities.of_host(host, master), host_capacities.of_host(host).instances[:1]
    if rule not in ("$fill_up", "$round_robin") or (rule == "$round_robin" and [name for name, _ in in_turn] == [master]):
        others = () if rule == "$pe_slots" else (each for each in host_capacities.all() if each.host != host)
        return allocate(chain((first,), others), rule, ranges, limit, allowance)
    if limit < 1:
        return []
    if allowance is not None:
        allowance.take(master, 1)
    left = (each.without(master, first.slots - 1) if each.host == host else each for each in host_capacities.all())
    granted = allocate(left, rule, [(low - 1, high - 1) for low, high in ranges], limit - 1, allowance)
    if not granted and not largest_count(ranges, 1):
        return []
    at_master = 1 + sum(grant.slots for grant in granted if grant.instance == master)
    return [Grant(master, at_master), *(grant for grant in granted if grant.instance != master)]


def _slots(granted: list[Grant]) -> int:
    return sum(grant.slots for grant in granted)


class _HostCapacities:
    """The capacity of each host for one job in one PE, in order of preference. Each host is computed once."""

    __slots__ = ("config_snapshot", "ledger", "request", "candidates", "pe", "master_matters", "claim", "_known")

    def __init__(
        self, config_snapshot: PlacementConfig, ledger: Ledger, request: Request, candidates: Candidates, pe: str
    ) -> None:
        self.config_snapshot, self.ledger, self.request = config_snapshot, ledger, request
        self.candidates, self.pe = candidates, pe
        claim = claim_of(config_snapshot, request, pe)
        self.claim = claim if claim is not None and claim.has_instance_rules else None
        self.master_matters = request.master_queues is not None or any(once == "JOB" for _, once in request.consumed.values())
        self._known: dict[str, HostCapacity] = {}

    def all(self) -> Iterator[HostCapacity]:
        """Yield the capacities of all hosts with free slots, each host once, at the position of its best instance."""
        seen: set[str] = set()
        for name in self.candidates.order():
            host = host_of(name)
            if host not in seen:
                seen.add(host)
                found = self._known.get(host)
                if found is None:
                    found = self._known[host] = self.of_host(host)
                if found.slots > 0:
                    yield found

    def allowance(self) -> Allowance | None:
        """The allowance of quotas with instance rules, None without any."""
        return Allowance(self.claim, self.request, self.ledger) if self.claim is not None else None

    def of_host(self, host: str, master: str = "") -> HostCapacity:
        """The capacity of a host; with `master`, the instance of the master task comes first."""
        names = self.candidates.of_host(host)
        if master:
            names = [master, *(name for name in names if name != master)]
        instances = [(name, slots) for name in names if (slots := self._slots(name, name == master)) > 0]
        most = free_slots(self.config_snapshot, self.ledger, self.request, host_holder(host), master=False)[0]
        return HostCapacity(host, min(most, sum(slots for _, slots in instances)), instances)

    def _slots(self, name: str, master: bool) -> int:
        """Free slots of an instance; an instance that only -masterq names accepts the master task alone (SO -masterq)."""
        instance, config = self.config_snapshot.state.instances[name], self.config_snapshot.state.configs[name]
        if self.pe and self.pe not in config.pe_list:
            return 0
        slots = free_slots(self.config_snapshot, self.ledger, self.request, holders_at(name)[0], master=False)[0]
        if self.claim is not None:
            slots = min(slots, self.claim.free_slots(self.ledger, self.request, self.claim.buckets(name), master=False))
        queues = self.request.hard_queues
        if queues is not None and not queues.matches(instance.queue, instance.host, self.config_snapshot.groups(instance.host)):
            return min(slots, 1) if master else 0
        return slots

    def _by_host(self) -> Iterator[str]:
        """Yield all instances, grouped by host."""
        seen: set[str] = set()
        for name in self.candidates.order():
            host = host_of(name)
            if host not in seen:
                seen.add(host)
                yield from self.candidates.of_host(host)

    def masters(self) -> Iterator[str]:
        """Yield the instances that could run the master task: in -masterq, and with the JOB consumables (CX-38).

        Host by host, in the order of allocation.
        """
        config_snapshot, ledger, request = self.config_snapshot, self.ledger, self.request
        if not free_slots(config_snapshot, ledger, request, CLUSTER)[0]:
            return
        for name in self._by_host():
            instance, (queue, host, _) = config_snapshot.state.instances[name], holders_at(name)
            queues = request.master_queues
            if queues is not None and not queues.matches(instance.queue, instance.host, config_snapshot.groups(instance.host)):
                continue
            if free_slots(config_snapshot, ledger, request, host)[0] and (
                self._slots(name, True)
                and not master_lacks(config_snapshot, ledger, request, instance)
                and free_slots(config_snapshot, ledger, request, queue)[0]
                and (self.claim is None or self.claim.free_slots(ledger, request, self.claim.buckets(name)))
            ):
                yield name
