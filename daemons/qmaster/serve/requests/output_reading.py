"""The request `job_output`: the end of the output of a task, running or ended, for its owner alone.

Owns the permission, and the choice of the host and of the attempt. The qmaster reads no file: the host reads the task's output,
as its owner. Called by `endpoints`. Source: adr/0138.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from daemons.qmaster.decide.errors import RefusedError
from daemons.runtime.call_faults import describe_call_fault
from gridengine.protocols.delivery import OutputRequest, OutputTail, decode_output_tail, encode
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.usage.accounting import AccountingRecord
from gridengine.values.task_key import TaskKey

_log = logging.getLogger(__name__)

MAX_BYTES = 64 * 1024
"""Bytes of one answer; the bound of the request."""
PATIENCE_S = 5.0
MAX_OPEN_CALLS = 32

ReadOutputCall = Callable[[str, bytes], Awaitable[bytes]]
"""(host, encoded OutputWanted) -> encoded OutputTail. Any exception means that the host does not answer."""


RecordsOf = Callable[[int, int], list[AccountingRecord]]
"""(job, task as in the records: 0 for one of no array) -> records, in the order of their ends."""
_ENDED = 0
"""The attempt for an ended task: the last attempt (`OutputRequest`)."""


def no_records(job: int, task: int) -> list[AccountingRecord]:
    """For a qmaster without accounting."""
    return []


class _TaskLocation(NamedTuple):
    """Owner and host of a task; host "" if it is not placed."""

    owner: str
    host: str
    key: TaskKey


class OutputReading:
    """Requests output from hosts by `read`, with a timeout of `patience_s`.

    A call that a host does not answer stays open, so a host has at most `MAX_OPEN_CALLS`: after a standstill the host would
    have to carry out all of them.
    """

    def __init__(self, read: ReadOutputCall, patience_s: float = PATIENCE_S, records: RecordsOf = no_records) -> None:
        self._read, self._patience_s, self._records = read, patience_s, records
        self._open: defaultdict[str, set[asyncio.Future[bytes]]] = defaultdict(set)

    async def answer(self, state: State, body: dict[str, Any], caller: Caller) -> Answer:
        """`{"task", "host", "path", "size", "from", "text"}`: `size` of the file in bytes, of which `text` begins at `from`."""
        try:
            location = self._locate(state, body["job"], body.get("task", 0), caller)
        except RefusedError as refusal:
            return _refused(refusal.text)
        requested = OutputRequest(location.key, location.owner, body.get("stream", "stdout"), body.get("bytes", MAX_BYTES))
        host = state.hosts.get(location.host)
        tail = await self._ask_host(location.host, requested) if host is not None and host.up else None
        if tail is None:
            return _refused(f'host "{location.host}" does not answer: the output of the task cannot be read now')
        if tail.fault:
            return _refused(f"{tail.fault} (host {location.host})")
        fields = {"path": tail.path, "size": tail.size, "from": tail.begin, "text": tail.text}
        return Answer(data={"task": location.key.task, "host": location.host, **fields})

    def _locate(self, state: State, number: int, requested: int, caller: Caller) -> _TaskLocation:
        """The location of a running or ended task. Raises RefusedError."""
        job = state.jobs.get(number)
        task = _running_task(job, requested) if job is not None else None
        if job is not None and task is not None:
            location = _TaskLocation(job.owner, task.host, TaskKey(job.id, task.id, task.attempt))
        elif record := self._last_record(number, requested):
            location = _TaskLocation(record.owner, record.hostname, TaskKey(number, int(record.task_number) or 1, _ENDED))
        elif job is not None:
            location = _TaskLocation(job.owner, "", TaskKey(job.id, 0, 0))
        else:
            raise RefusedError(f"denied: job {number} does not exist")
        if location.owner != caller.user:
            # as with sessions: a manager may end the job, but its output is its owner's
            raise RefusedError(f'denied: job {number} belongs to "{location.owner}", not to "{caller.user}"')
        if not location.host:
            raise RefusedError(f"denied: {f'task {requested} of ' if requested else ''}job {number} does not run")
        return location

    def _last_record(self, number: int, task: int) -> AccountingRecord | None:
        """The record of the last attempt of an ended task; without a number, of the job's first task."""
        ended = self._records(number, task) or ([] if task > 1 else self._records(number, 1 - task))
        return next((record for record in reversed(ended) if record.pe_taskid in ("", "NONE")), None)

    async def _ask_host(self, host: str, requested: OutputRequest) -> OutputTail | None:
        """The output that a host has read; None if it does not answer."""
        if len(self._open[host]) >= MAX_OPEN_CALLS:
            return None
        call = asyncio.ensure_future(self._read(host, encode(requested)))
        self._open[host].add(call)
        call.add_done_callback(partial(self._finish_call, host))
        await asyncio.wait({call}, timeout=self._patience_s)
        return decode_output_tail(call.result()) if call.done() and call.exception() is None else None

    def _finish_call(self, host: str, call: asyncio.Future[bytes]) -> None:
        """Note the end of a call. For the caller a silent, an ending and an unknown host are the same."""
        self._open[host].discard(call)
        if not call.cancelled() and (error := call.exception()) is not None:
            _log.info("host %s did not read the output of a task: %s", host, describe_call_fault(error))


def _running_task(job: Job, number: int) -> Task | None:
    """Return the task of this number, 0 for the first task, if it runs."""
    running = [task for task in job.placed if task.status == "running" and number in (0, task.id)]
    return min(running, key=lambda task: task.id, default=None)


def _refused(text: str) -> Answer:
    return Answer(1, [("error", text)])
