"""Programs that wait for the ends of many tasks, of a session of a library and of single jobs, in one stream.

Owns the subscriptions to sessions and jobs, and their ends. A line is sent once its event is on disk, and may be sent twice: past
ends are read while the subscription is active already. Called by the service. Source: docs/gdi.md `task_ends`; DM-1; sge_conf(5)
MAX_DYN_EC.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from daemons.qmaster.master import Master
from daemons.qmaster.queries.task_ends import end_of
from daemons.qmaster.serve.requests.gdi_server import send_lines
from daemons.qmaster.transaction import Transaction
from daemons.runtime.subscription import Subscription
from gridengine.protocols.gdi.reading import decode_body
from gridengine.protocols.gdi.requests import Answer, Caller, malformed
from gridengine.state.dependencies import unfinished
from gridengine.state.jobs import Job
from gridengine.state.machines.job import JobSubmitted, PendingTasksDeleted
from gridengine.state.machines.task import TaskEnded
from gridengine.usage.accounting import AccountingRecord
from gridengine.values.ranges import Ranges

Line = dict[str, Any]
HEARTBEAT_S = 20.0
"""Seconds between two lines, the second one empty if there is none: so each side checks the other side. A program without a line
for several of these requests the stream again."""
_JOBS_AT_A_TIME = 100
"""Jobs whose ends are looked up before other requests are served again."""


class TaskEndSubscriber:
    """A subscriber. `lines`: to be sent; `session`: one of theirs, "" for none."""

    def __init__(self, user: str, session: str) -> None:
        self.user = user
        self.session = session
        self.lines: Subscription[Line] = Subscription(heartbeat=(HEARTBEAT_S, {}))


class SubscribedJob(NamedTuple):
    """A job and its `subscribers`. `array`: its tasks have numbers; the only task of another job is called 0."""

    array: bool
    subscribers: set[TaskEndSubscriber]


class TaskEndStreams:
    """`persisted()`: returns when nothing is between memory and disk; `durable()`: when all that was decided is announced."""

    def __init__(
        self, master: Master, persisted: Callable[[], Awaitable[None]], durable: Callable[[], Awaitable[None]]
    ) -> None:
        self._master, self._persisted, self._durable = master, persisted, durable
        self._subscribers: set[TaskEndSubscriber] = set()
        self._by_job: dict[int, SubscribedJob] = {}
        self._ended_jobs: dict[int, int] = {}  # subscribed job that has ended -> revision by which all of its ends are on disk

    async def stream(self, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        """Send the ends of tasks until the program disconnects."""
        try:
            requested = decode_body("task_ends", body)
        except msgspec.DecodeError as error:
            return _refused(malformed("task_ends", error))
        if len(self._subscribers) >= self._master.state.configuration().qmaster_params.max_dyn_ec:
            return _refused(Answer(1, [("error", "denied: there are already as many sessions as MAX_DYN_EC allows")]))
        await self._persisted()
        subscriber = TaskEndSubscriber(caller.user, requested.get("session", ""))
        live = self._subscribe(subscriber, requested.get("jobs", []))
        try:
            await self._durable()
            return await send_lines(request, self._lines(subscriber, requested.get("jobs", []), live))
        finally:
            self._unsubscribe(subscriber)

    async def _lines(
        self, subscriber: TaskEndSubscriber, jobs: list[int], live: list[list[Any]]
    ) -> AsyncGenerator[object, None]:
        """The accounted ends of each job, then its unfinished tasks; the live jobs of the session; further ends."""
        for number, job_id in enumerate(jobs, start=1):
            for line in self._lines_of(job_id, subscriber.user):
                yield line
            if number % _JOBS_AT_A_TIME == 0:
                await asyncio.sleep(0)
        yield {"live": live}
        async for line in subscriber.lines:
            yield line

    def _subscribe(self, subscriber: TaskEndSubscriber, jobs: list[int]) -> list[list[Any]]:
        """Subscribe from now on; returns the jobs of the session, each with its unfinished tasks, "" if it is no array."""
        self._subscribers.add(subscriber)
        live: list[list[Any]] = []
        jobs_to_search = self._master.state.jobs.values() if subscriber.session else ()
        for job in jobs_to_search:
            if job.session == subscriber.session and job.owner == subscriber.user:
                live.append([job.id, str(unfinished(job)) if job.is_array else ""])
                self._add(job, subscriber)
        for job_id in jobs:
            known = self._master.state.jobs.get(job_id)
            if known is not None and known.owner == subscriber.user:
                self._add(known, subscriber)
        return live

    def _add(self, job: Job, subscriber: TaskEndSubscriber) -> None:
        self._by_job.setdefault(job.id, SubscribedJob(job.is_array, set())).subscribers.add(subscriber)

    def _lines_of(self, job_id: int, user: str) -> Iterator[Line]:
        job = self._master.state.jobs.get(job_id)
        left = Ranges() if job is None or job.owner != user else unfinished(job)
        ends: dict[int, AccountingRecord] = {}
        for _, record in self._master.spool.accounted.records([job_id]):
            if record.owner == user and record.pe_taskid == "NONE":
                ends[int(record.task_number) or 1] = record
        yield from (end_of(record) for task, record in ends.items() if task not in left)
        array = any(record.task_number != "0" for record in ends.values()) if job is None else job.is_array
        yield {"job": job_id, "left": str(left) if left else "", "array": array}

    def _unsubscribe(self, subscriber: TaskEndSubscriber) -> None:
        self._subscribers.discard(subscriber)
        for job_id in [job_id for job_id, job in self._by_job.items() if subscriber in job.subscribers]:
            self._by_job[job_id].subscribers.discard(subscriber)
            if not self._by_job[job_id].subscribers:
                del self._by_job[job_id]

    def committed(self, transaction: Transaction) -> None:
        """Notify subscribers of a transaction."""
        if not self._subscribers:
            return
        for event in transaction.events:
            if isinstance(event, JobSubmitted) and event.job.session:
                for subscriber in self._subscribers:
                    if (subscriber.session, subscriber.user) == (event.job.session, event.job.owner):
                        self._add(event.job, subscriber)
        if not transaction.affected.jobs.isdisjoint(self._by_job):
            self._notify(transaction)
        for job_id in [job_id for job_id, last in self._ended_jobs.items() if last <= transaction.revision]:
            del self._ended_jobs[job_id]
            self._by_job.pop(job_id, None)

    def _notify(self, transaction: Transaction) -> None:
        for event in transaction.events:
            if isinstance(event, TaskEnded | PendingTasksDeleted) and event.job_id in self._by_job:
                array, subscribers = self._by_job[event.job_id]
                line = _line(event, array, transaction.accounting)
                for subscriber in subscribers:
                    subscriber.lines.publish(line)
                if event.job_id not in self._master.state.jobs:
                    self._ended_jobs.setdefault(event.job_id, self._master.state.revision)


def _line(
    event: TaskEnded | PendingTasksDeleted, array: bool, accounting: Iterable[tuple[int, int, AccountingRecord]]
) -> Line:
    """The line of an event."""
    if isinstance(event, PendingTasksDeleted):
        return {"job": event.job_id, "deleted": str(event.tasks), "array": array}
    for job_id, task_id, record in accounting:
        if (job_id, task_id) == (event.job_id, event.task_id) and record.pe_taskid == "NONE":
            return end_of(record)
    task = event.task_id if array else 0
    return {"job": event.job_id, "task": task, "state": "failed", "outcome": "unknown", "status": 0, "usage": []}


def _refused(answer: Answer) -> web.Response:
    return web.json_response(msgspec.to_builtins(answer))
