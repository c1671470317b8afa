"""What all handlers of the web server share: the mirror, and the road to the qmaster for whoever is logged in.

Owns who answers: what needs the state alone is read from the mirror by the qmaster's own views, everything else is asked of the
qmaster, as the user. No right is decided here. Source: adr/0133.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from daemons.qmaster.decision import World
from daemons.qmaster.views import VIEWS
from daemons.runtime.cell import Cell
from daemons.runtime.qmaster_client import LocalCaller, NoQmaster, QmasterClient
from daemons.web.drained import Drains
from daemons.web.job_rows import JobRows
from daemons.web.metric_families import EndCounts
from daemons.web.mirror import StateMirror
from daemons.web.usage_history import UsageHistory
from gridengine.errors import SyntaxFault
from gridengine.gdi.reading import decode_body
from gridengine.gdi.requests import Answer, Caller, malformed
from gridengine.state.state import State

ANSWER_S = 60.0
"""Seconds after which an answer of the qmaster does not come any more."""

_answer = msgspec.json.Decoder(Answer)


class MirrorSource:
    """The mirror as the views read it (`daemons.qmaster.views.source`): variables of jobs are not at hand."""

    def __init__(self, mirror: StateMirror, cell: Cell, zone: tzinfo) -> None:
        self._mirror, self._cell, self._zone = mirror, cell, zone

    @property
    def state(self) -> State:
        return self._mirror.state

    def world(self) -> World:
        """The world at the moment that the mirror shows."""
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
    """`client` is the road to the qmaster. `zone`: the one that people and calendars mean.

    `jobs`: the rows of all jobs, kept for all who look; `drains`: who put queue instances aside; `usage`: what running tasks
    used over time; `end_counts`: how many tasks ended with which code.
    """

    def __init__(self, cell: Cell, mirror: StateMirror, client: QmasterClient, zone: tzinfo) -> None:
        self.cell, self.mirror, self.zone = cell, mirror, zone
        self.source = MirrorSource(mirror, cell, zone)
        self.jobs = JobRows(mirror)
        self.drains, self.usage, self.end_counts = Drains(mirror), UsageHistory(mirror), EndCounts(mirror)
        self._client = client

    async def read(self, name: str, body: dict[str, Any], caller: Caller) -> Answer:
        """Answer a reading request (docs/gdi.md). Raises NoQmaster where it needs the spool, or nothing was ever mirrored."""
        if name not in VIEWS or not self.mirror.ready:
            return await self.ask(name, body, caller)
        try:
            return VIEWS[name](self.source, decode_body(name, msgspec.json.encode(body)), caller)
        except msgspec.DecodeError as error:
            return malformed(name, error)
        except SyntaxFault as fault:
            return Answer(1, [("error", f"denied: {fault}")])

    async def ask(self, name: str, body: dict[str, Any], caller: Caller, key: str = "") -> Answer:
        """Have the qmaster answer any request, as this caller, under his idempotency `key`. Raises NoQmaster."""
        asked = LocalCaller(caller.user, caller.uid, caller.group, caller.gid)
        try:
            response = await self._client.post(f"/v1/{name}", msgspec.json.encode(body), asked, ANSWER_S, key)
            async with response:
                return _answer.decode(await response.read())
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise NoQmaster(f"the qmaster did not answer the request {name}: {error}", sent=True) from error

    async def follow(self, name: str, body: bytes, caller: Caller) -> aiohttp.ClientResponse:
        """A stream of the qmaster's, as this caller hears it. Raises NoQmaster."""
        asked = LocalCaller(caller.user, caller.uid, caller.group, caller.gid)
        return await self._client.post(f"/v1/{name}", body, asked)


WEB = web.AppKey("web", Web)
CALLER = web.RequestKey("caller", Caller)
"""Who is logged in: the guard puts him there."""
STILL_IN: web.RequestKey[Callable[[], bool]] = web.RequestKey("still_in")
"""Whether he is, while a request lasts. The guard puts it there."""
CSRF = web.RequestKey("csrf", str)
"""What a change must bear that comes with the cookie of his session; "" with a token. The guard puts it there, too."""


def caller_of(request: web.Request) -> Caller:
    """Who is logged in; for handlers behind the guard, which lets nobody else pass."""
    return request[CALLER]
