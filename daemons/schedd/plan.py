"""The plan: the resource time line of one cycle that may reserve for pending jobs.

Owns what the cycle itself starts and reserves, on top of what the state holds already. Placement sees it through the
ledger like the time line that it extends, so that a job of lower priority gets only what no reservation needs while it
would run: backfilling. Made by `daemons.schedd.cycle`, written by dispatch and by the look-ahead. Source:
sge_sched_conf(5) max_reservation; SC-7 … SC-9.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridengine.placement.ledger import Ledger
from gridengine.placement.timeline import Timeline
from gridengine.state.bookings import GLOBAL, pe_key
from gridengine.state.jobs import Grant
from gridengine.state.state import State
from gridengine.units import INFINITY

Charged = dict[str, tuple[float, bool]]
"""Consumable -> (amount, booked once a job), slots not among them."""
Use = tuple[str, str, float]
"""(object as the time line names it, consumable, amount)."""


class Plan(Timeline):
    """A time line to which the grants of a cycle are added."""

    def __init__(self, state: State, now: float) -> None:
        super().__init__(state, now)
        self._started: dict[tuple[str, str], float] = {}
        self._reserved: set[str] = set()
        self._cluster: set[str] = set()
        self._ends: set[float] | None = None
        self._own_ends: set[float] = set()

    def run_for(self, duration: float) -> float:
        """Seconds that a job of this duration keeps its slots."""
        return duration + self.offset

    def start(self, granted: list[Grant], charged: Charged, pe: str, duration: float, sign: int = 1) -> None:
        """A job starts now, or (`sign` -1) is taken back."""
        for where, name, amount in self._add(self.now, self.now + self.run_for(duration), granted, charged, pe, sign):
            self._started[where, name] = self._started.get((where, name), 0.0) + amount

    def reserve(self, granted: list[Grant], charged: Charged, pe: str, start: float, duration: float) -> None:
        """A pending job is to have these grants from `start` (epoch s) on."""
        added = list(self._add(start, start + self.run_for(duration), granted, charged, pe, 1))
        self._reserved.update(where for where, _, _ in added)
        self._cluster.update(name for where, name, _ in added if where == GLOBAL)

    def _add(self, begin: float, end: float, granted: list[Grant], charged: Charged, pe: str, sign: int) -> Iterator[Use]:
        if end < INFINITY:
            self._own_ends.add(end)
        for where, name, amount in uses(self.state, granted, charged, pe):
            self._at(where).setdefault(name, []).append((begin, end, sign * amount))
            yield where, name, sign * amount

    # --- what placement asks -----------------------------------------------------------------------------

    def touches(self, where: str) -> bool:
        return where in self._reserved or super().touches(where)

    def touches_cluster(self, name: str) -> bool:
        return name in self._cluster or super().touches_cluster(name)

    def ahead(self, where: str, name: str, duration: float, used: float) -> float:
        """As in the time line; what this cycle started is in use as well, which the ledger counts on its own."""
        return super().ahead(where, name, duration, used + self._started.get((where, name), 0.0))

    def pe_ahead(self, pe: str, duration: float, used: float) -> float:
        return super().pe_ahead(pe, duration, used + self._started.get((pe_key(pe), "slots"), 0.0))

    def ends(self) -> Iterator[float]:
        """When anything ends that has an end: what the state holds, and what the cycle started and reserved."""
        if self._ends is None:
            self._ends = {end for end in super().ends() if end < INFINITY}
        yield from self._ends | self._own_ends


def uses(state: State, granted: list[Grant], charged: Charged, pe: str) -> Iterator[Use]:
    """What grants take of each object, its slots included."""
    scratch = Ledger(state, empty=True)
    scratch.charge(granted, charged, pe)
    return scratch.own.amounts()
