"""Categories: jobs that placement cannot tell apart, with the places that suit them kept over cycles.

Owns what is known of a category for one configuration, and how one more task of it is placed. A place that has no
room for it is not looked at again before something changed there (CX-62 … CX-64), so that a category that cannot
run costs nothing however many jobs it has (CX-65).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from daemons.schedd.board import Board, BoardPlace, Group
from daemons.schedd.pool import Entry, Pool
from daemons.schedd.queue_order import site_order
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import (
    host_refusal,
    instance_refusal,
    is_reported,
    load_refusal,
    queue_refusal,
    room,
    soft_violations,
    unknown_resources,
)
from gridengine.placement.quotas import claim_of
from gridengine.placement.requests import Demand, Request
from gridengine.placement.site import Site
from gridengine.placement.spread import Candidates, place_parallel
from gridengine.placement.urgency import resource_urgency
from gridengine.state.bookings import CLUSTER
from gridengine.state.jobs import Grant, Job
from gridengine.units import INFINITY

PoolKey = tuple[tuple[int, tuple[int, ...]], ...]
"""(number of a group, positions of the kinds of hosts in it that suit) for each group that suits."""


class Category:
    """One category for one configuration.

    urgency: rrcontr of its jobs. stuck: nothing could be placed, and nothing has happened since that could help.
    reserves: its jobs may get a reservation: -R y, not -now y, a run time that ends, max_reservation above 0 (SC-7).
    """

    __slots__ = (
        *("board", "site", "request", "pool", "stuck", "urgency", "reserves"),
        *("_shared", "_missing", "_cluster_limited", "_claim", "_kept_by_quotas"),
    )

    def __init__(self, site: Site, board: Board, job: Job, pools: dict[PoolKey, Pool]) -> None:
        self.board, self.site = board, site
        self.request = Request.of(site, job)
        self.urgency = resource_urgency(site.state, self.request)
        self.stuck = False
        self.reserves = (
            board.site.scheduler.max_reservation > 0 and job.reserve and not job.now and self.request.duration < INFINITY
        )
        cluster = site.levels[CLUSTER]
        self._cluster_limited = bool(cluster.consumables or cluster.exclusives)
        self._claim = claim_of(site, self.request)
        self._kept_by_quotas: list[BoardPlace] = []
        self._missing: dict[tuple[int, int], list[Demand]] = {}
        self._shared = False
        self.pool = self._find_pool(pools)

    def _find_pool(self, pools: dict[PoolKey, Pool]) -> Pool:
        """A pool that other categories with the same places have already, or a new one."""
        request, board = self.request, self.board
        key = self._suiting_kinds() if host_refusal(self.site, request, CLUSTER) is None else ()
        common = pools.get(key)
        if common is None:
            groups = [(board.groups[number], kinds) for number, kinds in key]
            places = [place for group, kinds in groups for kind in kinds for place in group.kinds[kind][1]]
            common = pools[key] = Pool({place.name: place for place in places}, board.rank)
        soft = bool(request.soft or request.soft_queues)
        if soft or request.hosts or request.hard_queues is not None:
            suiting = {name: place for name, place in common.places.items() if self._instance_suits(place)}
            return Pool(suiting, board.rank, self._violations if soft else None)
        self._shared = True
        return common

    def _suiting_kinds(self) -> PoolKey:
        """One look at each queue and at each kind of hosts in it."""
        key: list[tuple[int, tuple[int, ...]]] = []
        for number, group in enumerate(self.board.groups):
            if queue_refusal(self.request, group.queue, group.config, group.level) is None:
                kinds = tuple(kind for kind in range(len(group.kinds)) if self._host_kind_suits(group, kind))
                if kinds:
                    key.append((number, kinds))
        return tuple(key)

    def _host_kind_suits(self, group: Group, kind: int) -> bool:
        level, places = group.kinds[kind]
        if host_refusal(self.site, self.request, places[0].host.holder) is not None:
            return False
        missing = unknown_resources(self.site, self.request.hard, level, group.level)
        if missing:
            self._missing[id(group.level), id(level)] = missing
        return True

    def _instance_suits(self, place: BoardPlace) -> bool:
        instance = self.site.state.instances[place.name]
        return instance_refusal(self.site, self.request, instance, place.config) is None

    def _violations(self, place: BoardPlace) -> int:
        return soft_violations(self.site, Ledger(self.site.state), self.request, place.name)

    def offer(self, places: Iterable[BoardPlace]) -> None:
        """These places may have room now: for a category with a pool of its own."""
        if not self._shared and self.pool.offer(places):
            self.stuck = False

    def reorder(self, places: Iterable[BoardPlace]) -> None:
        """These places have come to be preferred: for a category with a pool of its own."""
        if not self._shared:
            self.pool.offer(places)

    def unstick(self) -> None:
        """Something was given back: places that quotas kept from the category may do again."""
        self.stuck = False
        if self._kept_by_quotas:
            places, self._kept_by_quotas = self._kept_by_quotas, []
            self.offer(places)

    def place(self, ledger: Ledger) -> tuple[list[Grant], str]:
        """Grants for one more task of the category and its PE; no grants: it is stuck."""
        granted: list[Grant] = []
        pe = ""
        if not self.request.hard or load_refusal(self.site, ledger, self.request, CLUSTER) is None:
            if self.request.parallel:
                granted, pe = self._place_parallel(ledger)
            else:
                granted = self._place_serial(ledger)
        if not granted:
            self.stuck = True
        return granted, pe

    def _place_serial(self, ledger: Ledger) -> list[Grant]:
        if self._cluster_limited and not room(self.site, ledger, self.request, CLUSTER)[0]:
            return []
        claim = self._claim
        if claim is not None and not claim.room(ledger, self.request, claim.everywhere):
            return []
        for place in self.pool.best():
            if claim is not None and not claim.room(ledger, self.request, claim.buckets(place.name)):
                self._kept_by_quotas += () if self._shared else (place,)
            elif self.has_room(place, ledger):
                return [Grant(place.name, 1)]
            if self._shared:
                break
            self.pool.drop()
        else:
            return []
        self.pool, self._shared = self.pool.copy(), False
        return self._place_serial(ledger)

    def has_room(self, place: BoardPlace, ledger: Ledger) -> bool:
        """Whether an open place with a free slot can take a (serial) task: load, and consumables of host and queue."""
        request, site = self.request, self.site
        if not self._suits_now(place, ledger):
            return False
        reserved = ledger.line is not None and ledger.line.keeps(place.host.holder)
        if (place.host.limited or reserved) and not room(site, ledger, request, place.host.holder)[0]:
            return False
        return not (place.limited or reserved) or room(site, ledger, request, place.holder)[0] > 0

    def _suits_now(self, place: BoardPlace, ledger: Ledger) -> bool:
        """Load, and the calendar if the scheduler looks ahead: the job must have ended before the next off time (CA-8)."""
        windows = self.board.windows
        if windows is not None and not windows.leave_alone(place.config, self.request.duration):
            return False
        return self.load_suits(place, ledger)

    def load_suits(self, place: BoardPlace, ledger: Ledger) -> bool:
        """Whether the load values that a job asks for are there and suit."""
        if not self.request.hard:
            return True
        host = place.host
        if load_refusal(self.site, ledger, self.request, host.holder):
            return False
        for demand in self._missing.get((id(place.level), id(host.level)), ()):
            if not is_reported(ledger, host.name, demand):
                return False
        return True

    def _place_parallel(self, ledger: Ledger) -> tuple[list[Grant], str]:
        """Takes places off the heap only as far as the allocation rule looks, and puts them back."""
        taken: list[Entry] = []
        suiting: list[str] = []
        known: set[str] = set()

        def order() -> Iterator[str]:
            best, number = self.pool.best(), 0
            while True:
                while number < len(suiting):  # also what the look for slots has found beside the look for a master
                    yield suiting[number]
                    number += 1
                for place in best:
                    taken.append(self.pool.drop())
                    if place.name not in known and self._suits_now(place, ledger):
                        known.add(place.name)
                        suiting.append(place.name)
                        break
                else:
                    return

        def of_host(host: str) -> list[str]:
            places = [place for place in self.board.hosts[host].places if place.name in self.pool.places]
            places = [p for p in places if p.open and p.free > 0 and self._suits_now(p, ledger)]
            return [place.name for place in sorted(places, key=self.board.rank)]

        granted, pe = place_parallel(self.site, ledger, self.request, Candidates(order, of_host, site_order))
        for entry in taken:
            self.pool.put_back(entry)
        return granted, pe
