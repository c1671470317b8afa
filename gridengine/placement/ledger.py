"""The ledger: use and load as one decision sees them.

Owns load values, the grants of the decision so far, and the combination of ways to count use (`gridengine.placement.use`). Must
not change the state. The scheduler makes a ledger for each cycle and books its grants here; the qmaster makes a ledger for
each question.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from gridengine.placement.booked_use import booked_use
from gridengine.placement.timeline import Timeline
from gridengine.placement.use import BookedUse, Use, UseWithGrants, UseWithReservations
from gridengine.placement.values import WHOLE_TYPES, Value, reported_value, whole
from gridengine.state.bookings import Booking, Bookings
from gridengine.state.configured.objects import ComplexEntry
from gridengine.state.state import State
from gridengine.values.load_values import STATIC_LOAD

_NOTHING = Bookings()


class Ledger:
    """Use and load of one decision.

    empty: as if nothing ran and only static load were known (`-w e|v`). `adjustments`: load name -> amount that is added for
    each job of `corrections`: host -> number of recently started jobs, each decayed to 0..1 (LS-6). `now`: how use is counted,
    by default the bookings of the state. `timeline`: the reservations from now on, None if they do not matter.
    `of(holder, name)`, `reserved_ahead(holder, name, duration)`: as in `Use`.
    """

    __slots__ = ("state", "empty", "own", "timeline", "adjustments", "corrections", "of", "reserved_ahead", "_now", "_within")

    def __init__(
        self,
        state: State,
        empty: bool = False,
        adjustments: dict[str, float] | None = None,
        corrections: dict[str, float] | None = None,
        now: Use | None = None,
        timeline: Timeline | None = None,
    ) -> None:
        self.state = state
        self.empty = empty
        self.own = Bookings()
        self.adjustments = adjustments or {}
        self.corrections = corrections if corrections is not None else {}
        self._now = now or (BookedUse(_NOTHING, _NOTHING) if empty else booked_use(state))
        self._within: dict[int, Ledger] = {}
        self._combine_uses(timeline, includes_own_grants=False)

    def _combine_uses(self, timeline: Timeline | None, includes_own_grants: bool) -> None:
        self.timeline = timeline
        now = self._now
        use: Use
        if timeline is None:
            use = UseWithGrants(now, self.own)
        elif includes_own_grants:
            use = UseWithReservations(UseWithGrants(now, self.own), timeline)
        else:
            use = UseWithGrants(UseWithReservations(now, timeline), self.own)
        self.of, self.reserved_ahead = use.of, use.reserved_ahead

    def looking_ahead(self, timeline: Timeline | None, includes_own_grants: bool = False) -> Ledger:
        """The same decision with the reservations of a time line; None for none. `includes_own_grants`: the time line also
        contains the grants of this decision."""
        made = copy(self)
        made._combine_uses(timeline, includes_own_grants)
        return made

    def within(self, ar_id: int) -> Ledger:
        """The ledger of an advance reservation: the use by its own jobs; loads are the cluster's (AR-92)."""
        found = self._within.get(ar_id)
        if found is None:
            now = None if self.empty else booked_use(self.state, ar_id)
            found = self._within[ar_id] = Ledger(self.state, self.empty, now=now)
        return found

    def charge(self, bookings: Iterable[Booking], sign: int = 1) -> None:
        """Note grants of this decision (`sign` 1), or their release (-1)."""
        self.own.book(bookings, sign)

    def load(self, host: str, entry: ComplexEntry) -> tuple[Value, str] | None:
        """A load value of a host (or "global"), scaled and corrected, and its source, l or L. None: not reported.

        Source: load_scaling in sge_host_conf(5), LS-5; job_load_adjustments in sge_sched_conf(5), LS-6.
        """
        if self.empty and entry.name not in STATIC_LOAD:
            return None
        reporting = self.state.hosts.get(host)
        text = reporting.load.get(entry.name) if reporting is not None else None
        if text is None:
            return None
        value = reported_value(entry.type, text)
        if value is None or isinstance(value, str):
            return None if value is None else (value, "l")
        source = "l"
        config = self.state.exec_hosts.get(host)
        if config is not None and entry.name in config.load_scaling:
            value, source = value * float(config.load_scaling[entry.name]), "L"
            if entry.type in WHOLE_TYPES:
                value = whole(value)
        jobs = self.corrections.get(host, 0.0)
        if jobs and entry.name in self.adjustments:
            change = jobs * self.adjustments[entry.name] / self._processors(host, entry.name)
            value, source = (value - change if entry.relop in ("<", "<=") else value + change), "L"
        return value, source

    def _processors(self, host: str, name: str) -> float:
        """The divisor of a correction: the processors of the host for values per processor (np_*), else 1."""
        if not name.startswith("np_"):
            return 1.0
        count = reported_value("INT", self.state.hosts[host].load.get("num_proc", "1"))
        return max(count, 1.0) if isinstance(count, float) else 1.0
