"""Delays a scheduler run during bursts, so that one run serves many submissions and ends.

Owns only the rule, which is pure: callers pass the time. Called by `scheduling`. Reason: docs/adr/0169.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

MANY = 2
"""So many recent tasks at a time may be a burst. A user who submits jobs in sequence, and waits for the end of each, has
one recent task at a time, even on a fast machine."""
YOUNG_S = 1.0
"""Older tasks predict nothing: such tasks wait, or run for long."""
APART_S = 0.05
"""Seconds between the starts of two runs during a burst."""
MAX_KEPT = 1000
"""So many are kept without a check of their age: `pause_s` may not be called for long."""
Key = tuple[int, int]
"""A job and its task; 0 for all that wait."""


class CyclePacing:
    """The recent tasks, and the earliest start of the next run. `now`: seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._young: OrderedDict[Key, float] = OrderedDict()  # its first key is found at once, also after removals
        self._began = float("-inf")

    def note(self, now: float, here: Iterable[Key], gone: Iterable[Key]) -> None:
        """Note tasks that wait or run (`here`), and tasks that do not, or no longer (`gone`)."""
        for key in gone:
            self._young.pop(key, None)
        for key in here:
            self._young.setdefault(key, now)
        if len(self._young) > MAX_KEPT:
            self._forget_the_old(now)

    def pause_s(self, now: float) -> float:
        """The time that the next run waits for more events: 0 without a burst, or if the last run is long ago."""
        self._forget_the_old(now)
        return max(0.0, self._began + APART_S - now) if len(self._young) >= MANY else 0.0

    def begin(self, now: float) -> None:
        """Note the start of a run."""
        self._began = now

    def _forget_the_old(self, now: float) -> None:
        """Drop old tasks; tasks are in order of arrival."""
        while self._young and now - self._young[next(iter(self._young))] > YOUNG_S:
            self._young.popitem(last=False)
