"""When much comes at once, one run of the scheduler does for all of it: how long it waits for more.

Owns the rule alone, which is pure: times come in. Called by `scheduling`. Why: docs/adr/0169.
"""

from __future__ import annotations

from collections import deque

MANY, WITHIN_S = 10, 0.1
"""So many things within such a time are a stream. Who submits one job after the other, and waits for the end of each, makes none:
a submission and an end each 29 ms."""
APART_S = 0.05
"""Between the beginnings of two runs while there is a stream."""


class CyclePacing:
    """What comes, and when the next run may begin. `now`: seconds of a clock that is never set."""

    def __init__(self) -> None:
        self._came: deque[float] = deque(maxlen=MANY)
        self._began = float("-inf")

    def note(self, now: float) -> None:
        """Something came."""
        self._came.append(now)

    def pause_s(self, now: float) -> float:
        """How long the next run waits for more: 0 where no stream comes, and where the last one is long ago."""
        if len(self._came) < MANY or now - self._came[0] > WITHIN_S:
            return 0.0
        return max(0.0, self._began + APART_S - now)

    def begin(self, now: float) -> None:
        """A run begins."""
        self._began = now
