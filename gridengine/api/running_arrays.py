"""The array jobs of a GridExecutor that run: their tasks, and the chunks of calls of each.

Owns which chunks have no outcome yet, whose each chunk is, and the clocks of a task: of a host that is lost, and of a shift that
is over. Knows no qmaster. Called by `task_arrays`; the other end of the claims is `worker`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridengine.api import call_files, worker
from gridengine.api.call_files import TaskPlace


class CallChunk:
    """Calls that are made one after the other: `calls` of a `function`, pickled. `done(outcomes or exception, log)` is called
    once, on the loop.

    `tries`: how often it may be tried again. `alone`: it shares no task with others. `task`: where it is, None while it waits.
    """

    def __init__(
        self, function: bytes, calls: bytes, name: str, tries: int, done: Callable[[Any, str], None], alone: bool = True
    ) -> None:
        self.function, self.calls, self.name, self.tries, self.done, self.alone = function, calls, name, tries, done, alone
        self.task: ArrayTask | None = None
        self.cancelled = False


class ArrayTask:
    """A task of an array. `chunks`: those that have no outcome, by their numbers in it; `shared`: there was more than one.

    `deleted`: somebody has had it deleted.
    """

    def __init__(self, array: RunningArray, number: int, chunks: list[CallChunk]) -> None:
        self.array, self.chunks = array, dict(enumerate(chunks))
        self.place = TaskPlace(array.job_id, number, "")
        self.shared = len(chunks) > 1
        self.began = self.deleted = False
        self._clocks: dict[str, asyncio.TimerHandle] = {}
        for chunk in chunks:
            chunk.task = self

    def name(self, which: int) -> str:
        """Of the files of a chunk."""
        return f"{self.place.task_id}.{which}"

    def number_of(self, chunk: CallChunk) -> int:
        """Raises StopIteration when it has an outcome."""
        return next(which for which, each in self.chunks.items() if each is chunk)

    def take_back(self, which: int) -> bool:
        """Whether the task has not begun with a chunk, and now never will."""
        try:
            return self.shared and worker.claim(self.array.directory, self.name(which), worker.PROGRAM)
        except OSError:
            return False  # nobody can say

    def has_begun_work(self) -> bool:
        """Whether it has begun with its first chunk."""
        return worker.is_claimed(self.array.directory, self.name(0))

    def outcomes(self, which: int) -> list[Any]:
        """As `call_files.read_outcomes`."""
        return call_files.read_outcomes(self.array.directory, self.name(which), self.place)

    def log(self, which: int) -> str:
        """The end of what was printed by a chunk."""
        return call_files.read_log(self.array.directory, self.name(which) if self.shared else str(self.place.task_id))

    def set_clock(self, name: str, after_s: float, act: Callable[[], None]) -> None:
        """Call `act` after so many s, instead of what was to be called under this name."""
        self.stop_clock(name)
        self._clocks[name] = asyncio.get_running_loop().call_later(after_s, act)

    def stop_clock(self, name: str) -> None:
        """What was to be called under this name is not."""
        if clock := self._clocks.pop(name, None):
            clock.cancel()

    def stop_clocks(self) -> None:
        """Nothing is to be called any more."""
        for name in list(self._clocks):
            self.stop_clock(name)


class RunningArray:
    """`tasks`: those that are not over, by their numbers; `follower`: who follows it."""

    def __init__(self, job_id: int, directory: Path, groups: list[list[CallChunk]]) -> None:
        self.job_id, self.directory = job_id, directory
        self.tasks = {number: ArrayTask(self, number, chunks) for number, chunks in enumerate(groups, start=1)}
        self.follower: asyncio.Task[None] | None = None

    def stop_clocks(self) -> None:
        """Nobody waits for its tasks any more."""
        for task in self.tasks.values():
            task.stop_clocks()
