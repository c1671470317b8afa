"""The processor budget of all open pages together: updates wait in a queue when the pages have used more.

Owns the budget, and the measurement of a page's work. Called by `live.py`; requested pages are not limited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

CPU_SHARE = 0.05
"""Part of one core, in the long run."""
BURST_S = 0.4
"""Seconds of work without a pause after a quiet time: so a change reaches a hundred pages within a second."""


class CpuBudget:
    """A budget of processor time with a first-come, first-served queue. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._max_ahead_s = clock, BURST_S / CPU_SHARE
        self._paid_until = clock()
        self._queue = asyncio.Lock()

    @property
    def wait_s(self) -> float:
        """Seconds until the budget allows more work."""
        return max(0.0, self._paid_until - self._max_ahead_s - self._clock())

    def charge(self, work_s: float) -> None:
        """Charge completed work, in seconds of processor time."""
        self._paid_until = max(self._paid_until, self._clock()) + work_s / CPU_SHARE

    async def wait_turn(self) -> None:
        """Wait in the queue until the budget allows more work."""
        async with self._queue:
            while wait_s := self.wait_s:
                await asyncio.sleep(wait_s)


class MeteredCoroutine(Generic[T]):
    """A coroutine to be awaited. `work_s`: its own processor time, without other coroutines that ran while it waited."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self.work_s = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        error: BaseException | None = None
        while True:
            begin = time.thread_time()
            try:
                awaited = self._work.throw(error) if error is not None else self._work.send(None)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.work_s += time.thread_time() - begin
            try:
                yield awaited
                error = None
            except BaseException as raised:  # also a cancellation: the coroutine handles it
                error = raised
