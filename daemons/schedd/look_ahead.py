"""Look-ahead: the earliest time and places at which a job that cannot start now will be able to.

Owns which tasks get a reservation in a cycle, and when. Candidates are places that are open, or closed by nothing but their
calendar; use is that of the time line, to which the cycle adds what it starts and reserves; load values are taken as they
are. Called by dispatch. Source: sge_sched_conf(5) max_reservation, default_duration; SC-7, SC-9, AR-52.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import NamedTuple

from msgspec.structs import replace

from daemons.schedd.board import BoardPlace
from daemons.schedd.categories import Category
from daemons.schedd.view import View
from gridengine.placement.calendar_windows import FARTHEST_S, CalendarWindows
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import load_refusal, use_refusal
from gridengine.placement.obstacles import obstacle
from gridengine.placement.quotas import bookings_of
from gridengine.placement.search import moments
from gridengine.placement.spread import Candidates, place_parallel
from gridengine.placement.timeline import Timeline
from gridengine.placement.use import Window
from gridengine.state.bookings import CLUSTER
from gridengine.state.jobs import Grant
from gridengine.state.reservations import JobReservation
from gridengine.state.state import State

EACH = 8
"""Moments that are looked at one by one before halving begins: with a thousand running jobs each look costs."""


class Fit(NamedTuple):
    """Places that are free from `start` (epoch s) for as long as a job may run."""

    start: float
    granted: list[Grant]
    pe: str


class Reservation(NamedTuple):
    """What a pending task is to have."""

    job_id: int
    task_id: int
    fit: Fit
    category: Category

    def published(self, state: State) -> JobReservation:
        """The same for the qmaster, which must not give these places to advance reservations (AR-52)."""
        fit, request = self.fit, self.category.request
        resources = {name: f"{amount:.17g}" for name, (amount, _) in request.charged.items()}
        end = fit.start + request.duration + state.scheduler.duration_offset_s
        return JobReservation(self.job_id, self.task_id, fit.start, end, fit.granted, fit.pe, resources)


class LookAhead:
    """The reservations of one cycle: `made`, at most `most`. `line`: that of the ledger, with what the cycle starts."""

    def __init__(self, view: View, ledger: Ledger, line: Timeline, zone: tzinfo) -> None:
        self.view, self.ledger, self.line, self.zone = view, ledger, line, zone
        self.most = view.state.scheduler.max_reservation
        self.windows = view.board.windows or CalendarWindows(view.state, line.now, zone, line.offset)
        self.made: list[Reservation] = []
        self._not_before: dict[int, float] = {}

    def reserve(self, job_id: int, task_id: int, category: Category) -> bool:
        """Whether a task gets a reservation; the time line has it then."""
        if not category.reserves or len(self.made) >= self.most:
            return False
        # within a cycle a time line only ever fills up: no earlier start for another one of the same
        first = self._not_before.get(id(category), self.line.now)
        start = self._earliest(category, first)
        self._not_before[id(category)] = start.start if start else self.line.now + FARTHEST_S
        if start is None:
            return False
        request = category.request
        bookings = bookings_of(self.view.site, request, start.granted, start.pe)
        self.line.keep(f"job {job_id}", start.start, start.start + self.line.run_for(request.duration), bookings)
        self.made.append(Reservation(job_id, task_id, start, category))
        return True

    def _earliest(self, category: Category, first: float) -> Fit | None:
        """One by one, then by halves: in the long run what is in use only ends, but for what is reserved."""
        request, ledger = category.request, self.ledger
        latest = self.line.now + FARTHEST_S
        if first >= latest or (request.hard and load_refusal(self.view.site, ledger, request, CLUSTER) is not None):
            return None
        board = self.view.board
        places = [place for place in category.pool.places.values() if self._may_open(place)]
        places = sorted((place for place in places if category.load_suits(place, ledger)), key=board.rank)
        starts = [start for start in moments(self.line, self.zone, first, latest) if start > self.line.now]
        for start in starts[:EACH]:
            if found := self._fit(category, places, start):
                return found
        late = starts[EACH:]
        best = self._fit(category, places, late[-1]) if late else None
        low, high = 0, len(late) - 1
        while best is not None and low < high:
            middle = (low + high) // 2
            found = self._fit(category, places, late[middle])
            if found is not None:
                best, high = found, middle
            else:
                low = middle + 1
        return best

    def _may_open(self, place: BoardPlace) -> bool:
        """Open, or closed by its calendar alone."""
        instance = self.view.state.instances[place.name]
        if place.open or not (instance.calendar_disabled or instance.calendar_suspended):
            return place.open
        # a copy: the state is the qmaster's to change
        opened = replace(instance, calendar_disabled=False, calendar_suspended=False)
        return obstacle(self.view.site, self.ledger, opened) is None

    def _fit(self, category: Category, places: list[BoardPlace], start: float) -> Fit | None:
        """Grants from `start` on for as long as the job may run, and the PE; None if it cannot be."""
        request, site = category.request, self.view.site
        end = start + self.line.run_for(request.duration)
        window = Ledger(site.state, empty=True, now=Window(self.line, start, end))
        suiting = [p.name for p in places if self.windows.leave_alone(p.config, request.duration, start)]
        if request.parallel:
            granted, pe = place_parallel(site, window, request, Candidates.of(suiting))
            return Fit(start, granted, pe) if granted else None
        for name in suiting:
            if use_refusal(site, window, request, name) is None:
                return Fit(start, [Grant(name, 1)], "")
        return None
