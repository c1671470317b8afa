"""The order of reports from exec hosts in this life of the qmaster, and the hosts whose inventory was taken.

Owns that order: reports that come twice, late, or were sent to an earlier qmaster are refused, so that no old inventory
takes a running task for lost. All of it is in memory; a host whose reports are refused restarts with its inventory.
Called by the service. Source: docs/architecture.md section 5, adr/0090.
"""

from __future__ import annotations

from gridengine.protocols.delivery import Batch, Inventory, Stamp


class ReportSequencer:
    """`incarnation`: of this qmaster. `inventoried`: hosts whose inventory is on disk, with all that follows of it."""

    def __init__(self, incarnation: int) -> None:
        self._incarnation = incarnation
        self._last: dict[str, Stamp] = {}
        self.inventoried: set[str] = set()

    def is_first_of_life(self, host: str, reports: Batch) -> bool:
        """Whether a batch of reports is the first of a life of its host that this qmaster has received."""
        return reports.host[0] != self.last_stamp(host)[0]

    def accept(self, host: str, reports: Batch) -> bool:
        """Whether a batch of reports is in order: sent to this qmaster, and later than all before it. Notes its stamp."""
        if reports.master[0] != self._incarnation or reports.host <= self.last_stamp(host):
            return False
        self._last[host] = reports.host
        return True

    def last_stamp(self, host: str) -> Stamp:
        """The stamp of the last reports of a host that were accepted."""
        return self._last.get(host, (0, 0))

    def note_durable(self, host: str, reports: Batch) -> bool:
        """Note that a batch is on disk. Returns whether it is the host's first inventory."""
        first = host not in self.inventoried and any(isinstance(report, Inventory) for report in reports.reports)
        if first:
            self.inventoried.add(host)
        return first
