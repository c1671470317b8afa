"""The queue of transactions that are on this disk but not yet announced, because shadows lack them; in the order of the
commits.

Owns that queue only. Exists only in a cell with several candidate hosts. Called by `master`. Source: adr/0146.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.transaction import Transaction


class WrittenBatch(NamedTuple):
    """The `transactions` written by one flush. `commit`: the commit of the spool that completes them; `rows`: the last rows for
    the accounting and the reporting file."""

    commit: int
    revision: int
    transactions: list[Transaction]
    rows: tuple[int, int]


class ReplicationQueue:
    """`announceable_commit()`: the commit of the spool up to which everything may be announced."""

    def __init__(self, spool: Spool, announceable_commit: Callable[[], int]) -> None:
        self._spool, self._announceable_commit = spool, announceable_commit
        self._batches: deque[WrittenBatch] = deque()

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, revision: int, transactions: list[Transaction]) -> WrittenBatch:
        """Add transactions up to a revision, which are on the disk."""
        rows = self._spool.accounted.last(), self._spool.last_record()
        self._batches.append(WrittenBatch(self._spool.last_commit, revision, transactions, rows))
        return self._batches[-1]

    def due(self) -> Iterator[WrittenBatch]:
        """Take out the batches that may be announced now, in order."""
        announceable_commit = self._announceable_commit() if self._batches else 0
        while self._batches and self._batches[0].commit <= announceable_commit:
            yield self._batches.popleft()
