"""The plan: the resource time line with what is kept for pending jobs (-R y).

Owns what a cycle of the scheduler itself starts and reserves, on top of what the state holds already. Placement sees it
through the ledger like the time line that it extends, so that a job of lower priority gets only what no reservation needs
while it would run: backfilling. Made by `daemons.schedd.cycle`, written by dispatch and by the look-ahead; `last_plan` is that
of the last run, for those who explain. Source: sge_sched_conf(5) max_reservation; SC-7 … SC-9.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from gridengine.placement.ledger import Ledger
from gridengine.placement.timeline import Timeline, still_waits
from gridengine.state.bookings import GLOBAL, pe_key
from gridengine.state.jobs import Grant
from gridengine.state.quotas import Bucket, QuotaUse
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
        self._reserved_quotas: set[Bucket] = set()
        self._kept: dict[str, list[tuple[float, float, str]]] = {}

    def run_for(self, duration: float) -> float:
        """Seconds that a job of this duration keeps its slots."""
        return duration + self.offset

    def start(
        self, granted: list[Grant], charged: Charged, pe: str, duration: float, under: list[QuotaUse], sign: int = 1
    ) -> None:
        """A job starts now, or (`sign` -1) is taken back. under: what it takes of resource quotas."""
        end = self.now + self.run_for(duration)
        for where, name, amount in self._add(self.now, end, granted, charged, pe, sign):
            self._started[where, name] = self._started.get((where, name), 0.0) + amount
        self._add_quotas(self.now, end, under, sign)

    def reserve(
        self, who: str, granted: list[Grant], charged: Charged, pe: str, start: float, duration: float, under: list[QuotaUse]
    ) -> None:
        """A pending job (`who`) is to have these grants from `start` (epoch s) on."""
        end = start + self.run_for(duration)
        added = list(self._add(start, end, granted, charged, pe, 1))
        self._reserved.update(where for where, _, _ in added)
        self._cluster.update(name for where, name, _ in added if where == GLOBAL)
        self._add_quotas(start, end, under, 1)
        self._reserved_quotas.update(bucket for bucket, _, _ in under)
        for host in {grant.host for grant in granted}:
            self._kept.setdefault(host, []).append((start, end, who))

    def _add_quotas(self, begin: float, end: float, under: list[QuotaUse], sign: int) -> None:
        for bucket, name, amount in under:
            self._under_quotas().setdefault(bucket, {}).setdefault(name, []).append((begin, end, sign * amount))

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

    def quota_ahead(self, bucket: Bucket, name: str, duration: float, used: float) -> float:
        if bucket not in self._reserved_quotas:
            return 0.0
        return max(0.0, self.quota_peak(bucket, name, self.now, self.now + self.run_for(duration)) - used)

    def keepers(self, host: str) -> Iterator[tuple[float, float, str]]:
        yield from super().keepers(host)
        yield from self._kept.get(host, ()) if host else chain.from_iterable(self._kept.values())

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


def last_plan(state: State, now: float, but: int) -> Plan:
    """What the last run keeps for pending jobs but this one, and what advance reservations hold. now: epoch seconds."""
    plan = Plan(state, now)
    for one in state.job_reservations:
        if one.job_id == but or not still_waits(state, one):
            continue
        job = state.jobs[one.job_id]
        charged = {name: (float(amount), state.per_job(name)) for name, amount in one.resources.items()}
        under = list(state.quotas.uses(job, one.granted, one.pe, one.resources))
        duration = one.end_time - one.start_time - plan.offset
        plan.reserve(f"job {job.label(one.task_id)}", one.granted, charged, one.pe, one.start_time, duration, under)
    return plan
