"""When much comes at once, one run of the scheduler does for all of it: how long it waits for more.

Owns the rule alone, which is pure: times come in. Called by `scheduling`. Why: docs/adr/0169.
"""

from __future__ import annotations

from collections.abc import Iterable

MANY = 2
"""So many that are on their way side by side may be a stream. Who submits one job after the other, and waits for the end of each,
has one on its way, however fast the machine is."""
YOUNG_S = 1.0
"""What came longer ago says nothing about what comes next: it waits, or runs for long."""
APART_S = 0.05
"""Between the beginnings of two runs while there is a stream."""
_KEPT = 1000
"""So many are kept without a look at their age: nobody may ask for long."""
Key = tuple[int, int]
"""A job and its task; 0 for all that wait."""


class CyclePacing:
    """What is on its way, and when the next run may begin. `now`: seconds of a clock that is never set."""

    def __init__(self) -> None:
        self._young: dict[Key, float] = {}
        self._began = float("-inf")

    def note(self, now: float, here: Iterable[Key], gone: Iterable[Key]) -> None:
        """These wait or run; those do not, or not any more."""
        for key in gone:
            self._young.pop(key, None)
        for key in here:
            self._young.setdefault(key, now)
        if len(self._young) > _KEPT:
            self._forget_the_old(now)

    def pause_s(self, now: float) -> float:
        """How long the next run waits for more: 0 where no stream comes, and where the last one is long ago."""
        self._forget_the_old(now)
        return max(0.0, self._began + APART_S - now) if len(self._young) >= MANY else 0.0

    def begin(self, now: float) -> None:
        """A run begins."""
        self._began = now

    def _forget_the_old(self, now: float) -> None:
        """They are in the order in which they came."""
        for key, came in list(self._young.items()):
            if now - came <= YOUNG_S:
                return
            del self._young[key]
