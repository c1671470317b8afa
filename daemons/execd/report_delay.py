"""Delay of a report: it waits for other reports that are likely to come, so that one call carries them.

Owns the rule alone, which is pure: times are arguments. Called by `reporter`. Reason: docs/adr/0169.
"""

from __future__ import annotations

from gridengine.protocols.delivery import Ended, Report, Started
from gridengine.values.task_key import TaskKey

STARTED_DELAY_S = 1.0
"""A start, which the answer to the instruction has reported already: this report is needed only if that answer is lost."""
ENDED_DELAY_S = 0.02
"""An end while there are other young tasks, which may end as soon."""
YOUNG_S = 1.0
"""A task is young for this time after its start."""


class ReportDelay:
    """Tasks of this host that started a moment ago, by its reports. `now`: seconds of a clock that is never set."""

    def __init__(self) -> None:
        self._young: dict[TaskKey, float] = {}

    def delay_s(self, report: Report, now: float) -> float:
        """Seconds that a report that is made now waits, 0 for not at all."""
        if isinstance(report, Started):
            self._young[report.key] = now
            return STARTED_DELAY_S
        if isinstance(report, Ended):
            self._young.pop(report.key, None)
            self._forget_old(now)
            return ENDED_DELAY_S if self._young else 0.0
        return 0.0

    def _forget_old(self, now: float) -> None:
        """Drop old tasks; tasks are in the order of their starts."""
        for key, began in list(self._young.items()):
            if now - began <= YOUNG_S:
                return
            del self._young[key]
