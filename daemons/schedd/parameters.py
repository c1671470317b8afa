"""The scheduler's own parameters: `params` and the look-ahead settings of the scheduler configuration, typed.

Owns their reading. DURATION_OFFSET is read where durations are (`gridengine.placement.timeline`). JC_FILTER and PE_RANGE_ALG
are valid and change nothing, as measured on the original and for the reasons of adr/0050: cost follows categories here
whatever the number of jobs, and the largest amount of a slot range that fits is found directly. Called by
`daemons.schedd.cycle`. Source: sge_sched_conf(5) params, max_reservation,
report_pjob_tickets; SC-1, SC-7, SC-10, SC-11.
"""

from __future__ import annotations

from collections.abc import Mapping

from gridengine.errors import SyntaxFault
from gridengine.units import parse_bool


class Parameters:
    """`most_reservations`: max_reservation. `report_waiting`: report_pjob_tickets. `monitor`, `profile`: the params of
    these names."""

    __slots__ = ("most_reservations", "report_waiting", "monitor", "profile")

    def __init__(self, scheduler: Mapping[str, str]) -> None:
        """scheduler: attribute texts of the scheduler configuration; what is wrong there counts as not set."""
        self.most_reservations = int(scheduler.get("max_reservation", "0"))
        self.report_waiting = _is_true(scheduler.get("report_pjob_tickets", "TRUE"))
        params = dict(item.partition("=")[::2] for item in scheduler.get("params", "").upper().replace(",", " ").split())
        self.monitor = _is_true(params.get("MONITOR", "0"))
        self.profile = _is_true(params.get("PROFILE", "0"))


def _is_true(text: str) -> bool:
    try:
        return parse_bool(text)
    except SyntaxFault:
        return False
