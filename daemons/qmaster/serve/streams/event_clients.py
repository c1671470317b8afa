"""Event clients: their registry, their subscriptions, and the streams to them.

Owns the registry (`qconf -secl`, `-kec`) and the request `events`, a stream of numbered notices. A client that does not
keep up is disconnected: the qmaster never waits for it. Source: EV-1, EV-8, EV-10, QF-34; sge_conf(5) MAX_DYN_EC.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from daemons.qmaster.master import Master
from daemons.qmaster.notifications.notices import TYPES, Notice, advance, full_list
from daemons.qmaster.permissions import is_admin_host, is_manager, not_admin_host, not_manager
from daemons.qmaster.serve.requests.gdi_server import send_lines
from daemons.qmaster.transaction import Transaction
from daemons.runtime.subscription import Subscription
from gridengine.protocols.gdi.reading import decode_body
from gridengine.protocols.gdi.requests import Answer, Caller, KillEventClients
from gridengine.state.apply import load_state
from gridengine.state.state import State, decode_snapshot

_log = logging.getLogger(__name__)
SCHEDULER_ID, FIRST_DYNAMIC_ID = 1, 11
DEFAULT_MAX_CLIENTS = 1000
MAX_BEHIND = 20_000
"""Notices that may wait for a client before it counts as lost."""


class EventClient:
    """A registered client. `records`: to be sent; `end_reason`: why it was disconnected."""

    def __init__(self, number: int, name: str, caller: Caller, types: frozenset[str]) -> None:
        self.id = number
        self.name = name
        self.host = caller.host
        self.user = caller.user
        self.types = types
        self.records: Subscription[dict[str, Any]] = Subscription(MAX_BEHIND)
        self.end_reason = ""
        self._last_number = 0

    def publish(self, notice: Notice) -> bool:
        """Queue a notice, if it is of a subscribed type, with the next number of this client (EV-8). Returns False if the client
        does not keep up."""
        if notice.type not in self.types:
            return True
        self._last_number += 1
        return self.records.publish({"number": self._last_number, **msgspec.structs.asdict(notice)})

    def disconnect(self, reason: str) -> None:
        """Discard the unread records and end the stream with a reason."""
        self.end_reason = reason
        self.records.close(discard=True)

    async def lines(self) -> AsyncGenerator[object, None]:
        """The lines of the stream."""
        yield {"id": self.id}
        async for record in self.records:
            yield record
        yield {"end": self.end_reason}


class EventClients:
    """The registry, which follows a master's transactions. `durable()` returns when all decisions are announced."""

    def __init__(self, master: Master, durable: Callable[[], Awaitable[None]]) -> None:
        self._master, self._durable = master, durable
        self._mirror: State | None = None
        self._first_revision = 0
        self._next = FIRST_DYNAMIC_ID
        self.clients: dict[int, EventClient] = {}
        master.subscribers.append(self.follow)

    def follow(self, transaction: Transaction) -> None:
        """Notify clients of a transaction's changes. Without clients no notices are derived."""
        if self._mirror is None or transaction.revision <= self._first_revision:
            return
        notices = advance(self._mirror, transaction)
        for client in list(self.clients.values()):
            if not all(map(client.publish, notices)):
                _log.warning("event client %s with id %d on host %s does not keep up", client.name, client.id, client.host)
                self.remove(client, "it does not keep up with the events")

    def register(self, name: str, caller: Caller, types: list[str]) -> EventClient | str:
        """A new client with the lists of all of its types queued, or the reason of a refusal.

        The lists must not be sent before all decisions until now are announced.
        """
        unknown = [each for each in types if each not in TYPES]
        if unknown:
            return f'denied: there are no events of type "{unknown[0]}", only of {", ".join(TYPES)}'
        if len(self.clients) >= self._master.state.configuration().qmaster_params.max_dyn_ec:
            return "denied: there are already as many event clients as MAX_DYN_EC allows"
        if self._mirror is None:
            self._first_revision = self._master.state.revision
            self._mirror = load_state(State(decode_snapshot(self._master.state.snapshot())))
        client = EventClient(self._next, name, caller, frozenset(types or TYPES))
        self._next += 1
        self.clients[client.id] = client
        for type_name in TYPES:
            if type_name in client.types:
                client.publish(full_list(self._mirror, type_name))
        return client

    def remove(self, client: EventClient, reason: str = "") -> None:
        """Remove a client; with a reason its stream ends."""
        self.clients.pop(client.id, None)
        if reason:
            client.disconnect(reason)
        if not self.clients:
            self._mirror = None

    # --- requests ------------------------------------------------------------------------------------------

    def listed(self) -> Answer:
        """`event_clients` (-secl): [id, name, host] of the scheduler and of all registered clients."""
        host = self._master.world().master_host
        rows = [[client.id, client.name, client.host] for client in self.clients.values()]
        return Answer(data=[[SCHEDULER_ID, "scheduler", host], *rows])

    def kill(self, request: KillEventClients, caller: Caller) -> Answer:
        """`kill_event_clients` (-kec): by id, or all but the scheduler."""
        world, state, answer = self._master.world(), self._master.state, Answer()
        if not is_admin_host(state, caller.host) and caller.host != world.master_host:
            return Answer(1, [("error", not_admin_host(caller))])
        if not is_manager(state, caller, world.admin_user):
            return Answer(1, [("error", not_manager(caller))])
        for requested in [str(number) for number in self.clients] if "all" in request.clients else request.clients:
            client = self.clients.get(int(requested)) if requested.isdecimal() else None
            if client is None:
                answer.error(f"no event client known with id {requested} to shutdown")
                continue
            self.remove(client, "an administrator has removed it")
            description = f"{client.name} with id {client.id} on host {client.host}"
            answer.info(f"sent shutdown notification to event client {description}")
        return answer

    async def stream(self, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        """`events`: register and send, one JSON line a notice, until either side ends it."""
        try:
            fields = decode_body("events", body)
        except msgspec.DecodeError as error:
            return _refused(f"denied: malformed request events: {error}")
        client = self.register(fields.get("name", "qevent"), caller, fields.get("types", []))
        if isinstance(client, str):
            return _refused(client)
        try:
            await self._durable()
            return await send_lines(request, client.lines())
        finally:
            self.remove(client)


def _refused(text: str) -> web.Response:
    """A refusal in the form of a stream: one line."""
    return web.Response(text=json.dumps({"refused": text}) + "\n", content_type="application/x-ndjson")
