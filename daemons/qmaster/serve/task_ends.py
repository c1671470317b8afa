"""Programs that wait for the ends of many tasks: those of a session of a library, and of single jobs, in one stream.

Owns who follows which session and which jobs, and until when. What is told is on disk, and may be told twice: what ended before
is read while ends are followed already. Called by the service. Source: docs/gdi.md `task_ends`; DM-1; sge_conf(5) MAX_DYN_EC.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from daemons.qmaster.master import Master
from daemons.qmaster.serve.gdi_server import stream_line
from daemons.qmaster.spooling.spool import Transaction
from daemons.qmaster.views.task_ends import end_of
from gridengine.accounting import AccountingRecord
from gridengine.gdi.reading import decode_body
from gridengine.gdi.requests import Answer, Caller, malformed
from gridengine.ranges import Ranges
from gridengine.state.dependencies import unfinished
from gridengine.state.jobs import Job
from gridengine.state.machines.job import JobSubmitted, PendingTasksDeleted
from gridengine.state.machines.task import TaskEnded

Line = dict[str, Any]
BEAT_S = 20.0
"""Between two lines; a program that hears nothing for several of these asks again."""
_JOBS_A_TURN = 100
"""Jobs whose ends are looked up between two moments in which others are served."""


class EndsFollower:
    """Who follows. `lines`: what he is to be told; `session`: of his own, "" for none."""

    def __init__(self, user: str, session: str) -> None:
        self.user = user
        self.session = session
        self.lines: asyncio.Queue[Line] = asyncio.Queue()


class Followed(NamedTuple):
    """A job, and who follows it. `array`: its tasks have numbers; the one task of another job is called 0."""

    array: bool
    followers: set[EndsFollower]


class EndsOfTasks:
    """`settled()`: returns when nothing is between memory and disk; `durable()`: when all that was decided is announced."""

    def __init__(
        self, master: Master, settled: Callable[[], Awaitable[None]], durable: Callable[[], Awaitable[None]]
    ) -> None:
        self._master, self._settled, self._durable = master, settled, durable
        self._followers: set[EndsFollower] = set()
        self._by_job: dict[int, Followed] = {}
        self._over: dict[int, int] = {}  # followed job that is gone -> revision by which all of its ends are on disk

    async def stream(self, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        """Tell how tasks end until the program has heard enough."""
        try:
            wanted = decode_body("task_ends", body)
        except msgspec.DecodeError as error:
            return _refused(malformed("task_ends", error))
        if len(self._followers) >= self._master.state.configuration().qmaster_params.max_dyn_ec:
            return _refused(Answer(1, [("error", "denied: there are already as many sessions as MAX_DYN_EC allows")]))
        await self._settled()
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        follower = EndsFollower(caller.user, wanted.get("session", ""))
        live = self._follow(follower, wanted.get("jobs", []))
        try:
            await self._durable()
            await response.prepare(request)
            await self._tell_what_was(response, wanted.get("jobs", []), caller.user)
            await stream_line(response, {"live": live})
            while True:
                await stream_line(response, await _next(follower))
        except ConnectionError:
            pass
        finally:
            self._forget(follower)
        return response

    def _follow(self, follower: EndsFollower, jobs: list[int]) -> list[list[Any]]:
        """Follow from now on; the jobs of the session that are there, each with its unfinished tasks, "" where it is no array."""
        self._followers.add(follower)
        live: list[list[Any]] = []
        of_session = self._master.state.jobs.values() if follower.session else ()
        for job in of_session:
            if job.session == follower.session and job.owner == follower.user:
                live.append([job.id, str(unfinished(job)) if job.is_array else ""])
                self._add(job, follower)
        for job_id in jobs:
            known = self._master.state.jobs.get(job_id)
            if known is not None and known.owner == follower.user:
                self._add(known, follower)
        return live

    def _add(self, job: Job, follower: EndsFollower) -> None:
        self._by_job.setdefault(job.id, Followed(job.is_array, set())).followers.add(follower)

    async def _tell_what_was(self, response: web.StreamResponse, jobs: list[int], user: str) -> None:
        """Of each job the ends that are accounted, then which of its tasks are left."""
        for number, job_id in enumerate(jobs, start=1):
            for line in self._lines_of(job_id, user):
                await stream_line(response, line)
            if number % _JOBS_A_TURN == 0:
                await asyncio.sleep(0)

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

    def _forget(self, follower: EndsFollower) -> None:
        self._followers.discard(follower)
        for job_id in [job_id for job_id, job in self._by_job.items() if follower in job.followers]:
            self._by_job[job_id].followers.discard(follower)
            if not self._by_job[job_id].followers:
                del self._by_job[job_id]

    def committed(self, transaction: Transaction) -> None:
        """Tell those who follow what a transaction means for them."""
        if not self._followers:
            return
        for event in transaction.events:
            if isinstance(event, JobSubmitted) and event.job.session:
                for follower in self._followers:
                    if (follower.session, follower.user) == (event.job.session, event.job.owner):
                        self._add(event.job, follower)
        if not transaction.affected.jobs.isdisjoint(self._by_job):
            self._tell(transaction)
        for job_id in [job_id for job_id, last in self._over.items() if last <= transaction.revision]:
            del self._over[job_id]
            self._by_job.pop(job_id, None)

    def _tell(self, transaction: Transaction) -> None:
        for event in transaction.events:
            if isinstance(event, TaskEnded | PendingTasksDeleted) and event.job_id in self._by_job:
                array, followers = self._by_job[event.job_id]
                line = _line(event, array, transaction.accounting)
                for follower in followers:
                    follower.lines.put_nowait(line)
                if event.job_id not in self._master.state.jobs:
                    self._over.setdefault(event.job_id, self._master.state.revision)


async def _next(follower: EndsFollower) -> Line:
    """What he is told next: after a while without news a line that says nothing, by which either side sees the other."""
    try:
        async with asyncio.timeout(BEAT_S):
            return await follower.lines.get()
    except TimeoutError:
        return {}


def _line(
    event: TaskEnded | PendingTasksDeleted, array: bool, accounting: Iterable[tuple[int, int, AccountingRecord]]
) -> Line:
    """What is told of an event."""
    if isinstance(event, PendingTasksDeleted):
        return {"job": event.job_id, "deleted": str(event.tasks), "array": array}
    for job_id, task_id, record in accounting:
        if (job_id, task_id) == (event.job_id, event.task_id) and record.pe_taskid == "NONE":
            return end_of(record)
    task = event.task_id if array else 0
    return {"job": event.job_id, "task": task, "state": "failed", "outcome": "unknown", "status": 0, "usage": []}


def _refused(answer: Answer) -> web.Response:
    return web.json_response(msgspec.to_builtins(answer))
