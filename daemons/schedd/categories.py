"""Categories: jobs that placement cannot distinguish, with their candidate instances, kept over cycles.

Owns the data of a category for one configuration, and the placement of one more task of it. An instance without capacity for
the category is not examined again before something has changed there (CX-62 … CX-64), so a category that cannot run costs
nothing, however many jobs it has (CX-65).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from daemons.schedd.candidate_heap import CandidateHeap, HeapEntry, Needs
from daemons.schedd.instance_table import InstanceGroup, InstanceRow, InstanceTable
from daemons.schedd.queue_order import site_order
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.demand import Demand
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import (
    free_slots,
    host_refusal,
    instance_refusal,
    is_reported,
    load_refusal,
    queue_refusal,
    soft_violations,
    unknown_resources,
)
from gridengine.placement.placement_request import Request
from gridengine.placement.quotas import claim_of
from gridengine.placement.spread import Candidates, least_slots, place_parallel
from gridengine.placement.urgency import resource_urgency
from gridengine.state.bookings import CLUSTER
from gridengine.state.jobs import Grant, Job
from gridengine.values.units import INFINITY

CandidateHeapKey = tuple[tuple[int, tuple[int, ...]], ...]
"""(number of a group, positions of its matching kinds of hosts) for each group that matches."""


class Category:
    """One category for one configuration.

    urgency: rrcontr of its jobs. is_blocked: nothing could be placed, and nothing has happened since that could help.
    reserves: its jobs may get a reservation: -R y, not -now y, a limited run time, max_reservation above 0 (SC-7).
    """

    __slots__ = (
        "instance_table", "config_snapshot", "request", "candidate_heap", "is_blocked", "urgency", "reserves",
        "_is_common", "_is_own", "_missing", "_cluster_limited", "_claim", "_blocked_by_quotas", "_least",
    )

    def __init__(
        self,
        config_snapshot: PlacementConfig,
        instance_table: InstanceTable,
        job: Job,
        candidate_heaps: dict[CandidateHeapKey, CandidateHeap],
    ) -> None:
        self.instance_table, self.config_snapshot = instance_table, config_snapshot
        self.request = Request.of(config_snapshot, job)
        self.urgency = resource_urgency(config_snapshot.state, self.request)
        self.is_blocked = False
        may_reserve = config_snapshot.scheduler.max_reservation > 0
        self.reserves = may_reserve and job.reserve and not job.now and self.request.duration < INFINITY
        cluster = config_snapshot.capacities[CLUSTER]
        self._cluster_limited = bool(cluster.consumables or cluster.exclusives)
        self._claim = claim_of(config_snapshot, self.request)
        self._blocked_by_quotas: list[InstanceRow] = []
        self._least = least_slots(config_snapshot.state, self.request)
        self._missing: dict[tuple[int, int], list[Demand]] = {}
        self._is_common, self._is_own = False, True
        self.candidate_heap = self._find_candidate_heap(candidate_heaps)

    def _find_candidate_heap(self, candidate_heaps: dict[CandidateHeapKey, CandidateHeap]) -> CandidateHeap:
        """Return the heap of other categories with the same candidates, or a new heap."""
        request, instance_table = self.request, self.instance_table
        key = self._suiting_kinds() if host_refusal(self.config_snapshot, request, CLUSTER) is None else ()
        common = candidate_heaps.get(key)
        if common is None:
            groups = [(instance_table.groups[number], kinds) for number, kinds in key]
            rows = [row for group, kinds in groups for kind in kinds for row in group.kinds[kind][1]]
            common = candidate_heaps[key] = CandidateHeap({row.name: row for row in rows}, instance_table.rank)
        soft = bool(request.soft or request.soft_queues)
        if soft or request.hosts or request.hard_queues is not None:
            suiting = {name: row for name, row in common.rows.items() if self._instance_suits(row)}
            return CandidateHeap(suiting, instance_table.rank, self._violations if soft else None)
        self._is_common, self._is_own = True, False
        return common

    def _part_from_common_heap(self) -> None:
        """Continue with a heap that has no more than the candidates that this category can use."""
        self._is_common = False
        if self._claim is not None:
            self._is_own, self.candidate_heap = True, self.candidate_heap.copy()
        else:
            self.candidate_heap = self.candidate_heap.for_needs(self._needs())

    def _needs(self) -> Needs:
        """What `has_capacity` depends on: amounts of consumables and requests for load values, but not limits such as h_rt, on
        which queues have decided; the run time, where something may be reserved ahead or be closed later."""
        config_snapshot, decided = self.config_snapshot, self.instance_table.decided
        is_timed = config_snapshot.scheduler.max_reservation > 0 or bool(config_snapshot.state.reservations)
        open_demands = [each for each in self.request.hard if each.entry.is_consumable or each.name not in decided]
        near = sorted(self.request.unit_demands.near)
        return (self.request.duration if is_timed else 0.0, *near, *((demand.name, demand.text) for demand in open_demands))

    def _suiting_kinds(self) -> CandidateHeapKey:
        """Examine each queue once, and each kind of hosts in it."""
        key: list[tuple[int, tuple[int, ...]]] = []
        for number, group in enumerate(self.instance_table.groups):
            if queue_refusal(self.request, group.queue, group.config, group.capacity) is None:
                kinds = tuple(kind for kind in range(len(group.kinds)) if self._host_kind_suits(group, kind))
                if kinds:
                    key.append((number, kinds))
        return tuple(key)

    def _host_kind_suits(self, group: InstanceGroup, kind: int) -> bool:
        capacity, rows = group.kinds[kind]
        if host_refusal(self.config_snapshot, self.request, rows[0].host.holder) is not None:
            return False
        missing = unknown_resources(self.config_snapshot, self.request.hard, capacity, group.capacity)
        if missing:
            self._missing[id(group.capacity), id(capacity)] = missing
        return True

    def _instance_suits(self, row: InstanceRow) -> bool:
        instance = self.config_snapshot.state.instances[row.name]
        return instance_refusal(self.config_snapshot, self.request, instance, row.config) is None

    def _violations(self, row: InstanceRow) -> int:
        return soft_violations(self.config_snapshot, Ledger(self.config_snapshot.state), self.request, row.name)

    def add_candidates(self, rows: Iterable[InstanceRow]) -> None:
        """Add rows that may have capacity now; a heap that is shared has them already."""
        if self.candidate_heap.add_candidates(rows) if self._is_own else not self._is_common and self.candidate_heap.heap:
            self.is_blocked = False

    def reorder(self, rows: Iterable[InstanceRow]) -> None:
        """Update rows whose rank has improved; a heap that is shared has them already."""
        if self._is_own:
            self.candidate_heap.add_candidates(rows)

    def unblock(self) -> None:
        """Something was released: instances that quotas refused may be usable again."""
        self.is_blocked = False
        if self._blocked_by_quotas:
            rows, self._blocked_by_quotas = self._blocked_by_quotas, []
            self.add_candidates(rows)

    def place(self, ledger: Ledger) -> tuple[list[Grant], str]:
        """Grants for one more task of the category and its PE; without grants the category is blocked."""
        granted: list[Grant] = []
        pe = ""
        if not self.request.hard or load_refusal(self.config_snapshot, ledger, self.request, CLUSTER) is None:
            if self.request.parallel:
                granted, pe = self._place_parallel(ledger)
            else:
                granted = self._place_serial(ledger)
        if not granted:
            self.is_blocked = True
        return granted, pe

    def _place_serial(self, ledger: Ledger) -> list[Grant]:
        if self._cluster_limited and not free_slots(self.config_snapshot, ledger, self.request, CLUSTER)[0]:
            return []
        claim = self._claim
        if claim is not None and not claim.free_slots(ledger, self.request, claim.everywhere):
            return []
        for row in self.candidate_heap.best():
            if claim is not None and not claim.free_slots(ledger, self.request, claim.buckets(row.name)):
                self._blocked_by_quotas += () if self._is_common else (row,)
            elif self.has_capacity(row, ledger):
                return [Grant(row.name, 1)]
            if self._is_common:
                break
            self.candidate_heap.drop()
        else:
            return []
        self._part_from_common_heap()
        return self._place_serial(ledger)

    def has_capacity(self, row: InstanceRow, ledger: Ledger) -> bool:
        """Whether an open instance with a free slot can take a (serial) task: load, and consumables of host and queue."""
        request, config_snapshot, host = self.request, self.config_snapshot, row.host
        if not self._suits_now(row, ledger):
            return False
        reserved = ledger.timeline is not None and ledger.timeline.is_reserved(host.holder)
        if (host.has_consumables or reserved) and not free_slots(config_snapshot, ledger, request, host.holder)[0]:
            return False
        return not (row.has_consumables or reserved) or free_slots(config_snapshot, ledger, request, row.holder)[0] > 0

    def _suits_now(self, row: InstanceRow, ledger: Ledger) -> bool:
        """Check load, and the calendar if the scheduler makes reservations: the job must end before the next off time (CA-8)."""
        windows = self.instance_table.windows
        if windows is not None and not windows.is_on_during(row.config, self.request.duration):
            return False
        return self.load_suits(row, ledger)

    def load_suits(self, row: InstanceRow, ledger: Ledger) -> bool:
        """Whether the requested load values are reported and match."""
        if not self.request.hard:
            return True
        host = row.host
        if load_refusal(self.config_snapshot, ledger, self.request, host.holder):
            return False
        for demand in self._missing.get((id(row.capacity), id(host.capacity)), ()):
            if not is_reported(ledger, host.name, demand):
                return False
        return True

    def _place_parallel(self, ledger: Ledger) -> tuple[list[Grant], str]:
        """Takes rows off the heap only as far as the allocation rule needs them, and puts them back."""
        if not self.candidate_heap.has_slots(*self._least):
            return [], ""
        taken: list[HeapEntry] = []
        suiting: list[str] = []
        known: set[str] = set()

        def order() -> Iterator[str]:
            best, number = self.candidate_heap.best(), 0
            while True:
                while number < len(suiting):  # also candidates of another iteration (for slots, or for a master)
                    yield suiting[number]
                    number += 1
                for row in best:
                    taken.append(self.candidate_heap.drop())
                    if row.name not in known and self._suits_now(row, ledger):
                        known.add(row.name)
                        suiting.append(row.name)
                        break
                else:
                    return

        def of_host(host: str) -> list[str]:
            rows = [row for row in self.instance_table.hosts[host].rows if row.name in self.candidate_heap.rows]
            rows = [row for row in rows if row.open and row.free > 0 and self._suits_now(row, ledger)]
            return [row.name for row in sorted(rows, key=self.instance_table.rank)]

        granted, pe = place_parallel(self.config_snapshot, ledger, self.request, Candidates(order, of_host, site_order))
        for entry in taken:
            self.candidate_heap.put_back(entry)
        return granted, pe
