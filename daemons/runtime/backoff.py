"""Exponential backoff: the time for which a loop waits before it retries a failed action.

Owns the growth of the pauses; the caller waits. With jitter the pauses differ: a hundred hosts lose the same master at the same
moment, and would all reconnect in the same moment. Called by the loops of the daemons that retry.
"""

from __future__ import annotations

from collections.abc import Callable


class Backoff:
    """Pauses that double from `first_s`, and are never longer than `longest_s`.

    `jitter()`: from 0 to 1, for example `random.random`: each pause is between half and all of its time. By default all of it.
    """

    def __init__(self, first_s: float, longest_s: float, jitter: Callable[[], float] = lambda: 1.0) -> None:
        self._first_s, self._longest_s, self._jitter = first_s, longest_s, jitter
        self._pause_s = first_s

    def next_s(self, longest_s: float | None = None) -> float:
        """Seconds to wait after one more failure. `longest_s`: another limit for this pause."""
        whole = min(self._pause_s, self._longest_s if longest_s is None else longest_s)
        self._pause_s = 2.0 * whole
        return whole * (1.0 + self._jitter()) / 2.0

    def reset(self) -> None:
        """The action has succeeded: the next pause is the first one again."""
        self._pause_s = self._first_s
