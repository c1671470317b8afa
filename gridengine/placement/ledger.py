"""The ledger: what is in use and what hosts report, as one decision sees it.

Owns the sum of the state's bookings and of what the decision itself has given away so far. Must not change the
state. Made by the scheduler for each cycle (it writes its grants here), by the qmaster for each question.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from gridengine.load_values import STATIC_LOAD
from gridengine.placement.timeline import Timeline
from gridengine.placement.values import Value, reported_value, whole
from gridengine.state.bookings import GLOBAL, Bookings
from gridengine.state.configured.objects import ComplexEntry
from gridengine.state.jobs import Grant
from gridengine.state.quotas import Bucket, QuotaUse
from gridengine.state.state import State

_NOTHING: dict[str, float] = {}


class Ledger:
    """Use and load of one decision.

    empty: as if nothing ran and no load were known but the static one (`-w e|v`). `corrections`: host -> number of
    recently started jobs, each decayed to 0..1, that `adjustments` (load name -> amount) are added for (LS-6).
    `timeline`: what advance reservations hold from now on, None if that does not matter. `within(id)`: the ledger of what
    is in use inside a reservation.
    """

    __slots__ = ("state", "empty", "bookings", "own", "corrections", "adjustments", "timeline", "_within", "own_quotas")

    def __init__(self, state: State, empty: bool = False, adjustments: dict[str, float] | None = None) -> None:
        self.state = state
        self.empty = empty
        self.bookings = Bookings() if empty else state.bookings
        self.own = Bookings()
        self.adjustments = adjustments or {}
        self.corrections: dict[str, float] = {}
        self.timeline: Timeline | None = None
        self._within: dict[int, Ledger] = {}
        self.own_quotas: dict[Bucket, dict[str, float]] = {}

    def within(self, ar_id: int) -> Ledger:
        """The ledger of an advance reservation: what its own jobs use of it; loads are those of the cluster (AR-92)."""
        found = self._within.get(ar_id)
        if found is None:
            found = self._within[ar_id] = Ledger(self.state, self.empty)
            if not self.empty:
                found.bookings = self.state.reserved.used[ar_id]
        return found

    def ahead(self, where: str, name: str, duration: float) -> float:
        """What advance reservations need, beyond what is in use now, of a consumable of an instance, a host or the
        cluster while a job of this duration (s) would run (AR-41, AR-42)."""
        if self.timeline is None:
            return 0.0
        if "@" in where:
            used = self.bookings.instances.get(where, _NOTHING)
        else:
            used = self.bookings.cluster if where == GLOBAL else self.bookings.hosts.get(where, _NOTHING)
        return self.timeline.ahead(where, name, duration, used.get(name, 0.0))

    def pe_ahead(self, pe: str, duration: float) -> int:
        """The same for the slots of a parallel environment (AR-47)."""
        if self.timeline is None:
            return 0
        return int(self.timeline.pe_ahead(pe, duration, self.bookings.pes.get(pe, 0)))

    def charge(
        self, granted: list[Grant], resources: dict[str, tuple[float, bool]], pe: str = "", sign: int = 1
    ) -> None:
        """Note what this decision gives away (`sign` 1) or takes back (-1).

        resources: name -> (amount, booked once a job), slots not among them.
        """
        if pe:
            self.own.pes[pe] = self.own.pes.get(pe, 0) + sign * sum(grant.slots for grant in granted)
        for position, grant in enumerate(granted):
            sums = (self.own.instances[grant.instance], self.own.hosts[grant.host], self.own.cluster)
            for total in sums:
                total["slots"] = total.get("slots", 0) + sign * grant.slots
                for name, (amount, once) in resources.items():
                    if not (once and position):
                        total[name] = total.get(name, 0) + sign * amount * (1 if once else grant.slots)

    def without_future(self) -> Ledger:
        """The same, but for what is kept for later."""
        found = copy(self)
        found.timeline = None
        return found

    def quota_ahead(self, bucket: Bucket, name: str, duration: float) -> float:
        """As `ahead`, of a rule of a resource quota set."""
        if self.timeline is None:
            return 0.0
        return self.timeline.quota_ahead(bucket, name, duration, self.of_quota(bucket, name))

    def charge_quotas(self, uses: Iterable[QuotaUse], sign: int) -> None:
        """The same of resource quotas."""
        for bucket, name, amount in uses:
            total = self.own_quotas.setdefault(bucket, {})
            total[name] = total.get(name, 0.0) + sign * amount

    def of_quota(self, bucket: Bucket, name: str) -> float:
        """Amount in use of a consumable under a rule of a resource quota set."""
        used = 0.0 if self.empty else self.state.quotas.used.get(bucket, _NOTHING).get(name, 0.0)
        return used + self.own_quotas[bucket].get(name, 0.0) if bucket in self.own_quotas else used

    def of_instance(self, instance: str, name: str) -> float:
        """Amount in use of a consumable on a queue instance."""
        used = self.bookings.instances.get(instance, _NOTHING).get(name, 0)
        return used + self.own.instances[instance].get(name, 0) if instance in self.own.instances else used

    def of_host(self, host: str, name: str) -> float:
        """Amount in use of a consumable on a host, or in the cluster for "global"."""
        if host == GLOBAL:
            return self.bookings.cluster.get(name, 0) + self.own.cluster.get(name, 0)
        used = self.bookings.hosts.get(host, _NOTHING).get(name, 0)
        return used + self.own.hosts[host].get(name, 0) if host in self.own.hosts else used

    def of_pe(self, pe: str) -> int:
        """Slots in use of a parallel environment (PE-2)."""
        return self.bookings.pes.get(pe, 0) + self.own.pes.get(pe, 0)

    def load(self, host: str, entry: ComplexEntry) -> tuple[Value, str] | None:
        """A load value of a host (or "global"), scaled and corrected, and its source letter l or L. None: not reported.

        Source: load_scaling in sge_host_conf(5), LS-5; job_load_adjustments in sge_sched_conf(5), LS-6.
        """
        if self.empty and entry.name not in STATIC_LOAD:
            return None
        found = self.state.hosts.get(host)
        text = found.load.get(entry.name) if found is not None else None
        if text is None:
            return None
        value = reported_value(entry.type, text)
        if value is None or isinstance(value, str):
            return None if value is None else (value, "l")
        letter = "l"
        config = self.state.exec_hosts.get(host)
        if config is not None and entry.name in config.load_scaling:
            value, letter = value * float(config.load_scaling[entry.name]), "L"
            if entry.type == "INT":
                value = whole(value)
        jobs = self.corrections.get(host, 0.0)
        if jobs and entry.name in self.adjustments:
            change = jobs * self.adjustments[entry.name] / self._processors(host, entry.name)
            value, letter = (value - change if entry.relop in ("<", "<=") else value + change), "L"
        return value, letter

    def _processors(self, host: str, name: str) -> float:
        """What a correction is divided by: the processors of the host for values that are per processor (np_*)."""
        if not name.startswith("np_"):
            return 1.0
        count = reported_value("INT", self.state.hosts[host].load.get("num_proc", "1"))
        return max(count, 1.0) if isinstance(count, float) else 1.0
