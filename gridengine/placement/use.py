"""Use: how much of each holder is in use, and how much more is kept for later, as one decision counts it.

Owns the ways to count, which are put together by `gridengine.placement.ledger`: `BookedUse` what is booked, `UseWithGrants` what the decision
has given away itself, `UseWithReservations` what the time line keeps for later, `WindowUse` a time to come. All are asked by `Holder` and name of
the consumable, whatever it is that is used up. Must not know capacities.
"""

from __future__ import annotations

from typing import Protocol

from gridengine.placement.timeline import Timeline
from gridengine.state.bookings import Bookings, Holder


class Use(Protocol):
    """One way to count."""

    def of(self, holder: Holder, name: str) -> float:
        """Amount in use of a consumable."""

    def reserved_ahead(self, holder: Holder, name: str, duration: float) -> float:
        """What reservations need of a consumable, beyond what is in use, while a job of this duration (s) would run
        (AR-41, AR-42, AR-47)."""


class BookedUse:
    """What is booked, and what is booked under resource quotas."""

    __slots__ = ("_booked", "_quotas")

    def __init__(self, booked: Bookings, quotas: Bookings) -> None:
        self._booked, self._quotas = booked, quotas

    def of(self, holder: Holder, name: str) -> float:
        sums = self._booked.get(holder) or self._quotas.get(holder)
        return sums.get(name, 0.0) if sums else 0.0

    def reserved_ahead(self, holder: Holder, name: str, duration: float) -> float:
        return 0.0


class UseWithGrants:
    """What another way counts, and what the decision has given away."""

    __slots__ = ("_given", "_under", "ahead")

    def __init__(self, under: Use, given: Bookings) -> None:
        self._under, self._given = under.of, given
        self.reserved_ahead = under.reserved_ahead

    def of(self, holder: Holder, name: str) -> float:
        given = self._given.get(holder)
        used = self._under(holder, name)
        return used + given.get(name, 0.0) if given else used


class UseWithReservations:
    """What another way counts, and what the time line keeps for later beyond that."""

    __slots__ = ("_line", "of")

    def __init__(self, under: Use, timeline: Timeline) -> None:
        self.of = under.of
        self._timeline = timeline

    def reserved_ahead(self, holder: Holder, name: str, duration: float) -> float:
        timeline = self._timeline
        if not timeline.is_reserved(holder, name):
            return 0.0  # running jobs only ever give back
        return max(0.0, timeline.peak(holder, name, timeline.now, timeline.now + timeline.run_for(duration)) - self.of(holder, name))


class WindowUse:
    """A time to come: the most that is in use at any moment from `start` until before `end` (epoch s)."""

    __slots__ = ("_line", "_start", "_end")

    def __init__(self, timeline: Timeline, start: float, end: float) -> None:
        self._timeline, self._start, self._end = timeline, start, end

    def of(self, holder: Holder, name: str) -> float:
        return self._timeline.peak(holder, name, self._start, self._end)

    def reserved_ahead(self, holder: Holder, name: str, duration: float) -> float:
        return 0.0
