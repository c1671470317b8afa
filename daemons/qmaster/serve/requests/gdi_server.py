"""The GDI endpoint: HTTP on a Unix socket for this host and on TLS for the gateways of other hosts.

Owns the transport, the authentication of callers, and the form of answers; the meaning of requests is `service`'s. Identity:
the kernel's report about the socket (SO_PEERCRED), or a gateway's statement with its host's key. Source: docs/gdi.md.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec
from aiohttp import web

from daemons.qmaster.serve.hosts.joining import LARGEST, NO_PORT, JoinRequests
from daemons.qmaster.serve.hosts.known_hosts import KeyOf
from daemons.runtime import idempotency
from daemons.runtime.cell import Limits
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import WRITE_TIMEOUT_S, HttpListeners, Tls, finish_answer, refusal_response
from daemons.runtime.listener import open_tcp_sockets
from daemons.runtime.local_users import LocalUsers
from daemons.runtime.name_service import NameServiceError
from daemons.runtime.per_user_limit import PerUserLimit
from daemons.runtime.request_bodies import RequestBodies, RequestBodyError, skip_body
from gridengine.files.unix_sockets import peer_credentials, unix_listener
from gridengine.protocols import joining
from gridengine.protocols.gdi.requests import Answer, Caller

_log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()

Handler = Callable[[str, bytes, Caller, str], Awaitable[Answer | web.StreamResponse]]
Streamer = Callable[[web.BaseRequest, bytes, Caller], Awaitable[web.StreamResponse]]

#: requests of one user that are answered at a time: each answer is in memory until the client has read it
MAX_ANSWERS_OF_USER = 16


class GdiServer:
    """Listens on the Unix socket and, when a TLS context is given, on a TCP port.

    `handle(name, body, caller, key)` answers requests, under an idempotency key or "".
    `streams` maps request names to handlers that write their own answer; streams in `long_lived` last until an event ends
    them, and are not counted in the limit per user; `key_of(host)`: the key with which a host authenticates its users, ""
    for a host that is not trusted. `join_requests`: admits hosts without keys, for the one request with which they join.
    `is_leader()`: whether this host is the master; if not, clients retry, and find the new master.
    """

    def __init__(
        self,
        handle: Handler,
        streams: Mapping[str, Streamer],
        long_lived: Container[str],
        host: str,
        key_of: KeyOf,
        limits: Limits,
        is_leader: Callable[[], bool] = lambda: True,
        join_requests: JoinRequests | None = None,
    ) -> None:
        self._handle = handle
        self._join_requests = join_requests
        self._is_leader = is_leader
        self._streams = streams
        self._long_lived = long_lived
        self._host = host
        self._users = LocalUsers()
        self._key_of = key_of
        self._limits = limits
        self._bodies = RequestBodies(limits)
        self._per_user_limit = PerUserLimit(MAX_ANSWERS_OF_USER)
        self._limiter = ConnectionLimiter()
        self._listeners: HttpListeners | None = None

    async def start(self, path: Path, addresses: Sequence[str] = (), port: int = 0, tls: Tls = None) -> None:
        """`addresses`: of the master host, the only interfaces that the port is bound to."""
        self._listeners = HttpListeners(self._limiter, self._serve)
        self._listeners.open(unix_listener(path, 0o666), self._limits.max_user_connections)
        if tls is not None:
            for listening_socket in open_tcp_sockets(addresses, port):
                self._listeners.open(listening_socket, tls=tls)

    def connections(self) -> int:
        """The number of open connections."""
        return self._limiter.count

    async def stop(self) -> None:
        if self._listeners is not None:
            await self._listeners.close()

    async def _serve(self, name: str, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        if name == joining.REQUEST and self._join_requests is not None:
            return await self._join(self._join_requests, request, connection)
        try:
            caller = await self._find_caller(request, connection)
        except NameServiceError as error:
            return refusal_response(str(error))
        if caller is None:
            return refusal_response("denied: the caller's host has no keys of this cell, or old ones")
        if not self._is_leader():
            return await self._refuse_not_leader(request, connection)
        length = request.content_length if request.body_exists else 0
        user = (caller.host, caller.uid)
        try:
            async with self._bodies.read(name, length, request.content, user) as body:
                if name in self._long_lived:
                    return await self._answer(name, request, body, caller)
                async with self._per_user_limit.of(user):
                    response = await self._answer(name, request, body, caller)
                    await finish_answer(request, response)
                    return response
        except RequestBodyError as error:
            if error.may_retry and connection.is_authenticated:
                await skip_body(request.content)  # a gateway sends all of it before it reads an answer
            return refusal_response(str(error), error.may_retry)

    async def _join(self, join_requests: JoinRequests, request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        """Answer an unauthenticated join request: its body is small, and only its token is trusted."""
        length = request.content_length
        if length is None or length > LARGEST or not join_requests.has_open_token():
            return refusal_response("denied: the master admits no new hosts at the moment, or the request is malformed")
        if not self._is_leader():
            return await self._refuse_not_leader(request, connection)
        try:
            async with self._bodies.read(joining.REQUEST, length, request.content, connection.peer) as body:
                peer = request.transport.get_extra_info("peername") if request.transport is not None else None
                address, port = peer[:2] if isinstance(peer, tuple) else (connection.peer, NO_PORT)
                return _reply(await join_requests.answer(body, address, port))
        except RequestBodyError as error:
            return refusal_response(str(error), error.may_retry)

    @staticmethod
    async def _refuse_not_leader(request: web.BaseRequest, connection: Connection) -> web.StreamResponse:
        if connection.is_authenticated:
            await skip_body(request.content)
        return refusal_response("denied: this host is not the master at the moment", may_retry=True)

    async def _answer(self, name: str, request: web.BaseRequest, body: bytes, caller: Caller) -> web.StreamResponse:
        try:
            if name in self._streams:
                return await self._streams[name](request, body, caller)
            answer = await self._handle(name, body, caller, idempotency.key_of(request.headers))
        except idempotency.MalformedKeyError as fault:
            answer = Answer(1, [("error", str(fault))])
        except Exception:  # no traceback reaches a user
            _log.exception("request %s of %s@%s failed", name, caller.user, caller.host)
            answer = Answer(1, [("error", f"internal error in request {name}: see the messages file of the qmaster")])
        return answer if isinstance(answer, web.StreamResponse) else _reply(answer)

    async def _find_caller(self, request: web.BaseRequest, connection: Connection) -> Caller | None:
        peer = request.transport.get_extra_info("socket") if request.transport is not None else None
        if peer is None:
            return None
        if peer.family == socket.AF_UNIX:
            return await self._users.caller(*peer_credentials(peer)[1:], self._host)
        caller = self._authenticated_caller(request)
        if caller is not None:
            connection.note_authenticated()
        return caller

    def _authenticated_caller(self, request: web.BaseRequest) -> Caller | None:
        """The caller that another host's gateway names; the key must be that host's, and there must be a certificate."""
        if request.transport is None or not request.transport.get_extra_info("peercert"):
            return None
        headers = request.headers
        scheme, _, key = headers.get("Authorization", "").partition(" ")
        expected = self._key_of(headers.get("X-GE-Host", ""))
        if scheme != "Bearer" or not expected or not hmac.compare_digest(key.encode(), expected.encode()):
            return None
        try:
            return Caller(
                headers["X-GE-User"],
                int(headers["X-GE-Uid"]),
                headers["X-GE-Group"],
                int(headers["X-GE-Gid"]),
                headers["X-GE-Host"],
                daemon=headers.get("X-GE-Daemon") == "1",
            )
        except (KeyError, ValueError):
            return None


def _reply(answer: Answer) -> web.Response:
    return web.Response(body=_encoder.encode(answer), content_type="application/json")


async def send_lines(request: web.BaseRequest, lines: AsyncGenerator[object, None]) -> web.StreamResponse:
    """Answer with a line of JSON for each value, until they end, or until the client disconnects or does not read."""
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    async with aclosing(lines):
        try:
            await response.prepare(request)
            async for value in lines:
                async with asyncio.timeout(WRITE_TIMEOUT_S):
                    await response.write(_encoder.encode(value) + b"\n")
        except (ConnectionError, TimeoutError):
            pass
    return response
