"""The ledger of a time to come, as advance reservations and the reservations of pending jobs ask for it.

Owns which of the time line's answers stand for what is in use. Called by granting and by the scheduler's look-ahead.
"""

from __future__ import annotations

from gridengine.placement.ledger import Ledger
from gridengine.placement.timeline import Timeline
from gridengine.state.quotas import Bucket


class WindowLedger(Ledger):
    """A ledger of a time to come: in use is the most that is in use at any moment of the window.

    Of load values it knows those alone that never change, since nobody knows the load of a time to come (AR-35).
    """

    __slots__ = ("line", "start", "end")

    def __init__(self, timeline: Timeline, start: float, end: float) -> None:
        super().__init__(timeline.state, empty=True)
        self.line, self.start, self.end = timeline, start, end

    def of_instance(self, instance: str, name: str) -> float:
        return self.line.peak(instance, name, self.start, self.end)

    def of_host(self, host: str, name: str) -> float:
        return self.line.peak(host, name, self.start, self.end)

    def of_pe(self, pe: str) -> int:
        return int(self.line.pe_peak(pe, self.start, self.end))

    def of_quota(self, bucket: Bucket, name: str) -> float:
        return self.line.quota_peak(bucket, name, self.start, self.end)
