"""Frequency of usage measurements of a running task: an idle task costs a host nearly nothing.

Pure. Called by `tasks` once a round, a round being the load report interval (EX-8).
"""

from __future__ import annotations

from gridengine.state.jobs import Usage

#: an idle task is measured once in so many rounds; a task that was active since the last measurement, in each round
_MOST_ROUNDS = 4
#: CPU seconds below which a task is idle: a clock tick of the kernel
_IDLE_CPU_S = 0.01


class Idleness:
    """The rounds in which one task is skipped, doubled with every measurement without a change."""

    def __init__(self) -> None:
        self._last: Usage | None = None
        self._every = 1
        self._left = 0

    def is_due(self) -> bool:
        """Whether to measure the task in the round that starts now."""
        if self._left:
            self._left -= 1
            return False
        return True

    def note_usage(self, usage: Usage) -> bool:
        """The task was measured in this round. Returns whether its usage has changed."""
        last, self._last = self._last, usage
        idle = last is not None and (usage.vmem, usage.io) == (last.vmem, last.io) and usage.cpu - last.cpu < _IDLE_CPU_S
        self._every = min(self._every * 2, _MOST_ROUNDS) if idle else 1
        self._left = self._every - 1
        return usage != last
