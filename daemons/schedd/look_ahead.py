"""Look-ahead: the earliest start of a job that cannot start now, and its grants then.

Owns which tasks get a reservation in a cycle, and when. Candidates are queue instances that are open, or closed by their
calendar alone; the time line gives the use, and the cycle adds its starts and reservations to the time line; load values
are the current values. Called by dispatch. Source: sge_sched_conf(5) max_reservation, default_duration; SC-7, SC-9, AR-52.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import NamedTuple

from msgspec.structs import replace

from daemons.schedd.categories import Category
from daemons.schedd.instance_table import InstanceRow
from daemons.schedd.view import View
from gridengine.placement.calendar_windows import FARTHEST_S, CalendarWindows
from gridengine.placement.config_snapshot import bookings_of_units
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import load_refusal, use_refusal
from gridengine.placement.obstacles import obstacle
from gridengine.placement.quotas import bookings_of
from gridengine.placement.search import moments
from gridengine.placement.spread import Candidates, place_parallel
from gridengine.placement.timeline import Timeline
from gridengine.placement.unit_bookings import standing_for
from gridengine.placement.use import WindowUse
from gridengine.state.bookings import CLUSTER
from gridengine.state.jobs import Grant, GrantedUnits
from gridengine.state.reservations import JobReservation
from gridengine.state.state import State

LINEAR_LOOKS = 8
"""So many moments are examined in sequence before binary search begins: with a thousand running jobs each examination is
costly."""


class Fit(NamedTuple):
    """Grants (`granted`) that are free from `start` (epoch s) for the whole run time of a job."""

    start: float
    granted: list[Grant]
    pe: str


class Reservation(NamedTuple):
    """The reservation of a pending task. `fit`: its grants and their start; `units`: for the classes of named units that it
    takes."""

    job_id: int
    task_id: int
    fit: Fit
    category: Category
    units: list[GrantedUnits]

    def as_job_reservation(self, state: State) -> JobReservation:
        """The same for the qmaster, which must not grant these slots to advance reservations (AR-52)."""
        fit, request = self.fit, self.category.request
        resources = {name: f"{amount:.17g}" for name, (amount, _) in request.charged.items()}
        end = fit.start + request.duration + state.scheduler.duration_offset_s
        return JobReservation(self.job_id, self.task_id, fit.start, end, fit.granted, fit.pe, resources, self.units)


class LookAhead:
    """The `reservations` of one cycle, at most `max_reservations`. `timeline`: of the ledger, with the started tasks."""

    def __init__(self, view: View, ledger: Ledger, timeline: Timeline, zone: tzinfo) -> None:
        self.view, self.ledger, self.timeline, self.zone = view, ledger, timeline, zone
        self.max_reservations = view.state.scheduler.max_reservation
        self.windows = view.instance_table.windows or CalendarWindows(view.state, timeline.now, zone, timeline.offset)
        self.reservations: list[Reservation] = []
        self._not_before: dict[int, float] = {}

    def reserve(self, job_id: int, task_id: int, category: Category) -> bool:
        """Make a reservation for a task, and add it to the time line. Returns False if none is possible."""
        if not category.reserves or len(self.reservations) >= self.max_reservations:
            return False
        # within a cycle the time line only fills up: the next task of the category cannot start earlier
        first = self._not_before.get(id(category), self.timeline.now)
        start = self._earliest(category, first)
        self._not_before[id(category)] = start.start if start else self.timeline.now + FARTHEST_S
        if start is None:
            return False
        request = category.request
        config_snapshot, end = self.view.config_snapshot, start.start + self.timeline.run_for(request.duration)
        units = standing_for(config_snapshot, self._window(start.start, end), request, start.granted)
        bookings = bookings_of(config_snapshot, request, start.granted, start.pe)
        bookings += bookings_of_units(config_snapshot, units)
        self.timeline.reserve(f"job {job_id}", start.start, end, bookings)
        self.reservations.append(Reservation(job_id, task_id, start, category, units))
        return True

    def _earliest(self, category: Category, first: float) -> Fit | None:
        """Linear, then binary search: in the long run use only decreases, except for reservations."""
        request, ledger = category.request, self.ledger
        latest = self.timeline.now + FARTHEST_S
        if first >= latest or (request.hard and load_refusal(self.view.config_snapshot, ledger, request, CLUSTER) is not None):
            return None
        instance_table = self.view.instance_table
        rows = [row for row in category.candidate_heap.rows.values() if self._may_open(row)]
        rows = sorted((row for row in rows if category.load_suits(row, ledger)), key=instance_table.rank)
        starts = [start for start in moments(self.timeline, self.zone, first, latest) if start > self.timeline.now]
        for start in starts[:LINEAR_LOOKS]:
            if found := self._fit(category, rows, start):
                return found
        late = starts[LINEAR_LOOKS:]
        best = self._fit(category, rows, late[-1]) if late else None
        low, high = 0, len(late) - 1
        while best is not None and low < high:
            middle = (low + high) // 2
            found = self._fit(category, rows, late[middle])
            if found is not None:
                best, high = found, middle
            else:
                low = middle + 1
        return best

    def _may_open(self, row: InstanceRow) -> bool:
        """Open, or closed by its calendar alone."""
        instance = self.view.state.instances[row.name]
        if row.open or not (instance.calendar_disabled or instance.calendar_suspended):
            return row.open
        # a copy: only the qmaster changes the state
        opened = replace(instance, calendar_disabled=False, calendar_suspended=False)
        return obstacle(self.view.config_snapshot, self.ledger, opened) is None

    def _window(self, start: float, end: float) -> Ledger:
        """The use in a window (epoch s)."""
        return Ledger(self.view.state, empty=True, now=WindowUse(self.timeline, start, end))

    def _fit(self, category: Category, rows: list[InstanceRow], start: float) -> Fit | None:
        """Grants from `start` on for the whole run time of the job, and the PE; None if there are none."""
        request, config_snapshot = category.request, self.view.config_snapshot
        end = start + self.timeline.run_for(request.duration)
        window = self._window(start, end)
        suiting = [row.name for row in rows if self.windows.is_on_during(row.config, request.duration, start)]
        if request.parallel:
            granted, pe = place_parallel(config_snapshot, window, request, Candidates.of(suiting))
            return Fit(start, granted, pe) if granted else None
        for name in suiting:
            if use_refusal(config_snapshot, window, request, name) is None:
                return Fit(start, [Grant(name, 1)], "")
        return None
