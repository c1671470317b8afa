"""The running array jobs of a GridExecutor: their tasks, and the chunks of calls of each task.

Owns the set of chunks without an outcome, the owner of each chunk, and the timers of a task: for a lost host, and for the end of
a shift. Knows no qmaster. Called by `task_arrays`; the counterpart of the claims is `worker`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridengine.api import call_files, worker
from gridengine.api.call_files import TaskLocation


class CallChunk:
    """Calls that are made in sequence: `calls` of a `function`, pickled. `done(outcomes or exception, log)` is called
    once, on the loop.

    `retries`: number of retries left. `alone`: no other chunk may share its task. `task`: its task, None while it waits.
    """

    def __init__(
        self, function: bytes, calls: bytes, name: str, retries: int, done: Callable[[Any, str], None], alone: bool = True
    ) -> None:
        self.function, self.calls, self.name, self.retries, self.done, self.alone = function, calls, name, retries, done, alone
        self.task: ArrayTask | None = None
        self.cancelled = False


class ArrayTask:
    """A task of an array. `chunks`: its chunks without an outcome, by their numbers; `shared`: it began with several chunks.

    `deleted`: a user has deleted the task.
    """

    def __init__(self, array: RunningArray, number: int, chunks: list[CallChunk]) -> None:
        self.array, self.chunks = array, dict(enumerate(chunks))
        self.location = TaskLocation(array.job_id, number, "")
        self.shared = len(chunks) > 1
        self.began = self.deleted = False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        for chunk in chunks:
            chunk.task = self

    def name(self, index: int) -> str:
        """The name of the files of a chunk."""
        return f"{self.location.task_id}.{index}"

    def number_of(self, chunk: CallChunk) -> int:
        """The number of a chunk. Raises StopIteration when it has an outcome."""
        return next(index for index, each in self.chunks.items() if each is chunk)

    def reclaim(self, index: int) -> bool:
        """Take a chunk back from the task; whether that succeeded: the task has not begun with the chunk, and cannot any more."""
        try:
            return self.shared and worker.claim(self.array.directory, self.name(index), worker.PROGRAM)
        except OSError:
            return False  # unknown

    def has_begun(self) -> bool:
        """Whether the task has begun with its first chunk."""
        return worker.is_claimed(self.array.directory, self.name(0))

    def outcomes(self, index: int) -> list[Any]:
        """As `call_files.read_outcomes`."""
        return call_files.read_outcomes(self.array.directory, self.name(index), self.location)

    def log(self, index: int) -> str:
        """The end of the output of a chunk."""
        return call_files.read_log(self.array.directory, self.name(index) if self.shared else str(self.location.task_id))

    def set_timer(self, name: str, after_s: float, action: Callable[[], None]) -> None:
        """Call `action` after so many s, and cancel the earlier timer of this name."""
        self.stop_timer(name)
        self._timers[name] = asyncio.get_running_loop().call_later(after_s, action)

    def stop_timer(self, name: str) -> None:
        """Cancel the timer of this name."""
        if timer := self._timers.pop(name, None):
            timer.cancel()

    def stop_timers(self) -> None:
        """Cancel all timers of the task."""
        for name in list(self._timers):
            self.stop_timer(name)


class RunningArray:
    """An array job. `tasks`: its unfinished tasks, by their numbers; `follower`: the asyncio task that follows the job."""

    def __init__(self, job_id: int, directory: Path, groups: list[list[CallChunk]]) -> None:
        self.job_id, self.directory = job_id, directory
        self.tasks = {number: ArrayTask(self, number, chunks) for number, chunks in enumerate(groups, start=1)}
        self.follower: asyncio.Task[None] | None = None

    def stop_timers(self) -> None:
        """Cancel all timers of the array."""
        for task in self.tasks.values():
            task.stop_timers()
