"""`Cell`: a program's client of a cell, with a kept connection.

Owns the blocking methods; `base_cell` has what it shares with `AsyncCell`. Called by users' programs. Source: DM-5;
docs/python.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from gridengine.api import operations
from gridengine.api.answers import CellEvent, JobEnd
from gridengine.api.base_cell import BaseCell, RecordFollower, end_of, event_of
from gridengine.api.blocking_channel import BlockingChannel, run
from gridengine.api.operations import Operation

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


class Cell(BaseCell):
    """A cell; without arguments the cell of SGE_ROOT and SGE_CELL, over the sockets of this host. The kernel authenticates the
    caller.

    `url`, `token`, `ca`: the cell behind a web server, from any host (docs/api.md): `https://HOST:8646`, a token of
    `gridengine web --token`, a file of trusted certificates. `patience`: s for which a request is retried while the qmaster does
    not answer. Threads may share a cell, and a forked child may continue to use it. Raises Unreachable, ValueError.
    """

    _is_async, _channels = False, BlockingChannel

    def _begin(self) -> None:
        self._owner, self._lock = os.getpid(), Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _turn(self) -> Lock:
        """The lock of the connection. A forked child may lack the thread that would release it, and needs its own connection."""
        if self._owner != os.getpid():
            self._connection.close()
            self._begin()
        return self._lock

    def close(self) -> None:
        """Close the connection; a later request opens a new connection."""
        with self._turn():
            self._connection.close()

    def do(self, operation: Operation[T]) -> T:
        """Carry an operation out. Raises RequestDenied when the qmaster refuses it, Unreachable without a qmaster."""
        with self._turn():
            return run(self._perform(operation))

    def accounting(self, job: int | str) -> Iterator[dict[str, str]]:
        """Accounting records of a job that ended, as qacct -j: fields by their names in accounting(5), a record per task."""
        after = -1
        while after:
            records, after = self.do(operations.accounting_page(job, max(after, 0)))
            yield from records

    def wait(self, job: int, timeout: float | None = None) -> list[JobEnd]:
        """Wait until all tasks of a job have ended; their ends, by task number. TimeoutError after `timeout` s."""
        return sorted(self.ends(job, timeout), key=lambda end: end.task_id)

    def ends(self, job: int, timeout: float | None = None) -> Iterator[JobEnd]:
        """The ends of a job's tasks as they come, until all tasks have ended. Continues across restarts of the qmaster."""
        for record in self.progress(job, timeout):
            if (end := end_of(job, record)) is not None:
                yield end

    def progress(self, job: int, timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """The records of the request `wait` about a job, without repetition. Raises TimeoutError, Unreachable."""
        yield from _records(self._follow("wait", {"job_id": job}, timeout))

    def events(self, *types: str, name: str = "python") -> Iterator[CellEvent]:
        """Events of the given types (JOB, JATASK, QUEUEINSTANCE …: docs/gdi.md), of all types by default; without an end.

        The first event of each type is a LIST of all objects; a broken stream is reopened and begins with these lists.
        Raises StreamEnded when the qmaster refuses or ends it, Unreachable.
        """
        for record in _records(self._follow("events", {"name": name, "types": list(types)})):
            if (event := event_of(record)) is not None:
                yield event


def _records(follower: RecordFollower) -> Iterator[dict[str, Any]]:
    with closing(follower):
        while (record := run(follower.next_record())) is not None:
            yield record
