"""`GET /api/v1/events`: changes in the cell as server-sent events, resumable after a reconnect.

Owns the types of events and the log of recent events. An event names the changed objects, not their values: clients read the
values themselves. The id of an event is the revision and a number within the revision. A client that reconnects with
Last-Event-ID gets the missed events, or `reset` if the log no longer has them.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aiohttp import web

from daemons.runtime.subscription import Subscription
from daemons.web.api.problem import problem
from daemons.web.mirror import MirroredChange, StateMirror
from daemons.web.shared import IS_LOGGED_IN

KEPT = 10_000
"""Events that are kept for clients that reconnect."""
TYPES = ("jobs", "instances", "hosts", "loads", "reservations", "configuration")
_MAX_BACKLOG = 10_000
_HEARTBEAT_S = 5.0
_ID = re.compile(r"(\d{1,18})\.(\d{1,6})")
Position = tuple[int, int]
"""Revision, and number of an event within it."""


class ChangeEvent(NamedTuple):
    """`position`: (revision, number in the transaction); `name`: its type, or `reset`, `here`; `data`: JSON."""

    position: Position
    name: str
    data: str = "{}"


_HEARTBEAT = ChangeEvent((0, 0), "")


class EventLog:
    """The last events of a mirror. `subscriptions`: one for each client."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror = mirror
        self._kept: deque[ChangeEvent] = deque(maxlen=KEPT)
        self._since = self.position
        self.subscriptions: set[Subscription[ChangeEvent]] = set()
        mirror.followers.append(self._note)

    @property
    def position(self) -> Position:
        """The position after all events until now."""
        return self._mirror.state.revision, len(TYPES)

    def _note(self, change: MirroredChange) -> None:
        if change.whole:
            self._kept.clear()
            self._since = (change.revision, 0)
        for event in _events(change):
            if len(self._kept) == KEPT:
                self._since = self._kept[0].position
            self._kept.append(event)
            for subscription in self.subscriptions:
                subscription.publish(event)

    def after(self, position: Position) -> list[ChangeEvent] | None:
        """The events after a position; None if the log no longer has them, or the position does not exist."""
        if not self._since <= position <= self.position:
            return None
        return [event for event in self._kept if event.position > position]


def _events(change: MirroredChange) -> Iterator[ChangeEvent]:
    if change.whole:
        yield ChangeEvent((change.revision, 1), "reset")
        return
    affected = change.affected
    reservations = {event.ar_id for event in change.events if hasattr(event, "ar_id")}
    ids_of_type: dict[str, Sequence[object]] = {
        "jobs": sorted(affected.jobs),
        "instances": sorted(affected.instances),
        "hosts": sorted(affected.lost | affected.returned),
        "loads": sorted(affected.heard),
        "reservations": sorted(affected.reservations | reservations),
        "configuration": sorted(f"{kind}/{name or '-'}" for kind, name in affected.objects),
    }
    for number, (name, ids) in enumerate(ids_of_type.items(), start=1):
        if ids:
            data = {"time": change.time, "user": change.user, "host": change.host, "ids": ids}
            yield ChangeEvent((change.revision, number), name, json.dumps(data))


LOG = web.AppKey("event_log", EventLog)


async def stream(request: web.Request) -> web.StreamResponse:
    """Send events until either side ends the stream. The query parameter `types` selects types, by default all but `loads`."""
    default_types = ",".join(each for each in TYPES if each != "loads")
    selected_types = {name for name in request.query.get("types", default_types).split(",") if name}
    if unknown := sorted(selected_types - set(TYPES)):
        return problem(400, f'there are no events of type "{unknown[0]}", only of {", ".join(TYPES)}')
    log, last = request.app[LOG], _ID.fullmatch(request.headers.get("Last-Event-ID", ""))
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    subscription = Subscription(_MAX_BACKLOG, (_HEARTBEAT_S, _HEARTBEAT))
    log.subscriptions.add(subscription)
    missed = log.after((int(last[1]), int(last[2]))) if last is not None else []
    here = ChangeEvent(log.position, "reset" if missed is None else "here")
    is_logged_in = request[IS_LOGGED_IN]
    try:
        await response.prepare(request)
        for event in (*(missed or ()), here):
            await _send(response, event, selected_types)
        async for event in subscription:
            if not is_logged_in():
                break
            await _send(response, event, selected_types)
    except ConnectionError:
        pass
    finally:
        log.subscriptions.discard(subscription)
    return response


async def _send(response: web.StreamResponse, event: ChangeEvent, selected_types: set[str]) -> None:
    if event is _HEARTBEAT:
        await response.write(b": here\n\n")
    elif event.name in selected_types or event.name not in TYPES:
        revision, number = event.position
        await response.write(f"id: {revision}.{number}\nevent: {event.name}\ndata: {event.data}\n\n".encode())
