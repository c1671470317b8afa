"""An event loop whose clock is a number, and processes that live in it and can be killed between any two callbacks.

Defines time and order: callbacks run as asyncio promises (in their order; timers when they are due), nothing waits, and
callbacks of a dead process never run. Must know nothing of Grid Engine. Called by the simulation.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar
from typing import Any, TypeVar

_Result = TypeVar("_Result")
MOST_CALLBACKS = 100_000
"""Callbacks of one moment; more of them are a loop that never waits."""


class Process:
    """Callbacks in its `context`, and all callbacks that they start, die with it."""

    def __init__(self, name: str) -> None:
        self.name, self.alive = name, True
        self.context = Context()
        self.context.run(_PROCESS.set, self)

    def run(self, work: Callable[..., _Result], *arguments: Any) -> _Result:
        """Have it do something now."""
        return self.context.run(work, *arguments)

    def kill(self) -> None:
        """As kill -9: none of its callbacks runs any more, not even cleanup."""
        self.alive = False


_PROCESS: ContextVar[Process] = ContextVar("process")


class Killed(BaseException):
    """Ends the callback in which a process has ended itself. Not an Exception: no handler may catch it and go on."""


class _Timer(asyncio.TimerHandle):
    """The callback's process, if a process scheduled it."""

    __slots__ = ("process",)

    def __init__(self, when: float, callback: Any, arguments: Any, loop: Any, context: Context | None) -> None:
        super().__init__(when, callback, arguments, loop, context)
        self.process = (_PROCESS if context is None else context).get(_PROCESS if context is not None else None)  # type: ignore


class SimulatedLoop(asyncio.AbstractEventLoop):
    """`faults`: exceptions of callbacks and tasks of living processes that no code has handled."""

    def __init__(self) -> None:
        self.faults: list[BaseException] = []
        self.outside = Context()
        self._now = 0.0
        self._count = itertools.count()
        self._coroutines: list[Coroutine[Any, Any, Any]] = []
        self._ready: deque[_Timer] = deque()
        self._timers: list[tuple[float, int, _Timer]] = []

    def __enter__(self) -> SimulatedLoop:
        events._set_running_loop(self)
        return self

    def __exit__(self, *exception: object) -> None:
        events._set_running_loop(None)
        for coroutine in self._coroutines:  # else they end when the garbage goes, and complain
            with suppress(BaseException):
                coroutine.close()

    def run_until(self, moment: float) -> None:
        """Let time pass: run the callbacks that are due until then."""
        while True:
            self._run_ready()
            if not self._timers or self._timers[0][0] > moment:
                break
            when, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, when)
            self._ready.append(timer)
        self._now = max(self._now, moment)

    def _run_ready(self) -> None:
        for _ in range(MOST_CALLBACKS):
            if not self._ready:
                return
            each = self._ready.popleft()
            if not each.cancelled() and (each.process is None or each.process.alive):
                each._run()
        raise AssertionError("somebody goes on for ever without waiting")

    # --- what asyncio asks of a loop -----------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> _Timer:  # type: ignore[override]
        soon = _Timer(self._now, callback, args, self, context)
        self._ready.append(soon)
        return soon

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> _Timer:  # type: ignore[override]
        timer = _Timer(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._count), timer))
        return timer

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> _Timer:  # type: ignore[override]
        return self.call_at(self._now + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, _Result], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[_Result]:
        self._coroutines.append(coro)
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        exception = context.get("exception")
        if exception is not None and not isinstance(exception, Killed):
            self.faults.append(exception)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are skipped when they are due."""
