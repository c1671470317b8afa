"""Categories of jobs that ask for an advance reservation: placed inside it, by the same rules.

Owns what the scheduler keeps of such jobs for one configuration; the placement is `gridengine.placement.reserved`'s.
Called through `daemons.schedd.view` like the other categories. Source: AR-60, AR-91, AR-99, AR-100.
"""

from __future__ import annotations

from daemons.schedd.categories import Category
from gridengine.placement.ledger import Ledger
from gridengine.placement.reserved import place_reserved, reserved_request
from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.urgency import resource_urgency
from gridengine.state.jobs import Grant, Job


class ReservedCategory:
    """Jobs that ask for the same of one reservation. `is_blocked`: nothing more of them can be placed in this cycle."""

    __slots__ = ("ar_id", "site", "reservation", "request", "stuck", "urgency")
    reserves = False

    def __init__(self, config_snapshot: PlacementConfig, job: Job) -> None:
        self.ar_id = job.ar
        self.reservation = config_snapshot.state.reservations[job.ar]
        self.config_snapshot = config_snapshot.within(self.reservation)
        self.request = reserved_request(self.config_snapshot, self.reservation, job)
        self.urgency = resource_urgency(config_snapshot.state, self.request)
        self.is_blocked = False

    def place(self, ledger: Ledger) -> tuple[list[Grant], str]:
        """Grants for one more task and its PE; no grants: it is stuck. `ledger`: that of the cycle."""
        if not self.reservation.is_usable:
            self.is_blocked = True
            return [], ""
        granted, pe, _ = place_reserved(self.config_snapshot, self.reservation, ledger.within(self.ar_id), self.request)
        self.is_blocked = not granted
        return granted, pe

    def unblock(self) -> None:
        """Something was given back somewhere."""
        self.is_blocked = False

    def add_candidates(self, rows: object) -> None:
        """Places outside are none of its business."""

    reorder = add_candidates


AnyCategory = Category | ReservedCategory
