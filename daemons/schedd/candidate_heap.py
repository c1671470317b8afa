"""Candidate heaps: the queue instances that match the same categories and have free slots, best rank first.

Owns the heap and its updates. Heaps are copy-on-write: categories with the same candidates share a heap until a candidate
has free slots that one of the categories cannot use; that category continues with a copy, which it shares with the categories
that have the same needs of free resources and load. Called by `daemons.schedd.categories` and the view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace

from daemons.schedd.instance_table import InstanceRow, Rank

Violations = Callable[[InstanceRow], int]
Needs = tuple[object, ...]
"""What decides whether a candidate with a free slot is usable; equal for categories that can use the same candidates."""
HeapEntry = tuple[int, Rank, InstanceRow]


class CandidateHeap:
    """`rows`: instance -> row, all that match. `heap`: the rows with free slots, by soft violations and rank.

    A row whose rank got worse is moved when it reaches the top; a row whose rank improved must be added again. A row may be
    in the heap twice: that costs one comparison more, the order stays correct. `by_needs`: the copies without the candidates that
    categories of these needs cannot use.
    """

    __slots__ = ("rows", "heap", "rank", "violations", "by_needs")

    def __init__(
        self, rows: dict[str, InstanceRow], rank: Callable[[InstanceRow], Rank], violations: Violations | None = None
    ) -> None:
        self.rows = rows
        self.rank = rank
        self.violations = violations
        self.by_needs: dict[Needs, CandidateHeap] = {}
        self.heap: list[HeapEntry] = []
        self.add_candidates([row for row in rows.values() if row.open and row.free > 0])

    def copy(self) -> CandidateHeap:
        """An independent heap of the same rows."""
        made = CandidateHeap.__new__(CandidateHeap)
        made.rows, made.rank, made.violations, made.heap = self.rows, self.rank, self.violations, self.heap.copy()
        made.by_needs = {}
        return made

    def for_needs(self, needs: Needs) -> CandidateHeap:
        """The copy that categories of these needs share."""
        if needs not in self.by_needs:
            self.by_needs[needs] = self.copy()
        return self.by_needs[needs]

    def forget_copies(self, in_use: set[int]) -> None:
        """Keep only the copies with these identities."""
        self.by_needs = {needs: copy for needs, copy in self.by_needs.items() if id(copy) in in_use}

    def add_candidates(self, rows: Iterable[InstanceRow]) -> bool:
        """Add rows that may have free slots now, to the copies as well. Returns whether any of them is a candidate."""
        for copy in self.by_needs.values():
            copy.add_candidates(rows)
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
        """Yield the best row with a free slot, repeatedly: the caller drops it, changes it, or stops."""
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

    def has_slots(self, slots: int, of_host: int) -> bool:
        """Whether the rows may have so many free slots, on hosts with at least `of_host` each: a quick look before a placement
        that examines each host. A yes may be wrong: a row may be in the heap twice, and its host counts as a whole."""
        for _, _, row in self.heap:
            if row.open and row.free > 0 and (of_host == 1 or row.host.free_slots() >= of_host):
                slots -= row.free
                if slots <= 0:
                    return True
        return False

    def drop(self) -> HeapEntry:
        """Remove the row that `best` has yielded from the heap."""
        return heappop(self.heap)

    def put_back(self, entry: HeapEntry) -> None:
        heappush(self.heap, entry)
