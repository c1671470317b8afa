"""How much of a processor the open pages may take together: whoever has work waits for his turn when they took more.

Owns the share, and what counts as work of a page. Called by `live.py`; a page that somebody asks for is not paced.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

SHARE = 0.05
"""Of one core, in the long run."""
BURST_S = 0.4
"""Seconds of work that may be done at once after a quiet time: a change reaches a hundred pages within a second."""


class Pace:
    """Turns, first come first served. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._ahead_s = clock, BURST_S / SHARE
        self._paid_at = clock()
        self._line = asyncio.Lock()

    @property
    def wait_s(self) -> float:
        """Seconds until there is room for more work."""
        return max(0.0, self._paid_at - self._ahead_s - self._clock())

    def spend(self, work_s: float) -> None:
        """Note work that was done, in seconds of a processor."""
        self._paid_at = max(self._paid_at, self._clock()) + work_s / SHARE

    async def turn(self) -> None:
        """Wait until there is room for more work."""
        async with self._line:
            while wait_s := self.wait_s:
                await asyncio.sleep(wait_s)


class Metered(Generic[T]):
    """A coroutine to be awaited. `work_s`: what it took of a processor itself, without the others that ran while it waited."""

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
            except BaseException as raised:  # a cancellation among them: it is the coroutine's
                error = raised
