"""Pools: places that suit the same categories, ordered by rank, without those that have no room.

Owns the heap and its upkeep. Categories with the same places share a pool until one of them meets a place that has
room, but not for it: that one goes on with a copy. Called by `daemons.schedd.categories` and the view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace

from daemons.schedd.instance_table import InstanceRow, Rank

Violations = Callable[[InstanceRow], int]
HeapEntry = tuple[int, Rank, InstanceRow]


class CandidateHeap:
    """`rows`: instance -> place, all that suit. `heap`: those with room, by soft violations and rank.

    A place that got worse is put right when it comes up; one that got better must be offered again. A place may be in
    the heap twice: that costs a look, never a wrong order.
    """

    __slots__ = ("places", "heap", "rank", "violations")

    def __init__(
        self, rows: dict[str, InstanceRow], rank: Callable[[InstanceRow], Rank], violations: Violations | None = None
    ) -> None:
        self.rows = rows
        self.rank = rank
        self.violations = violations
        self.heap: list[HeapEntry] = []
        self.add_candidates([row for row in rows.values() if row.open and row.free > 0])

    def copy(self) -> CandidateHeap:
        """A pool of the same places that loses and gains members on its own."""
        made = CandidateHeap.__new__(CandidateHeap)
        made.rows, made.rank, made.violations, made.heap = self.rows, self.rank, self.violations, self.heap.copy()
        return made

    def add_candidates(self, rows: Iterable[InstanceRow]) -> bool:
        """These places may have room now; whether any of them is in the pool."""
        members = [row for row in rows if row.name in self.rows]
        if len(members) + len(self.heap) > 2 * len(self.rows) + 16:
            members = list({row.index: row for row in (*(entry[2] for entry in self.heap), *members)}.values())
            self.heap = []
        if len(members) > len(self.heap):
            self.heap.extend([self.entry(row) for row in members])
            heapify(self.heap)
        else:
            for row in members:
                heappush(self.heap, self.entry(row))
        return bool(members)

    def entry(self, row: InstanceRow) -> HeapEntry:
        return (self.violations(row) if self.violations else 0, self.rank(row), row)

    def best(self) -> Iterator[InstanceRow]:
        """The best place with a free slot, again and again: the caller drops it, or changes it, or stops."""
        heap, rank, violations = self.heap, self.rank, self.violations
        while heap:
            soft, known, row = heap[0]
            if not row.open or row.free <= 0:
                heappop(heap)
                continue
            now = rank(row)
            if now > known or (violations and violations(row) > soft):
                heapreplace(heap, self.entry(row))
                continue
            yield row

    def drop(self) -> HeapEntry:
        """Take the place that `best` gave out of the heap."""
        return heappop(self.heap)

    def put_back(self, entry: HeapEntry) -> None:
        heappush(self.heap, entry)
