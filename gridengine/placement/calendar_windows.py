"""Calendar windows: whether a queue's calendar keeps the queue on for the whole run time of a job.

Owns that question for one cycle. Called if the scheduler makes reservations (max_reservation above 0), for jobs that could
start and for jobs that get a reservation. Source: calendar_conf(5), sge_sched_conf(5) max_reservation; CA-8, SC-9.
"""

from __future__ import annotations

from datetime import tzinfo

from gridengine.placement.granting import closed_within
from gridengine.state.queues import InstanceConfig
from gridengine.state.state import State

FARTHEST_S = 10 * 366 * 86_400.0
"""Time that a calendar is examined ahead for a job without a limit."""


class CalendarWindows:
    """The calendars at `now` (epoch s). offset: time that a run may take beyond its duration (s)."""

    __slots__ = ("state", "now", "zone", "offset", "_known")

    def __init__(self, state: State, now: float, zone: tzinfo, offset: float) -> None:
        self.state, self.now, self.zone, self.offset = state, now, zone, offset
        self._known: dict[tuple[str, float, float], bool] = {}

    def is_on_during(self, config: InstanceConfig, duration: float, start: float = 0.0) -> bool:
        """Whether an instance is on from `start` (epoch s, 0: now) for a run of `duration` seconds and the offset."""
        if not config.calendar:
            return True
        start = start or self.now
        key = (config.calendar, start, duration)
        if key not in self._known:
            end = start + min(duration + self.offset, FARTHEST_S)
            self._known[key] = not closed_within(self.state, config.calendar, start, end, self.zone)
        return self._known[key]
