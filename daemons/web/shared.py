"""The context of all handlers of the web server: the mirror, and the connection to the qmaster on behalf of the user.

Owns the choice of the source: the qmaster's own views answer requests from the mirror if the state is sufficient; all other
requests go to the qmaster, as the user. The qmaster decides about permissions. Source: adr/0133.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from daemons.qmaster.decision import World
from daemons.qmaster.queries import VIEWS
from daemons.runtime.cell import Cell
from daemons.runtime.qmaster_client import LocalCaller, NoQmasterError, QmasterClient
from daemons.web.alarms.book import AlarmBook
from daemons.web.job_rows import JobRows
from daemons.web.manual_states import ManualStates
from daemons.web.metric_families import EndCounts
from daemons.web.mirror import StateMirror
from daemons.web.preferences import PreferenceStore
from daemons.web.reports.report_source import ReportSource
from daemons.web.trends.trend_store import TrendStore
from daemons.web.usage_history import UsageHistory
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.reading import decode_body
from gridengine.protocols.gdi.requests import Answer, Caller, malformed
from gridengine.state.state import State

ANSWER_TIMEOUT_S = 60.0
"""Seconds to wait for an answer of the qmaster."""

_answer = msgspec.json.Decoder(Answer)


class MirrorSource:
    """The mirror as a source for the views (`daemons.qmaster.queries.source`), without the variables of jobs."""

    def __init__(self, mirror: StateMirror, cell: Cell, zone: tzinfo) -> None:
        self._mirror, self._cell, self._zone = mirror, cell, zone

    @property
    def state(self) -> State:
        return self._mirror.state

    def world(self) -> World:
        """The world at the time of the mirror."""
        return World(
            now=self._mirror.now,
            resolve_host=self._cell.unique_name,
            master_host=self._cell.master_host(),
            admin_user=self._cell.admin_user,
            zone=self._zone,
        )

    def environment(self, job_id: int) -> Mapping[str, str] | None:
        return None


class Web:
    """`client`: the connection to the qmaster. `zone`: the time zone of users and calendars.

    `jobs`: the rows of all jobs, shared by all visitors; `manual_states`: users who disabled or suspended queue instances;
    `usage`: usage of running tasks over time; `end_counts`: number of finished tasks by code; `alarms`: all alarms; `trends`: the
    cell over time; `reports`: figures of the accounting file; `preferences`: what is kept of each user.
    """

    def __init__(
        self,
        cell: Cell,
        mirror: StateMirror,
        client: QmasterClient,
        zone: tzinfo,
        alarms: AlarmBook | None = None,
        trends: TrendStore | None = None,
        preferences: PreferenceStore | None = None,
    ) -> None:
        self.cell, self.mirror, self.zone = cell, mirror, zone
        self.alarms, self.trends = alarms or AlarmBook(), trends or TrendStore()
        self.preferences = preferences or PreferenceStore()
        self.source = MirrorSource(mirror, cell, zone)
        self.jobs = JobRows(mirror)
        self.manual_states, self.usage, self.end_counts = ManualStates(mirror), UsageHistory(mirror), EndCounts(mirror)
        self.reports = ReportSource(cell, mirror, self.read)
        self._client = client

    async def read(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """Answer a reading request (docs/gdi.md). Raises NoQmasterError, if it needs the spool or the mirror is still empty."""
        if name not in VIEWS or not self.mirror.ready:
            return await self.ask(name, body, caller)
        try:
            return VIEWS[name](self.source, decode_body(name, msgspec.json.encode(body)), caller)
        except msgspec.DecodeError as error:
            return malformed(name, error)
        except InvalidValueError as fault:
            return Answer(1, [("error", f"denied: {fault}")])

    async def ask(self, name: str, body: dict[str, Any], caller: Caller, key: str = "") -> Answer:
        """Send any request to the qmaster, as this caller, with their idempotency `key`. Raises NoQmasterError."""
        local_caller = LocalCaller(caller.user, caller.uid, caller.group, caller.gid)
        try:
            response = await self._client.post(f"/v1/{name}", msgspec.json.encode(body), local_caller, ANSWER_TIMEOUT_S, key)
            async with response:
                return _answer.decode(await response.read())
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise NoQmasterError(f"the qmaster did not answer the request {name}: {error}", sent=True) from error

    async def follow(self, name: str, body: bytes, caller: Caller) -> aiohttp.ClientResponse:
        """Open a stream of the qmaster, as this caller. Raises NoQmasterError."""
        local_caller = LocalCaller(caller.user, caller.uid, caller.group, caller.gid)
        return await self._client.post(f"/v1/{name}", body, local_caller)


WEB = web.AppKey("web", Web)
CALLER = web.RequestKey("caller", Caller)
"""The user who is logged in. The guard sets it."""
IS_LOGGED_IN: web.RequestKey[Callable[[], bool]] = web.RequestKey("is_logged_in")
"""A function that returns whether the user is still logged in, during a request. The guard sets it."""
CSRF = web.RequestKey("csrf", str)
"""The token that a change with a session cookie must have; "" for requests with an API token. The guard sets it."""


def caller_of(request: web.Request) -> Caller:
    """The user who is logged in; for handlers behind the guard, which rejects all other requests."""
    return request[CALLER]
