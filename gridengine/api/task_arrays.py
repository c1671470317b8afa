"""The array jobs of a GridExecutor: calls that wait become one, its tasks are followed to their ends, results are read.

Owns what is running, on the event loop of an executor, in a thread of its own: files are read and written right there. What a
user sees is `executor`; the files are `call_files`. Waits for what the qmaster tells, and never looks by the clock. Called by
`executor`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from gridengine.api import call_files, worker
from gridengine.api.async_cell import AsyncCell
from gridengine.api.call_files import PrivateDirectory, Raised, TaskPlace
from gridengine.api.task_faults import LostHost, TaskFailed
from gridengine.api.wire import GridError

#: tasks of one array, and arrays that are followed at a time, each on a connection of its own
TASKS, ARRAYS = 1000, 200
#: s for which a result may be on its way through a file server, once its task has ended well
_SEEN_S = 10.0
_LOOK_S = 0.1


class PendingTask:
    """A task that is to run: `calls` of a `function`, pickled. `done(outcomes or exception, log)` is called once, on the loop.

    `tries`: how often it may be tried again.
    """

    def __init__(self, function: bytes, calls: bytes, name: str, tries: int, done: Callable[[Any, str], None]) -> None:
        self.function, self.calls, self.name, self.tries, self.done = function, calls, name, tries, done
        self.place: TaskPlace | None = None
        self.began = self.cancelled = False


class ArrayWishes(NamedTuple):
    """What all arrays of an executor have in common. `job`: fields of a job; `host_patience`: s that a host may be lost.

    `retry_on`: exceptions of functions after which a task is tried again.
    """

    python: str
    job: dict[str, Any]
    most_bytes: int
    host_patience: float
    retry_on: tuple[type[BaseException], ...]


class TaskArrays:
    """`run` is the life of the loop: it ends when `close` was called and nothing is left."""

    def __init__(self, cell: AsyncCell, directory: PrivateDirectory, wishes: ArrayWishes) -> None:
        self._cell, self._directory, self._wishes = cell, directory, wishes
        self._numbers = count(1)
        self._waiting: list[PendingTask] = []
        self._wake = asyncio.Event()
        self._room = asyncio.Semaphore(ARRAYS)
        self._following: set[asyncio.Task[None]] = set()
        self._closing = False

    # --- called on the loop ----------------------------------------------------------------------------------

    def add(self, tasks: list[PendingTask]) -> None:
        """Have tasks run."""
        self._waiting += tasks
        self._wake.set()

    def cancel(self, task: PendingTask) -> None:
        """A task is not wanted any more, wherever it is."""
        task.cancelled = True
        if task in self._waiting:
            self._waiting.remove(task)
        elif task.place is not None:
            self._start(self._delete(task.place))

    def close(self) -> None:
        """Nothing will be added any more."""
        self._closing = True
        self._wake.set()

    async def run(self) -> None:
        """Submit what waits, until all is closed and over."""
        async with self._cell:
            while self._waiting or self._following or not self._closing:
                await self._wake.wait()
                self._wake.clear()
                while self._waiting:
                    await self._room.acquire()
                    batch, self._waiting = self._waiting[:TASKS], self._waiting[TASKS:]
                    await self._submit(batch)

    # --- arrays ----------------------------------------------------------------------------------------------

    async def _submit(self, batch: list[PendingTask]) -> None:
        """Make an array of tasks and follow it; they fail where that cannot be."""
        batch = [task for task in batch if not task.cancelled]
        directory = self._directory.path / str(next(self._numbers))
        rows = [(task.function, task.calls) for task in batch]
        try:
            if not batch:
                self._room.release()
                return
            call_files.write_calls(directory, rows, self._wishes.most_bytes)
            submitted = await self._cell.submit(
                self._wishes.python,
                *("-P", worker.__file__, str(directory)),
                binary=True,
                **{"name": batch[0].name, "cwd": directory, "stdout": directory / "$TASK_ID.log", **self._wishes.job},
                merge=True,
                no_shell=True,
                tasks=f"1-{len(batch)}",
            )
        except (GridError, OSError, ValueError) as error:
            self._room.release()
            for task in batch:
                task.done(error, "")
            return
        array = FollowedArray(submitted.id, directory, dict(enumerate(batch, start=1)))
        for number, task in array.tasks.items():
            task.place = TaskPlace(array.job_id, number, "")
            if task.cancelled:
                self._start(self._delete(task.place))
        array.follower = self._start(self._follow(array))

    def _start(self, coroutine: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(coroutine)
        self._following.add(task)
        task.add_done_callback(self._ended_following)
        return task

    def _ended_following(self, task: asyncio.Task[None]) -> None:
        self._following.discard(task)
        self._wake.set()

    async def _delete(self, place: TaskPlace) -> None:
        try:
            await self._cell.delete(f"{place.job_id}.{place.task_id}")
        except GridError:
            pass  # it is over, or nobody can be told

    async def _follow(self, array: FollowedArray) -> None:
        """An array from its first to its last task."""
        try:
            async with aclosing(self._cell.progress(array.job_id)) as records:
                async for record in records:
                    await self._progress(array, record)
                    if not array.tasks:
                        break
            fault: Exception | str = "the job is over, and the qmaster knows of no end of this task"
        except (GridError, OSError) as error:
            fault = error
        except asyncio.CancelledError:
            return
        except Exception as error:
            fault = f"internal error: {type(error).__name__}: {error}"
        finally:
            array.forget_hosts()
            self._room.release()
        for number in list(array.tasks):
            self._over(array, number, TaskFailed(fault, *array.place(number)) if isinstance(fault, str) else fault)

    async def _progress(self, array: FollowedArray, record: dict[str, Any]) -> None:
        """Take what the qmaster says of an array."""
        number = record["task_id"]
        if record.get("error"):
            for each in [number] if number else list(array.tasks):
                await self._in_error(array, each, record["error"])
            return
        task = array.tasks.get(number)
        if task is None:
            return
        if record.get("started"):
            task.began, task.place = True, TaskPlace(array.job_id, number, record["host"])
        elif "lost" in record:
            array.host_changed(number, record["lost"], self._wishes.host_patience, lambda: self._give_up(array, number))
        elif record.get("deleted"):
            self._over(array, number, TaskFailed("it was deleted before it began", *array.place(number)))
        elif "exit_status" in record:
            await self._ended(array, number, record)

    async def _in_error(self, array: FollowedArray, number: int, reason: str) -> None:
        if number in array.tasks:
            place = array.place(number)
            self._over(array, number, TaskFailed(f"it cannot be started: {reason}", *place), again=False)
            await self._delete(place)

    def _give_up(self, array: FollowedArray, number: int) -> None:
        """The host of a task was lost for too long."""
        place = array.place(number)
        self._over(array, number, LostHost("the host is lost", *place))
        self._start(self._delete(place))
        if not array.tasks and array.follower is not None:
            array.follower.cancel()  # of a lost host nothing may ever be told

    async def _ended(self, array: FollowedArray, number: int, record: dict[str, Any]) -> None:
        """Read what a task has left."""
        place, well = array.place(number), not (record["failed"] or record["exit_status"])
        try:
            outcomes: Any = await self._outcomes(array.directory, place, well)
        except FileNotFoundError:
            outcomes = None
        except Exception as error:  # a class whose unpickling fails
            outcomes = TaskFailed(f"its result cannot be read: {type(error).__name__}: {error}", *place)
        log = call_files.read_log(array.directory, number)
        if outcomes is None:
            outcomes = TaskFailed(_how(record), *place, log[-2000:].rstrip())
        self._over(array, number, outcomes, log)

    @staticmethod
    async def _outcomes(directory: Path, place: TaskPlace, well: bool) -> Any:
        """Raises FileNotFoundError, and whatever unpickling does."""
        begin = time.monotonic()
        while True:
            try:
                return call_files.read_outcomes(directory, place)
            except FileNotFoundError:
                if not well or time.monotonic() - begin > _SEEN_S:
                    raise
            await asyncio.sleep(_LOOK_S)

    def _over(self, array: FollowedArray, number: int, outcomes: Any, log: str = "", again: bool = True) -> None:
        """A task has a result or none; without one it may have another try."""
        task = array.tasks.pop(number, None)
        if task is None:  # its host was given up while its result was looked for
            return
        array.host_changed(number, False, 0.0, lambda: None)
        if again and task.tries and not task.cancelled and self._failed(outcomes):
            task.tries -= 1
            task.began, task.place = False, None
            self.add([task])
        else:
            task.done(outcomes, log)

    def _failed(self, outcomes: Any) -> bool:
        """Whether this is a reason for another try."""
        if isinstance(outcomes, Exception):
            return True
        return any(isinstance(each, Raised) and isinstance(each.error, self._wishes.retry_on) for each in outcomes)


class FollowedArray:
    """An array that runs. `tasks`: those that are not over, by their numbers; `follower`: who follows it."""

    def __init__(self, job_id: int, directory: Path, tasks: dict[int, PendingTask]) -> None:
        self.job_id, self.directory, self.tasks = job_id, directory, tasks
        self.follower: asyncio.Task[None] | None = None
        self._lost: dict[int, asyncio.TimerHandle] = {}

    def place(self, number: int) -> TaskPlace:
        """Where a task is."""
        return self.tasks[number].place or TaskPlace(self.job_id, number, "")

    def host_changed(self, number: int, lost: bool, patience: float, give_up: Callable[[], None]) -> None:
        """The host of a task is lost, and may come back, or is there again."""
        if timer := self._lost.pop(number, None):
            timer.cancel()
        if lost:
            self._lost[number] = asyncio.get_running_loop().call_later(patience, give_up)

    def forget_hosts(self) -> None:
        """Nobody waits for hosts any more."""
        for timer in self._lost.values():
            timer.cancel()


def _how(record: dict[str, Any]) -> str:
    """How a task ended that left nothing."""
    from gridengine.failed import TEXTS

    status, failed = record["exit_status"], record["failed"]
    why = f" (failed {failed}: {TEXTS.get(failed, 'unknown reason')})" if failed else ""
    how = f"signal {status - 128}" if status > 128 else f"exit status {status}"
    return f"it ended with {how} and without a result{why}"
