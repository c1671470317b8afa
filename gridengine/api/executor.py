"""`GridExecutor`: functions that run as tasks of a cell, behind the interface of `concurrent.futures`.

Owns the user's interface: futures, maps, shutting down. `task_arrays` runs the calls as array jobs. Called by users'
programs. Source: docs/python.md; PEP 3148.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from gridengine.api.async_cell import AsyncCell
from gridengine.api.call_files import Call, PrivateDirectory, Raised, pickled
from gridengine.api.job_fields import JobFields
from gridengine.api.running_arrays import CallChunk
from gridengine.api.task_arrays import CHUNKS, ArrayOptions, TaskArrays
from gridengine.api.task_faults import NotPicklable

if TYPE_CHECKING:
    from typing import Unpack

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_S, HOST_PATIENCE_S = 300.0, 30.0
MOST_BYTES = 2**28
#: variables of the caller's environment that influence a Python, besides PYTHON*
_PYTHON_VARIABLES = ("LD_LIBRARY_PATH", "VIRTUAL_ENV")


class GridFuture(Future[T]):
    """A call that runs in the cell. `cancel` also ends a running call; `log`: the output of the call, after its end."""

    def __init__(self, executor: GridExecutor) -> None:
        super().__init__()
        self._executor = executor
        self._chunk: CallChunk | None = None
        self.log = ""

    @property
    def job_id(self) -> int:
        """The array job of the call, 0 before it was submitted."""
        return self._chunk.task.location.job_id if self._chunk and self._chunk.task else 0

    @property
    def task_id(self) -> int:
        """The task of that job, 0 before it was submitted."""
        return self._chunk.task.location.task_id if self._chunk and self._chunk.task else 0

    def running(self) -> bool:
        """Whether the call has been dispatched."""
        return bool(self._chunk and self._chunk.task and self._chunk.task.began) and not self.done()

    def cancel(self) -> bool:
        """End the call, also while it runs. False once there is a result."""
        if not super().cancel():
            return False
        if self._chunk is not None:
            self._executor.cancel_chunk(self._chunk)
            self._chunk = None
            self.set_running_or_notify_cancel()
        return True

    def assign_chunk(self, chunk: CallChunk) -> None:
        """Note the chunk that contains this call."""
        self._chunk = chunk

    def set_outcome(self, outcome: Any, log: str) -> None:
        """Set the result, or the exception."""
        self.log = log
        if self.cancelled() or not self.set_running_or_notify_cancel():
            return
        if isinstance(outcome, Raised):
            self.set_exception(outcome.error)
        elif isinstance(outcome, Exception):
            self.set_exception(outcome)
        else:
            self.set_result(outcome)


_NONE: Any = object()


class GridMap(Iterator[T]):
    """Results of a map, in order. The exception of a failed call is raised at its position; `next` then continues behind it.

    `futures`: the futures of the chunks, each for several calls.
    """

    def __init__(
        self, futures: list[GridFuture[list[Any]]], sizes: list[int], timeout: float | None, return_exceptions: bool
    ) -> None:
        self.futures = futures
        self._sizes, self._return_exceptions = sizes, return_exceptions
        self._deadline = None if timeout is None else monotonic() + timeout
        self._next = 0
        self._outcomes: Iterator[Any] = iter(())

    def __next__(self) -> T:
        while (outcome := next(self._outcomes, _NONE)) is _NONE:
            if self._next == len(self.futures):
                raise StopIteration
            self._outcomes = iter(self._next_outcomes())
        if isinstance(outcome, Raised) and not self._return_exceptions:
            raise outcome.error
        result: Any = outcome.error if isinstance(outcome, Raised) else outcome
        return cast(T, result)

    def _next_outcomes(self) -> list[Any]:
        """The outcomes of the next chunk. Raises TimeoutError; a further call waits for the same chunk."""
        left = None if self._deadline is None else max(0.0, self._deadline - monotonic())
        future, size = self.futures[self._next], self._sizes[self._next]
        try:
            outcomes = future.result(left)
        except TimeoutError:
            if not future.done():
                raise
            outcomes = [Raised(TimeoutError())]
        except BaseException as error:  # of the user's function
            if not future.done():
                raise
            outcomes = [Raised(error)] * size
        self._next += 1
        return outcomes

    def cancel(self) -> None:
        """Cancel all calls that have not ended."""
        for future in self.futures:
            future.cancel()


class GridExecutor(Executor):
    """Runs functions in the cell: calls that come together are one array job.

    `job`: fields of a job, as for `Cell.submit`: `queue`, `hard` … `directory`: for the exchange of calls and results, shared
    with the exec hosts; ~/.gridengine if it is "". `python`: the interpreter of the jobs, the caller's if it is "". `retries`:
    number of retries of a call if its task ended without a result, or its function raised an exception of `retry_on`.
    `most_bytes`: maximum size of the results of a task, or of a chunk. `host_patience`: s for which the host of a task may be
    lost. `cell`: arguments of `AsyncCell`. Raises GridError, OSError.
    """

    def __init__(
        self,
        *,
        directory: str | os.PathLike[str] = "",
        python: str = "",
        retries: int = 0,
        retry_on: tuple[type[BaseException], ...] = (),
        most_bytes: int = MOST_BYTES,
        host_patience: float = HOST_PATIENCE_S,
        cell: dict[str, Any] | None = None,
        **job: Unpack[JobFields],
    ) -> None:
        fields: dict[str, Any] = {"environment": {**_environment(), **job.pop("environment", {})}, **job}
        self._retries = retries
        self._owner = os.getpid()
        self._closed = False
        self._outstanding: weakref.WeakSet[GridFuture[Any]] = weakref.WeakSet()
        grid = AsyncCell(**{"patience": PATIENCE_S, **(cell or {})})
        self._directory = PrivateDirectory(Path(directory or "~/.gridengine").expanduser())
        options = ArrayOptions(python or sys.executable, fields, most_bytes, host_patience, retry_on)
        self._arrays = TaskArrays(grid, self._directory, options)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run_loop, name="GridExecutor", daemon=True)
        self._thread.start()
        # at its exit the interpreter waits for outstanding calls, as with the executors of concurrent.futures
        atexit.register(_shut_down, weakref.ref(self))

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> GridFuture[T]:
        """Run a call in the cell. Raises NotPicklable, RuntimeError after `shutdown`."""
        function = pickled(fn, f"the function {_name_of(fn)}")
        future: GridFuture[T] = GridFuture(self)

        def done(outcomes: Any, log: str) -> None:
            future.set_outcome(outcomes if isinstance(outcomes, Exception) else outcomes[0], log)

        chunk = CallChunk(function, pickled([(args, kwargs)], _arguments_of(fn)), _name_of(fn), self._retries, done)
        self._add([(future, chunk)])
        return future

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 0,
        return_exceptions: bool = False,
        **unknown: Any,
    ) -> GridMap[T]:
        """The results of calls with an item of each iterable, in order.

        `chunksize`: calls of a task; 0: a thousand chunks at most, and a task takes as many chunks as it completes in a second.
        `return_exceptions`: an exception is an item of the results instead of being raised. `timeout`: s for the whole map.
        Raises NotPicklable, RuntimeError after `shutdown`.
        """
        if unknown:
            raise TypeError(f"map has no argument {next(iter(unknown))!r}")
        calls: list[Call] = [(args, {}) for args in zip(*iterables, strict=False)]
        size = chunksize if chunksize > 0 else -(-len(calls) // CHUNKS) or 1
        function, name = pickled(fn, f"the function {_name_of(fn)}"), _name_of(fn)
        chunks = [calls[begin : begin + size] for begin in range(0, len(calls), size)]
        futures: list[GridFuture[list[Any]]] = [GridFuture(self) for _ in chunks]
        pairs = []
        for future, some in zip(futures, chunks, strict=True):
            try:
                blob = pickled(some, _arguments_of(fn))
            except NotPicklable as fault:
                future.set_outcome(fault, "")
                continue
            chunk = CallChunk(function, blob, name, self._retries, self._done_callback(future, len(some)), alone=chunksize > 0)
            pairs.append((future, chunk))
        self._add(pairs)
        return GridMap(futures, [len(some) for some in chunks], timeout, return_exceptions)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further calls. `wait`: wait for all calls to end; `cancel_futures`: delete calls that do not run yet."""
        self._check_owner()
        if cancel_futures:
            self._cancel(running=False)
        if not self._closed:
            self._closed = True
            self._loop.call_soon_threadsafe(self._arrays.close)
        if wait:
            self._thread.join()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._cancel(running=True)
        self.shutdown(wait=True)

    def cancel_chunk(self, chunk: CallChunk) -> None:
        """Cancel the chunk of a cancelled future."""
        chunk.cancelled = True
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrays.cancel, chunk)

    def _cancel(self, running: bool) -> None:
        for future in list(self._outstanding):
            if running or not future.running():
                future.cancel()

    @staticmethod
    def _done_callback(future: GridFuture[list[Any]], size: int) -> Callable[[Any, str], None]:
        def done(outcomes: Any, log: str) -> None:
            # a fault that prevented all calls of a chunk is a single outcome
            future.set_outcome(outcomes * size if isinstance(outcomes, list) and len(outcomes) < size else outcomes, log)

        return done

    def _add(self, pairs: list[tuple[GridFuture[Any], CallChunk]]) -> None:
        self._check_owner()
        if self._closed:
            raise RuntimeError("this executor was shut down")
        for future, chunk in pairs:
            future.assign_chunk(chunk)
            self._outstanding.add(future)
        self._loop.call_soon_threadsafe(self._arrays.add, [chunk for _, chunk in pairs])

    def _check_owner(self) -> None:
        if self._owner != os.getpid():
            raise RuntimeError("this process is a forked child: create a separate GridExecutor in it")

    def _run_loop(self) -> None:
        """The thread of the loop."""
        try:
            self._loop.run_until_complete(self._arrays.run())
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            self._directory.remove()


def _shut_down(executor: weakref.ref[GridExecutor]) -> None:
    left = executor()
    if left is not None and left._owner == os.getpid():
        left.shutdown()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("PYTHON") or name in _PYTHON_VARIABLES}


def _name_of(function: Callable[..., Any]) -> str:
    """The name of a function as a valid name of a job."""
    name = str(getattr(function, "__name__", type(function).__name__))
    valid = "".join(character if character.isalnum() or character in "_." else "_" for character in name)
    return valid.lstrip("0123456789") or "call"


def _arguments_of(function: Callable[..., Any]) -> str:
    return f"an argument of {_name_of(function)}"
