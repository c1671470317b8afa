"""Pools: places that suit the same categories, ordered by rank, without those that have no room.

Owns the heap and its upkeep. Categories with the same places share a pool until one of them meets a place that has
room, but not for it: that one goes on with a copy. Called by `daemons.schedd.categories` and the view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace

from daemons.schedd.board import BoardPlace, Rank

Violations = Callable[[BoardPlace], int]
Entry = tuple[int, Rank, BoardPlace]


class Pool:
    """`places`: instance -> place, all that suit. `heap`: those with room, by soft violations and rank.

    A place that got worse is put right when it comes up; one that got better must be offered again. A place may be in
    the heap twice: that costs a look, never a wrong order.
    """

    __slots__ = ("places", "heap", "rank", "violations")

    def __init__(
        self, places: dict[str, BoardPlace], rank: Callable[[BoardPlace], Rank], violations: Violations | None = None
    ) -> None:
        self.places = places
        self.rank = rank
        self.violations = violations
        self.heap: list[Entry] = []
        self.offer([place for place in places.values() if place.open and place.free > 0])

    def copy(self) -> Pool:
        """A pool of the same places that loses and gains members on its own."""
        made = Pool.__new__(Pool)
        made.places, made.rank, made.violations, made.heap = self.places, self.rank, self.violations, self.heap.copy()
        return made

    def offer(self, places: Iterable[BoardPlace]) -> bool:
        """These places may have room now; whether any of them is in the pool."""
        mine = [place for place in places if place.name in self.places]
        if len(mine) + len(self.heap) > 2 * len(self.places) + 16:
            mine = list({place.index: place for place in (*(entry[2] for entry in self.heap), *mine)}.values())
            self.heap = []
        if len(mine) > len(self.heap):
            self.heap.extend([self.entry(place) for place in mine])
            heapify(self.heap)
        else:
            for place in mine:
                heappush(self.heap, self.entry(place))
        return bool(mine)

    def entry(self, place: BoardPlace) -> Entry:
        return (self.violations(place) if self.violations else 0, self.rank(place), place)

    def best(self) -> Iterator[BoardPlace]:
        """The best place with a free slot, again and again: the caller drops it, or changes it, or stops."""
        heap, rank, violations = self.heap, self.rank, self.violations
        while heap:
            soft, known, place = heap[0]
            if not place.open or place.free <= 0:
                heappop(heap)
                continue
            now = rank(place)
            if now > known or (violations and violations(place) > soft):
                heapreplace(heap, self.entry(place))
                continue
            yield place

    def drop(self) -> Entry:
        """Take the place that `best` gave out of the heap."""
        return heappop(self.heap)

    def put_back(self, entry: Entry) -> None:
        heappush(self.heap, entry)
