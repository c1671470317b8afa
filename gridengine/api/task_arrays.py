"""The array jobs of a GridExecutor: chunks that wait become one, its tasks are followed to their ends, results are read.

Owns how chunks come to tasks and what becomes of them, on the event loop of an executor, in a thread of its own: files are read
and written right there. What a user sees is `executor`; what runs is `running_arrays`; the files are `call_files`. Waits for what
the qmaster tells, and looks by the clock once a task, when its shift must be over. Called by `executor`. Source: adr/0166.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import aclosing
from itertools import count, groupby
from typing import Any, NamedTuple

from gridengine.api import call_files, worker
from gridengine.api.async_cell import AsyncCell
from gridengine.api.call_files import PrivateDirectory, Raised
from gridengine.api.running_arrays import ArrayTask, CallChunk, RunningArray
from gridengine.api.task_faults import LostHost, TaskFailed
from gridengine.api.wire import GridError

#: chunks of one array, and arrays that are followed at a time, each on a connection of its own
CHUNKS, ARRAYS = 1000, 200
#: tasks among which the chunks of a map are divided as long as it is not known how long they take
TASKS = 64
#: s for which a task goes on to take chunks; s after its begin when those that it has not taken are taken from it
SHIFT_S, LOOK_AFTER_S = 1.0, 2.0
#: s for which a result may be on its way through a file server, once its task has ended well
_SEEN_S = 10.0
_LOOK_S = 0.1
#: characters of a log in an exception
_TOLD = 2000


class ArrayWishes(NamedTuple):
    """What all arrays of an executor have in common. `job`: fields of a job; `host_patience`: s that a host may be lost.

    `retry_on`: exceptions of functions after which a chunk is tried again.
    """

    python: str
    job: dict[str, Any]
    most_bytes: int
    host_patience: float
    retry_on: tuple[type[BaseException], ...]


def in_tasks(chunks: list[CallChunk]) -> Iterator[list[CallChunk]]:
    """The chunks of each task: one, or as many as make TASKS tasks of the chunks of one map that need not be alone."""
    for (_, alone), group in groupby(chunks, lambda chunk: (id(chunk.function), chunk.alone)):
        members = list(group)
        size = 1 if alone else -(-len(members) // TASKS)
        yield from (members[begin : begin + size] for begin in range(0, len(members), size))


class TaskArrays:
    """`run` is the life of the loop: it ends when `close` was called and nothing is left."""

    def __init__(self, cell: AsyncCell, directory: PrivateDirectory, wishes: ArrayWishes) -> None:
        self._cell, self._directory, self._wishes = cell, directory, wishes
        self._numbers = count(1)
        self._waiting: list[CallChunk] = []
        self._wake = asyncio.Event()
        self._room = asyncio.Semaphore(ARRAYS)
        self._following: set[asyncio.Task[None]] = set()
        self._closing = False

    # --- called on the loop ----------------------------------------------------------------------------------

    def add(self, chunks: list[CallChunk]) -> None:
        """Have chunks run."""
        self._waiting += chunks
        self._wake.set()

    def cancel(self, chunk: CallChunk) -> None:
        """A chunk is not wanted any more, wherever it is."""
        if chunk in self._waiting:
            self._waiting.remove(chunk)
        elif chunk.task is not None:
            self._drop(chunk.task, chunk)

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
                    batch, self._waiting = self._waiting[:CHUNKS], self._waiting[CHUNKS:]
                    await self._submit([chunk for chunk in batch if not chunk.cancelled])

    # --- arrays ----------------------------------------------------------------------------------------------

    async def _submit(self, batch: list[CallChunk]) -> None:
        """Make an array of chunks and follow it; they fail where that cannot be."""
        directory = self._directory.path / str(next(self._numbers))
        groups = list(in_tasks(batch))
        rows = [[(chunk.function, chunk.calls) for chunk in group] for group in groups]
        try:
            if not batch:
                self._room.release()
                return
            call_files.write_calls(directory, rows, self._wishes.most_bytes, SHIFT_S)
            submitted = await self._cell.submit(
                self._wishes.python,
                *("-P", worker.__file__, str(directory)),
                binary=True,
                **{"name": batch[0].name, "cwd": directory, "stdout": directory / "$TASK_ID.log", **self._wishes.job},
                merge=True,
                no_shell=True,
                tasks=f"1-{len(groups)}",
            )
        except (GridError, OSError, ValueError) as error:
            self._room.release()
            for chunk in batch:
                chunk.done(error, "")
            return
        array = RunningArray(submitted.id, directory, groups)
        for chunk in batch:
            if chunk.cancelled and chunk.task is not None:
                self._drop(chunk.task, chunk)
        array.follower = self._start(self._follow(array))

    def _start(self, coroutine: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(coroutine)
        self._following.add(task)
        task.add_done_callback(self._ended_following)
        return task

    def _ended_following(self, task: asyncio.Task[None]) -> None:
        self._following.discard(task)
        self._wake.set()

    async def _delete(self, task: ArrayTask) -> None:
        try:
            await self._cell.delete(f"{task.place.job_id}.{task.place.task_id}")
        except GridError:
            pass  # it is over, or nobody can be told

    async def _follow(self, array: RunningArray) -> None:
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
            array.stop_clocks()
            self._room.release()
        for task in list(array.tasks.values()):
            self._all_over(task, TaskFailed(fault, *task.place) if isinstance(fault, str) else fault)

    async def _progress(self, array: RunningArray, record: dict[str, Any]) -> None:
        """Take what the qmaster says of an array."""
        number = record["task_id"]
        if record.get("error"):
            for each in [number] if number else list(array.tasks):
                if each in array.tasks:
                    await self._in_error(array.tasks[each], record["error"])
            return
        task = array.tasks.get(number)
        if task is None:
            return
        if record.get("started"):
            task.began, task.place = True, task.place._replace(host=record["host"])
            if task.shared:
                task.set_clock("shift", LOOK_AFTER_S, lambda: self._look(task))
        elif "lost" in record:
            task.stop_clock("host")
            if record["lost"]:
                task.set_clock("host", self._wishes.host_patience, lambda: self._give_up(task))
        elif record.get("deleting"):
            task.deleted = True
        elif record.get("deleted"):
            self._all_over(task, TaskFailed("it was deleted before it began", *task.place))
        elif "exit_status" in record:
            await self._ended(task, record)

    # --- tasks -----------------------------------------------------------------------------------------------

    async def _in_error(self, task: ArrayTask, reason: str) -> None:
        self._all_over(task, TaskFailed(f"it cannot be started: {reason}", *task.place), again=False)
        await self._delete(task)

    def _look(self, task: ArrayTask) -> None:
        """The shift of a task is over: whatever it has not begun with need not wait for the chunk that takes it so long."""
        if task.has_begun_work():
            self._settle(task)
        else:
            task.set_clock("shift", LOOK_AFTER_S, lambda: self._look(task))

    def _settle(self, task: ArrayTask) -> None:
        """Have done with the chunks that have an outcome, and have those run elsewhere that the task has not begun with."""
        for which in list(task.chunks):
            try:
                self._take_outcomes(task, which)
            except FileNotFoundError:
                if task.take_back(which):
                    self._come_back(task, which)

    def _come_back(self, task: ArrayTask, which: int) -> None:
        """A chunk that was not begun with runs in another task; in none if its own one was deleted."""
        if task.deleted:
            self._over(task, which, TaskFailed("it was deleted before it began", *task.place))
            return
        chunk = task.chunks.pop(which)
        self._forget(task)
        chunk.task, chunk.alone = None, True
        if not chunk.cancelled:
            self.add([chunk])

    def _drop(self, task: ArrayTask, chunk: CallChunk) -> None:
        """A chunk of a task is not wanted any more. What it shares the task with goes on."""
        which = task.number_of(chunk)
        begun = not task.take_back(which)
        del task.chunks[which]
        chunk.task = None
        if begun:
            self._settle(task)
        if not task.chunks:  # one that is left is being made, so the other one has been made already
            self._start(self._delete(task))
        self._forget(task)

    def _give_up(self, task: ArrayTask) -> None:
        """The host of a task was lost for too long."""
        self._settle(task)
        self._all_over(task, LostHost("the host is lost", *task.place))
        self._start(self._delete(task))
        if not task.array.tasks and task.array.follower is not None:
            task.array.follower.cancel()  # of a lost host nothing may ever be told

    async def _ended(self, task: ArrayTask, record: dict[str, Any]) -> None:
        """Read what a task has left. What a file server still hides of one that ended well is waited for."""
        begin, well = time.monotonic(), not (record["failed"] or record["exit_status"])
        self._settle(task)
        while task.chunks and well and time.monotonic() - begin < _SEEN_S:
            await asyncio.sleep(_LOOK_S)
            self._settle(task)
        for which in list(task.chunks):
            log = task.log(which)
            self._over(task, which, TaskFailed(_how(record), *task.place, log[-_TOLD:].rstrip()), log)

    def _take_outcomes(self, task: ArrayTask, which: int) -> None:
        """Have done with a chunk. Raises FileNotFoundError where it has left nothing."""
        try:
            outcomes: Any = task.outcomes(which)
        except FileNotFoundError:
            raise
        except Exception as error:  # a class whose unpickling fails
            outcomes = TaskFailed(f"its result cannot be read: {type(error).__name__}: {error}", *task.place)
        self._over(task, which, outcomes, task.log(which))

    def _all_over(self, task: ArrayTask, fault: Exception, again: bool = True) -> None:
        """None of a task's chunks will have a result."""
        for which in list(task.chunks):
            self._over(task, which, fault, again=again)

    def _over(self, task: ArrayTask, which: int, outcomes: Any, log: str = "", again: bool = True) -> None:
        """A chunk has a result or none; without one it may have another try."""
        chunk = task.chunks.pop(which)
        self._forget(task)
        if again and chunk.tries and not chunk.cancelled and self._failed(outcomes):
            chunk.tries -= 1
            chunk.task, chunk.alone = None, True
            self.add([chunk])
        else:
            chunk.done(outcomes, log)

    @staticmethod
    def _forget(task: ArrayTask) -> None:
        """A task without chunks is over for its program."""
        if not task.chunks:
            task.stop_clocks()
            task.array.tasks.pop(task.place.task_id, None)

    def _failed(self, outcomes: Any) -> bool:
        """Whether this is a reason for another try."""
        if isinstance(outcomes, Exception):
            return True
        return any(isinstance(each, Raised) and isinstance(each.error, self._wishes.retry_on) for each in outcomes)


def _how(record: dict[str, Any]) -> str:
    """How a task ended that left nothing."""
    from gridengine.failed import TEXTS

    status, failed = record["exit_status"], record["failed"]
    why = f" (failed {failed}: {TEXTS.get(failed, 'unknown reason')})" if failed else ""
    how = f"signal {status - 128}" if status > 128 else f"exit status {status}"
    return f"it ended with {how} and without a result{why}"
