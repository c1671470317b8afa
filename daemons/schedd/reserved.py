"""Categories of jobs that request an advance reservation: placed inside it, by the same rules.

Owns the scheduler's data about such jobs for one configuration; `gridengine.placement.reserved` does the placement.
Called through `daemons.schedd.view` like the other categories. Source: AR-60, AR-91, AR-99, AR-100.
"""

from __future__ import annotations

from daemons.schedd.categories import Category
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.reserved import place_reserved, reserved_request
from gridengine.placement.urgency import resource_urgency
from gridengine.state.jobs import Grant, Job


class ReservedCategory:
    """Jobs with equal requests in one reservation. `is_blocked`: no more of them can be placed in this cycle."""

    __slots__ = ("ar_id", "config_snapshot", "reservation", "request", "is_blocked", "urgency")
    reserves = False

    def __init__(self, config_snapshot: PlacementConfig, job: Job) -> None:
        self.ar_id = job.ar
        self.reservation = config_snapshot.state.reservations[job.ar]
        self.config_snapshot = config_snapshot.within(self.reservation)
        self.request = reserved_request(self.config_snapshot, self.reservation, job)
        self.urgency = resource_urgency(config_snapshot.state, self.request)
        self.is_blocked = False

    def place(self, ledger: Ledger) -> tuple[list[Grant], str]:
        """Grants for one more task and its PE; without grants the category is blocked. `ledger`: of the cycle."""
        if not self.reservation.is_usable:
            self.is_blocked = True
            return [], ""
        granted, pe, _ = place_reserved(self.config_snapshot, self.reservation, ledger.within(self.ar_id), self.request)
        self.is_blocked = not granted
        return granted, pe

    def unblock(self) -> None:
        """Something was released somewhere."""
        self.is_blocked = False

    def add_candidates(self, rows: object) -> None:
        """Ignore instances outside of the reservation."""

    reorder = add_candidates


AnyCategory = Category | ReservedCategory
