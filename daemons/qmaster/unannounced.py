"""What is on this disk and may not be announced yet, since shadows lack it; in the order of the commits.

Owns that queue alone. Exists only where several hosts may be the master. Called by `master`. Source: adr/0146.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from daemons.qmaster.spooling.spool import Spool, Transaction


class Written(NamedTuple):
    """What one flush has written. `commit`: the spool's, by which all of it is there; `rows`: the last ones for the accounting
    and the reporting file."""

    commit: int
    revision: int
    transactions: list[Transaction]
    rows: tuple[int, int]


class Unannounced:
    """`allowed()`: the commit of the spool up to which everything may be announced."""

    def __init__(self, spool: Spool, allowed: Callable[[], int]) -> None:
        self._spool, self._allowed = spool, allowed
        self._written: deque[Written] = deque()

    def __len__(self) -> int:
        return len(self._written)

    def add(self, revision: int, transactions: list[Transaction]) -> Written:
        """Transactions up to a revision are on the disk."""
        rows = self._spool.accounted.last(), self._spool.last_record()
        self._written.append(Written(self._spool.last_commit, revision, transactions, rows))
        return self._written[-1]

    def due(self) -> Iterator[Written]:
        """Take out what may be announced by now, in order."""
        allowed = self._allowed() if self._written else 0
        while self._written and self._written[0].commit <= allowed:
            yield self._written.popleft()
