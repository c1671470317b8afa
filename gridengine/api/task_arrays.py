"""The array jobs of a GridExecutor: submits waiting chunks as an array, follows its tasks to their ends, reads results.

Owns the assignment of chunks to tasks and the handling of their ends, on the event loop of an executor, in a separate thread,
which may block on files. `executor` is the user's interface, `running_arrays` has the state, `call_files` the files. Follows the
qmaster's records, and polls a task only once, by a timer, at the end of its shift. Called by `executor`. Source: adr/0166.
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

#: chunks of an array, and arrays that are followed at a time, each on its own connection
CHUNKS, ARRAYS = 1000, 200
#: number of tasks for the chunks of a map, whose run time is unknown
TASKS = 64
#: s for which a task takes further chunks; s after its start when its remaining chunks are reclaimed
SHIFT_S, CHECK_AFTER_S = 1.0, 2.0
#: s within which a file server shows a result after the success of its task
_VISIBLE_WITHIN_S = 10.0
_POLL_S = 0.1
#: characters of a log in an exception
_LOG_CHARACTERS = 2000


class ArrayOptions(NamedTuple):
    """The common options of all arrays of an executor. `python`: path of the interpreter on the hosts; `most_bytes`: maximum size
    of the results of a task, or of a chunk. `job`: fields of a job; `host_patience`: s for which a host may be lost.

    `retry_on`: exceptions of functions after which a chunk is retried.
    """

    python: str
    job: dict[str, Any]
    most_bytes: int
    host_patience: float
    retry_on: tuple[type[BaseException], ...]


def group_into_tasks(chunks: list[CallChunk]) -> Iterator[list[CallChunk]]:
    """The chunks of each task: a single chunk that must be alone, or an equal part of a map's chunks for at most TASKS tasks."""
    for (_, alone), group in groupby(chunks, lambda chunk: (id(chunk.function), chunk.alone)):
        members = list(group)
        size = 1 if alone else -(-len(members) // TASKS)
        yield from (members[begin : begin + size] for begin in range(0, len(members), size))


class TaskArrays:
    """The arrays of an executor. `run` is the main task of the loop; it ends after `close`, when all chunks are finished."""

    def __init__(self, cell: AsyncCell, directory: PrivateDirectory, options: ArrayOptions) -> None:
        self._cell, self._directory, self._options = cell, directory, options
        self._numbers = count(1)
        self._waiting: list[CallChunk] = []
        self._wake = asyncio.Event()
        self._array_slots = asyncio.Semaphore(ARRAYS)
        self._following: set[asyncio.Task[None]] = set()
        self._closing = False

    # --- called on the loop ----------------------------------------------------------------------------------

    def add(self, chunks: list[CallChunk]) -> None:
        """Add chunks to the queue."""
        self._waiting += chunks
        self._wake.set()

    def cancel(self, chunk: CallChunk) -> None:
        """Cancel a chunk, queued or running."""
        if chunk in self._waiting:
            self._waiting.remove(chunk)
        elif chunk.task is not None:
            self._drop_chunk(chunk.task, chunk)

    def close(self) -> None:
        """Accept no further chunks."""
        self._closing = True
        self._wake.set()

    async def run(self) -> None:
        """Submit waiting chunks, until the arrays are closed and finished."""
        async with self._cell:
            while self._waiting or self._following or not self._closing:
                await self._wake.wait()
                self._wake.clear()
                while self._waiting:
                    await self._array_slots.acquire()
                    batch, self._waiting = self._waiting[:CHUNKS], self._waiting[CHUNKS:]
                    await self._submit([chunk for chunk in batch if not chunk.cancelled])

    # --- arrays ----------------------------------------------------------------------------------------------

    async def _submit(self, batch: list[CallChunk]) -> None:
        """Submit an array of chunks and follow it; the chunks fail if the submission fails."""
        directory = self._directory.path / str(next(self._numbers))
        groups = list(group_into_tasks(batch))
        rows = [[(chunk.function, chunk.calls) for chunk in group] for group in groups]
        try:
            if not batch:
                self._array_slots.release()
                return
            call_files.write_calls(directory, rows, self._options.most_bytes, SHIFT_S)
            submitted = await self._cell.submit(
                self._options.python, "-P", worker.__file__, str(directory), binary=True,
                **{"name": batch[0].name, "cwd": directory, "stdout": directory / "$TASK_ID.log", **self._options.job},
                merge=True, no_shell=True, tasks=f"1-{len(groups)}",
            )
        except (GridError, OSError, ValueError) as error:
            self._array_slots.release()
            for chunk in batch:
                chunk.done(error, "")
            return
        array = RunningArray(submitted.id, directory, groups)
        for chunk in batch:
            if chunk.cancelled and chunk.task is not None:
                self._drop_chunk(chunk.task, chunk)
        array.follower = self._start(self._follow(array))

    def _start(self, coroutine: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(coroutine)
        self._following.add(task)
        task.add_done_callback(self._discard_follower)
        return task

    def _discard_follower(self, task: asyncio.Task[None]) -> None:
        self._following.discard(task)
        self._wake.set()

    async def _delete(self, task: ArrayTask) -> None:
        try:
            await self._cell.delete(f"{task.location.job_id}.{task.location.task_id}")
        except GridError:
            pass  # the task has ended, or no qmaster answers

    async def _follow(self, array: RunningArray) -> None:
        """Follow an array from its first to its last task."""
        try:
            async with aclosing(self._cell.progress(array.job_id)) as records:
                async for record in records:
                    await self._handle_record(array, record)
                    if not array.tasks:
                        break
            fault: Exception | str = "the job has ended, and the qmaster has no record of the end of this task"
        except (GridError, OSError) as error:
            fault = error
        except asyncio.CancelledError:
            return
        except Exception as error:  # its futures must not wait forever
            fault = f"internal error: {type(error).__name__}: {error}"
        finally:
            array.stop_timers()
            self._array_slots.release()
        for task in list(array.tasks.values()):
            self._finish_all(task, TaskFailed(fault, *task.location) if isinstance(fault, str) else fault)

    async def _handle_record(self, array: RunningArray, record: dict[str, Any]) -> None:
        """Handle a record of the qmaster about an array."""
        number = record["task_id"]
        if record.get("error"):
            for each in [number] if number else list(array.tasks):
                if each in array.tasks:
                    await self._handle_error(array.tasks[each], record["error"])
            return
        task = array.tasks.get(number)
        if task is None:
            return
        if record.get("started"):
            task.began, task.location = True, task.location._replace(host=record["host"])
            if task.shared:
                task.set_timer("shift", CHECK_AFTER_S, lambda: self._check_shift(task))
        elif "lost" in record:
            task.stop_timer("host")
            if record["lost"]:
                task.set_timer("host", self._options.host_patience, lambda: self._give_up(task))
        elif record.get("deleting"):
            task.deleted = True
        elif record.get("deleted"):
            self._finish_all(task, TaskFailed("it was deleted before it began", *task.location))
        elif "exit_status" in record:
            await self._handle_end(task, record)

    # --- tasks -----------------------------------------------------------------------------------------------

    async def _handle_error(self, task: ArrayTask, reason: str) -> None:
        self._finish_all(task, TaskFailed(f"it cannot be started: {reason}", *task.location), may_retry=False)
        await self._delete(task)

    def _check_shift(self, task: ArrayTask) -> None:
        """At the end of a task's shift: reclaim its remaining chunks, which need not wait for the chunk that still runs."""
        if task.has_begun():
            self._collect_outcomes(task)
        else:
            task.set_timer("shift", CHECK_AFTER_S, lambda: self._check_shift(task))

    def _collect_outcomes(self, task: ArrayTask) -> None:
        """Finish the chunks that have an outcome, and requeue the chunks that the task has not begun with."""
        for index in list(task.chunks):
            try:
                self._take_outcomes(task, index)
            except FileNotFoundError:
                if task.reclaim(index):
                    self._requeue_chunk(task, index)

    def _requeue_chunk(self, task: ArrayTask, index: int) -> None:
        """Run a reclaimed chunk in another task; if its own task was deleted, the chunk fails."""
        if task.deleted:
            self._finish_chunk(task, index, TaskFailed("it was deleted before it began", *task.location))
            return
        chunk = task.chunks.pop(index)
        self._remove_finished(task)
        chunk.task, chunk.alone = None, True
        if not chunk.cancelled:
            self.add([chunk])

    def _drop_chunk(self, task: ArrayTask, chunk: CallChunk) -> None:
        """Cancel a chunk of a task. Other chunks of the task continue."""
        index = task.number_of(chunk)
        begun = not task.reclaim(index)
        del task.chunks[index]
        chunk.task = None
        if begun:
            self._collect_outcomes(task)
        if not task.chunks:  # a remaining chunk is running, so the cancelled chunk has been completed already
            self._start(self._delete(task))
        self._remove_finished(task)

    def _give_up(self, task: ArrayTask) -> None:
        """Fail the chunks of a task whose host was lost for too long."""
        self._collect_outcomes(task)
        self._finish_all(task, LostHost("the host is lost", *task.location))
        self._start(self._delete(task))
        if not task.array.tasks and task.array.follower is not None:
            task.array.follower.cancel()  # no record of a lost host may ever come

    async def _handle_end(self, task: ArrayTask, record: dict[str, Any]) -> None:
        """Read the results of a task. After a success, wait for results that a file server does not show yet."""
        begin, succeeded = time.monotonic(), not (record["failed"] or record["exit_status"])
        self._collect_outcomes(task)
        while task.chunks and succeeded and time.monotonic() - begin < _VISIBLE_WITHIN_S:
            await asyncio.sleep(_POLL_S)
            self._collect_outcomes(task)
        for index in list(task.chunks):
            log = task.log(index)
            self._finish_chunk(task, index, TaskFailed(_end_text(record), *task.location, log[-_LOG_CHARACTERS:].rstrip()), log)

    def _take_outcomes(self, task: ArrayTask, index: int) -> None:
        """Finish a chunk. Raises FileNotFoundError if it has no result."""
        try:
            outcomes: Any = task.outcomes(index)
        except FileNotFoundError:
            raise
        except Exception as error:  # a class whose unpickling fails
            outcomes = TaskFailed(f"its result cannot be read: {type(error).__name__}: {error}", *task.location)
        self._finish_chunk(task, index, outcomes, task.log(index))

    def _finish_all(self, task: ArrayTask, fault: Exception, may_retry: bool = True) -> None:
        """Finish all chunks of a task without results."""
        for index in list(task.chunks):
            self._finish_chunk(task, index, fault, may_retry=may_retry)

    def _finish_chunk(self, task: ArrayTask, index: int, outcomes: Any, log: str = "", may_retry: bool = True) -> None:
        """Finish a chunk with its outcomes, or retry it after a failure."""
        chunk = task.chunks.pop(index)
        self._remove_finished(task)
        if may_retry and chunk.retries and not chunk.cancelled and self._is_failure(outcomes):
            chunk.retries -= 1
            chunk.task, chunk.alone = None, True
            self.add([chunk])
        else:
            chunk.done(outcomes, log)

    @staticmethod
    def _remove_finished(task: ArrayTask) -> None:
        """Remove a task without chunks from its array."""
        if not task.chunks:
            task.stop_timers()
            task.array.tasks.pop(task.location.task_id, None)

    def _is_failure(self, outcomes: Any) -> bool:
        """Whether these outcomes justify a retry."""
        if isinstance(outcomes, Exception):
            return True
        return any(isinstance(each, Raised) and isinstance(each.error, self._options.retry_on) for each in outcomes)


def _end_text(record: dict[str, Any]) -> str:
    """The end of a task without results, as a text."""
    from gridengine.usage.failed import TEXTS

    status, failed = record["exit_status"], record["failed"]
    reason = f" (failed {failed}: {TEXTS.get(failed, 'unknown reason')})" if failed else ""
    ending = f"signal {status - 128}" if status > 128 else f"exit status {status}"
    return f"it ended with {ending} and without a result{reason}"
