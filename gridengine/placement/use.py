"""Use: the amounts in use of each holder, and the additional reserved amounts, as one decision counts them.

Owns the ways to count, which `gridengine.placement.ledger` combines: `BookedUse` for bookings, `UseWithUnits` in a cell whose
named units have properties, `UseWithGrants` adds the grants
of the decision, `UseWithReservations` the reservations of the time line, `WindowUse` is the use in a future window. All have the
same interface by `Holder` and name of the consumable. Must not know capacities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from gridengine.placement.timeline import Timeline
from gridengine.placement.unit_classes import MARK
from gridengine.state.bookings import Bookings, Holder


class Use(Protocol):
    """One way to count."""

    def of(self, holder: Holder, name: str) -> float:
        """Amount in use of a consumable."""

    def reserved_ahead(self, holder: Holder, name: str, duration: float) -> float:
        """Amount of a consumable that reservations need, beyond the amount in use, while a job of this duration (s) would
        run (AR-41, AR-42, AR-47)."""


class BookedUse:
    """The bookings, and the bookings under resource quotas."""

    __slots__ = ("_booked", "_quotas")

    def __init__(self, booked: Bookings, quotas: Bookings) -> None:
        self._booked, self._quotas = booked, quotas

    def of(self, holder: Holder, name: str) -> float:
        sums = self._booked.get(holder) or self._quotas.get(holder)
        return sums.get(name, 0.0) if sums else 0.0

    def reserved_ahead(self, holder: Holder, name: str, duration: float) -> float:
        return 0.0


class UseWithUnits(BookedUse):
    """The same, and the units in use by class (`gridengine.placement.unit_classes`). `units_of(host)`: class -> units in use,
    asked once for each host."""

    __slots__ = ("_known", "_units_of")

    def __init__(self, booked: Bookings, quotas: Bookings, units_of: Callable[[str], Mapping[str, int]]) -> None:
        super().__init__(booked, quotas)
        self._units_of = units_of
        self._known: dict[str, Mapping[str, int]] = {}

    def of(self, holder: Holder, name: str) -> float:
        if MARK in name:
            found = self._known.get(holder.name)
            if found is None:
                found = self._known[holder.name] = self._units_of(holder.name)
            return found.get(name, 0)
        sums = self._booked.get(holder) or self._quotas.get(holder)
        return sums.get(name, 0.0) if sums else 0.0


class UseWithGrants:
    """Base use plus the grants of the decision."""

    __slots__ = ("_given", "_under", "reserved_ahead")

    def __init__(self, under: Use, given: Bookings) -> None:
        self._under, self._given = under.of, given
        self.reserved_ahead = under.reserved_ahead

    def of(self, holder: Holder, name: str) -> float:
        given = self._given.get(holder)
        used = self._under(holder, name)
        return used + given.get(name, 0.0) if given else used


class UseWithReservations:
    """Base use, and the additional reserved amounts of the time line."""

    __slots__ = ("_timeline", "of")

    def __init__(self, under: Use, timeline: Timeline) -> None:
        self.of = under.of
        self._timeline = timeline

    def reserved_ahead(self, holder: Holder, name: str, duration: float) -> float:
        timeline = self._timeline
        if not timeline.is_reserved(holder, name):
            return 0.0  # running jobs only release
        peak = timeline.peak(holder, name, timeline.now, timeline.now + timeline.run_for(duration))
        return max(0.0, peak - self.of(holder, name))


class WindowUse:
    """Use in a future window: the peak from `start` until before `end` (epoch s)."""

    __slots__ = ("_timeline", "_start", "_end")

    def __init__(self, timeline: Timeline, start: float, end: float) -> None:
        self._timeline, self._start, self._end = timeline, start, end

    def of(self, holder: Holder, name: str) -> float:
        return self._timeline.peak(holder, name, self._start, self._end)

    def reserved_ahead(self, holder: Holder, name: str, duration: float) -> float:
        return 0.0
