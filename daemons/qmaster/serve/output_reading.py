"""The request `job_output`: the end of what a running task writes, for its owner alone.

Owns who may, and which host is asked for which try of the task. The qmaster sees no file: the host reads, as the owner, where
the task writes. Called by `endpoints`. Source: adr/0138.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from daemons.runtime.call_faults import call_fault
from gridengine.delivery import OutputTail, OutputWanted, decode_tail, encode
from gridengine.gdi.requests import Answer, Caller
from gridengine.state.jobs import Job, Task
from gridengine.state.state import State
from gridengine.task_key import TaskKey

_log = logging.getLogger(__name__)

MOST = 64 * 1024
"""Bytes of one answer; the bound of the request."""
PATIENCE_S = 5.0
MOST_OPEN = 32

ReadOutputCall = Callable[[str, bytes], Awaitable[bytes]]
"""(host, encoded OutputWanted) -> encoded OutputTail. May raise anything: the host does not answer."""


async def nobody_answers(host: str, data: bytes) -> bytes:
    """For a qmaster without hosts."""
    raise LookupError(f"nobody answers for {host}")


class OutputReading:
    """Asks hosts by `read`, and keeps nobody waiting for longer than `patience_s`.

    A call that a host does not answer stays open, so `MOST_OPEN` of a host are enough: it would have to carry all of them out
    once it is itself again.
    """

    def __init__(self, read: ReadOutputCall, patience_s: float = PATIENCE_S) -> None:
        self._read, self._patience_s = read, patience_s
        self._open: defaultdict[str, set[asyncio.Future[bytes]]] = defaultdict(set)

    async def answer(self, state: State, body: dict[str, Any], caller: Caller) -> Answer:
        """`{"task", "host", "path", "size", "from", "text"}`: `size` of the file in bytes, of which `text` begins at `from`."""
        job = state.jobs.get(body["job"])
        if job is None:
            return _refused(f"denied: job {body['job']} does not exist")
        if job.owner != caller.user:
            # as with sessions: a manager may end the job, but what it writes is its owner's
            return _refused(f'denied: job {job.id} belongs to "{job.owner}", not to "{caller.user}"')
        number = body.get("task", 0)
        task = _running_task(job, number)
        if task is None:
            return _refused(f"denied: {f'task {number} of ' if number else ''}job {job.id} does not run")
        key = TaskKey(job.id, task.id, task.attempt)
        wanted = OutputWanted(key, job.owner, body.get("stream", "stdout"), body.get("bytes", MOST))
        host = state.hosts.get(task.host)
        tail = await self._asked(task.host, wanted) if host is not None and host.up else None
        if tail is None:
            return _refused(f'host "{task.host}" does not answer: what the task writes cannot be read now')
        if tail.fault:
            return _refused(f"{tail.fault} (host {task.host})")
        told = {"path": tail.path, "size": tail.size, "from": tail.begin, "text": tail.text}
        return Answer(data={"task": task.id, "host": task.host, **told})

    async def _asked(self, host: str, wanted: OutputWanted) -> OutputTail | None:
        """What a host has read; None if it does not answer."""
        if len(self._open[host]) >= MOST_OPEN:
            return None
        call = asyncio.ensure_future(self._read(host, encode(wanted)))
        self._open[host].add(call)
        call.add_done_callback(partial(self._over, host))
        await asyncio.wait({call}, timeout=self._patience_s)
        return decode_tail(call.result()) if call.done() and call.exception() is None else None

    def _over(self, host: str, call: asyncio.Future[bytes]) -> None:
        """Silent, ending or unknown: that is all the same to whoever asks."""
        self._open[host].discard(call)
        if not call.cancelled() and (error := call.exception()) is not None:
            _log.info("host %s did not read what a task writes: %s", host, call_fault(error))


def _running_task(job: Job, number: int) -> Task | None:
    """The task of this number, 0 for the first one, if it runs."""
    running = [task for task in job.placed if task.status == "running" and number in (0, task.id)]
    return min(running, key=lambda task: task.id, default=None)


def _refused(text: str) -> Answer:
    return Answer(1, [("error", text)])
