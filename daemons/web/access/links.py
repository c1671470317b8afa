"""Login links, each valid once; and the socket at which users of this host get links, tokens and the list of alarms.

Owns the authorization: each user of this host, for themselves, authenticated by the kernel (SO_PEERCRED). Source:
gridengine/protocols/web.py; adr/0134.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable
from typing import Any

from aiohttp import web

from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import HttpListeners
from daemons.runtime.local_users import LocalUsers
from daemons.runtime.name_service import NameServiceError
from daemons.web.access.logins import Logins, digest_of
from daemons.web.alarms.book import AlarmBook
from gridengine.files.unix_sockets import peer_credentials
from gridengine.protocols import web as agreed
from gridengine.protocols.gdi.requests import Caller

MOST = 10
"""Unused links of one user; a new link replaces the oldest."""
_MAX_CONNECTIONS_PER_USER = 16
_MAX_REQUEST_BYTES = 4096
_TOKEN_FIELDS = ("label", "scope", "made", "used", "address", "until")


class Links:
    """Login links that are not used yet. `clock()`: epoch s."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._unused: dict[str, tuple[Caller, float]] = {}

    def make(self, caller: Caller) -> str:
        """Create a link that logs in this caller; return its secret."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        self._unused = {digest: link for digest, link in self._unused.items() if now < link[1]}
        own = [digest for digest, (owner, _) in self._unused.items() if owner.uid == caller.uid]
        for digest in own[: 1 - MOST]:
            del self._unused[digest]
        self._unused[digest_of(secret)] = (caller, now + agreed.LINK_MINUTES * 60)
        return secret

    def find_caller(self, secret: str) -> Caller | None:
        """The user of a link, None if the link is used, expired or unknown."""
        caller, until = self._unused.get(digest_of(secret), (None, 0.0))
        return caller if self._clock() < until else None

    def follow(self, secret: str) -> Caller | None:
        """Use up a link: the user to log in, None if the link is not valid."""
        caller = self.find_caller(secret)
        self._unused.pop(digest_of(secret), None)
        return caller


class LinkServer:
    """Serves requests at a Unix socket, on the running event loop. `base`: the address of the pages."""

    def __init__(
        self, host: str, links: Links, logins: Logins, base: str, limiter: ConnectionLimiter, alarms: AlarmBook
    ) -> None:
        self._host, self._links, self._logins, self._base, self._alarms = host, links, logins, base, alarms
        self._users = LocalUsers()
        self._listeners = HttpListeners(limiter, self._serve)

    def open(self, listener: socket.socket) -> None:
        """Serve at a listening socket."""
        self._listeners.open(listener, _MAX_CONNECTIONS_PER_USER)

    async def close(self) -> None:
        await self._listeners.close()

    async def _serve(self, name: str, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        assert request.transport is not None
        try:
            caller = await self._users.caller(*peer_credentials(request.transport.get_extra_info("socket"))[1:], self._host)
        except NameServiceError as error:
            return web.json_response({"error": str(error)})
        try:
            fields = json.loads(await request.content.read(_MAX_REQUEST_BYTES) or b"{}")
        except (ValueError, RecursionError):
            fields = None
        if isinstance(fields, dict):
            return web.json_response(self._answer(name, fields, caller))
        return web.json_response({"error": "a request is a JSON object"})

    def _answer(self, name: str, fields: dict[str, Any], caller: Caller) -> dict[str, Any]:
        if name == agreed.LOGIN:
            return {"link": f"{self._base}/login/{self._links.make(caller)}", "minutes": agreed.LINK_MINUTES}
        if name == agreed.TOKEN:
            days, scope, label = fields.get("days", 90), fields.get("scope", agreed.ALL), fields.get("label", "")
            if fault := token_fault(days, scope, label):
                return {"error": fault}
            try:
                secret, login = self._logins.grant(caller, days, scope, label)
            except OSError as error:
                return {"error": f"the web server cannot save it: {error.strerror}"}
            return {"token": secret, "until": login.until}
        if name == agreed.TOKENS:
            tokens = [login for login in self._logins.of(caller.user) if login.kind == "token"]
            return {"tokens": [{name: getattr(login, name) for name in _TOKEN_FIELDS} for login in tokens]}
        if name == agreed.ALARMS:
            return {"alarms": [entry.public() for entry in self._alarms.active]}
        return {"error": f"there is no request {name}"}


def token_fault(days: object, scope: object, label: object) -> str:
    """The reason why these values make no token, "" for none."""
    if type(days) is not int or not 1 <= days <= agreed.MAX_TOKEN_DAYS:
        return f"a token is good for 1 to {agreed.MAX_TOKEN_DAYS} days"
    if scope not in agreed.SCOPES:
        return f"the scope of a token is one of {', '.join(agreed.SCOPES)}"
    if not isinstance(label, str) or len(label) > agreed.MAX_LABEL_LENGTH or not label.isprintable():
        return f"the label of a token has at most {agreed.MAX_LABEL_LENGTH} printable characters"
    return ""
