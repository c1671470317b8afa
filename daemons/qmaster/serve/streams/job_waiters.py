"""Clients that wait for a job, such as `qsub -sync y`: the master notifies them of the starts, incidents and ends of its tasks.

Owns the waiters of each job, and when their streams end. Records are sent once they are on disk. Called by the service. Source:
docs/gdi.md.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from daemons.qmaster.master import Master
from daemons.qmaster.serve.requests.gdi_server import send_lines
from daemons.qmaster.transaction import Transaction
from daemons.runtime.subscription import Subscription
from gridengine.protocols.gdi.reading import decode_body
from gridengine.protocols.gdi.requests import Caller, malformed
from gridengine.state.jobs import Job
from gridengine.state.machines.job import JobErrorChanged, PendingTasksDeleted
from gridengine.state.machines.task import TaskDeletionRequested, TaskDispatched, TaskEnded, TaskErrorCleared, TaskRequeued

Record = dict[str, Any]


class Waiter(NamedTuple):
    """A waiting client. `records`: to be sent. `since`: the revision of the state that its first records describe."""

    records: Subscription[Record]
    since: int

    async def lines(self) -> AsyncGenerator[object, None]:
        """The lines of the stream."""
        async for record in self.records:
            yield record
        yield {"done": True}


class JobWaiters:
    """`persisted()`: returns when nothing is between memory and disk; `durable()`: when all that was decided is announced."""

    def __init__(
        self, master: Master, persisted: Callable[[], Awaitable[None]], durable: Callable[[], Awaitable[None]]
    ) -> None:
        self._master, self._persisted, self._durable = master, persisted, durable
        self._waiters: dict[int, list[Waiter]] = {}
        self._ended_jobs: dict[int, int] = {}  # job with waiters that is gone -> revision by which all of its ends are on disk

    async def stream(self, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        """Stream the ends of a job's tasks, one JSON line each, until the job has ended."""
        try:
            job_id: int = decode_body("wait", body)["job_id"]
        except msgspec.DecodeError as error:
            return web.json_response(msgspec.to_builtins(malformed("wait", error)))
        # ended tasks are read from disk: memory and disk must agree at that moment
        await self._persisted()
        waiter = Waiter(Subscription(), self._master.state.revision)
        waiter.records.publish(*self._past_records(job_id))
        if job_id in self._master.state.jobs:
            self._waiters.setdefault(job_id, []).append(waiter)
        else:
            waiter.records.close()
        try:
            await self._durable()
            return await send_lines(request, waiter.lines())
        finally:
            waiting = self._waiters.get(job_id, [])
            if waiter in waiting:
                waiting.remove(waiter)

    def _past_records(self, job_id: int) -> list[Record]:
        """Tasks that began or ended before the client began to wait, from the state and the accounting index."""
        job = self._master.state.jobs.get(job_id)
        ends = {
            int(record.task_number) or 1: {"exit_status": int(record.exit_status), "failed": int(record.failed)}
            for _, record in self._master.spool.accounted.records([job_id])
        }
        ended = [
            {"task_id": task_id, **end}
            for task_id, end in ends.items()
            if job is None or (task_id not in job.tasks and task_id not in job.pending)
        ]
        return ([] if job is None else self._current_records(job)) + ended

    def _current_records(self, job: Job) -> list[Record]:
        """Records of placed tasks, of tasks on lost hosts or under deletion, and of errors."""
        placed = list(job.placed)
        hosts = self._master.state.hosts
        lost = [task for task in placed if task.host in hosts and not hosts[task.host].up]
        errors = [_error(task.id, task.error) for task in job.tasks.values() if task.error]
        return [
            *(_started(task.id, task.host) for task in placed),
            *(_lost(task.id, task.host, True) for task in lost),
            *(_deleting(task.id) for task in placed if task.deleted_by),
            *errors,
            *([_error(0, job.error)] if job.error else []),
        ]

    def committed(self, transaction: Transaction) -> None:
        """Notify the waiters of a transaction's events."""
        if not transaction.affected.jobs.isdisjoint(self._waiters):
            for event in transaction.events:
                for record in _RECORDS.get(type(event), _no_records)(event):
                    self._notify(event.job_id, record, transaction.revision)  # type: ignore[union-attr]
        for hosts, are_lost in ((transaction.affected.lost, True), (transaction.affected.returned, False)):
            if hosts:
                self._notify_of_hosts(hosts, are_lost, transaction.revision)
        for job_id in [job_id for job_id, last in self._ended_jobs.items() if last <= transaction.revision]:
            del self._ended_jobs[job_id]
            for waiter in self._waiters.pop(job_id):
                waiter.records.close()

    def _notify_of_hosts(self, hosts: set[str], lost: bool, revision: int) -> None:
        """Notify waiters of each task on hosts that are lost, or back."""
        for job_id in self._waiters.keys() & self._master.state.jobs.keys():
            for task in self._master.state.jobs[job_id].placed:
                if task.host in hosts:
                    self._notify(job_id, _lost(task.id, task.host, lost), revision)

    def _notify(self, job_id: int, record: Record, revision: int) -> None:
        if job_id not in self._waiters:
            return
        for waiter in self._waiters[job_id]:
            if waiter.since < revision:
                waiter.records.publish(record)
        if job_id not in self._master.state.jobs:
            # the state is ahead of the disk: ends of other tasks may be in transactions that are not announced yet
            self._ended_jobs.setdefault(job_id, self._master.state.revision)


def _no_records(_event: Any) -> Iterable[Record]:
    return ()


def _started(task_id: int, host: str) -> Record:
    return {"task_id": task_id, "started": True, "host": host}


def _lost(task_id: int, host: str, lost: bool) -> Record:
    return {"task_id": task_id, "host": host, "lost": lost}


def _deleting(task_id: int) -> Record:
    return {"task_id": task_id, "deleting": True}


def _error(task_id: int, error: str) -> Record:
    """`task_id` 0: the whole job."""
    return {"task_id": task_id, "error": error}


def _requeued(event: TaskRequeued) -> Iterable[Record]:
    return [_error(event.task_id, event.error)] if event.error else []


_RECORDS: dict[type, Callable[[Any], Iterable[Record]]] = {
    TaskEnded: lambda event: [{"task_id": event.task_id, "exit_status": event.exit_status, "failed": event.failed}],
    TaskDispatched: lambda event: [_started(event.task_id, event.granted[0].host)],
    TaskDeletionRequested: lambda event: [_deleting(event.task_id)],
    TaskRequeued: _requeued,
    TaskErrorCleared: lambda event: [_error(event.task_id, "")],
    JobErrorChanged: lambda event: [_error(0, event.error)],
    PendingTasksDeleted: lambda event: ({"task_id": task_id, "deleted": True} for task_id in event.tasks),
}
"""Records of an event."""
