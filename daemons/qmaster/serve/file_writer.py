"""A thread that writes files for the event loop, because a disk may hang: `common/` is often on another machine.

Owns the thread, which carries out its work in order, and returns the results to the loop. The callers limit the queue: each
file that follows the spool submits one piece of work at a time. Used by
`daemons.qmaster.serve.service`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

_log = logging.getLogger(__name__)
LONGEST_END_S = 5.0
"""Time that the end waits for the disk. Unwritten data is in the spool, and written after the next start."""

_Work = Callable[[], Any]
_Then = Callable[[Any], None]


class FileWriter:
    """Must be made within a running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[_Work, _Then] | None] = SimpleQueue()
        self._unfinished = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_stopped = False
        # a daemon thread: the process does not wait for it at its end, since the disk may hang forever
        threading.Thread(target=self._run, name="files", daemon=True).start()

    def carry_out(self, work: _Work, then: _Then) -> None:
        """Have `work` done in the thread, then `then` called in the loop with its result: None after an unexpected error."""
        self._unfinished += 1
        self._idle.clear()
        self._queue.put((work, then))

    async def stop(self) -> None:
        """Return when all is written, or after a timeout. No results are returned afterwards."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_END_S):
                await self._idle.wait()
        self._is_stopped = True
        self._queue.put(None)

    def _run(self) -> None:
        while (order := self._queue.get()) is not None:
            work, then = order
            try:
                result = work()
            except Exception:  # the thread serves later work
                _log.exception("a file could not be written")
                result = None
            with suppress(RuntimeError):  # the loop is closed: the process ends
                self._loop.call_soon_threadsafe(self._hand_back, then, result)

    def _hand_back(self, then: _Then, result: Any) -> None:
        if self._is_stopped:
            return
        try:
            then(result)
        finally:
            self._unfinished -= 1
            if not self._unfinished:
                self._idle.set()
