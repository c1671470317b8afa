"""HTTP listeners: requests on limited connections, and answers with a write timeout.

Owns the transport and its timeouts. The meaning of requests and the rights of callers belong to the server that uses the
listeners: the GDI endpoint of the qmaster, the gateway of an exec host, the web server. Source: docs/architecture.md
section 4.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Awaitable, Callable
from ssl import SSLContext
from typing import Any

import aiohttp
from aiohttp import web

from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.listener import MAX_PER_ADDRESS, Listener

#: seconds: how long a kept connection may be idle between two requests; write-stall timeout of an answer
IDLE_S, WRITE_TIMEOUT_S = 60.0, 30.0
#: the slowest rate at which a client may read an answer, in bytes a second
SLOWEST_RATE = 2**18
_SHUTDOWN_S = 1.0
#: seconds: how long the rest of an unread body is received and discarded after the answer. A close before that resets the
#: connection, and a client that is still sending loses the answer. Source: RFC 9112 section 9.6
LINGER_S = 2.0
_READ_BYTES = 2**14
_PATH = re.compile(r"/v1/([A-Za-z0-9_-]{1,64})")

#: answers the request of a name; calls `note_authenticated()` of a connection whose other end has proven to be of the cell
Serve = Callable[[str, web.BaseRequest, Connection], Awaitable[web.StreamResponse]]


Tls = SSLContext | Callable[[], SSLContext] | None


class HttpListeners:
    """A server of `POST /v1/NAME` at one socket or several, on the running event loop.

    `cancel_abandoned`: the work for a client that has disconnected is cancelled at once.
    """

    def __init__(self, limiter: ConnectionLimiter, serve: Serve, cancel_abandoned: bool = False) -> None:
        self._limiter, self._serve = limiter, serve
        self._server = web.Server(self._answer, handler_cancellation=cancel_abandoned)
        self._listeners: list[Listener] = []

    def open(self, listening_socket: socket.socket, max_per_peer: int = MAX_PER_ADDRESS, tls: Tls = None) -> None:
        """Serve at a listening socket. `tls`, `max_per_peer`: see `Listener`."""
        refusal = b"" if tls else _BUSY
        self._listeners.append(Listener(self._limiter, listening_socket, self._protocol, max_per_peer, tls, refusal))

    async def close(self) -> None:
        """Accept no more connections, and end the existing connections."""
        for listener in self._listeners:
            listener.close()
        self._server.pre_shutdown()
        await self._server.shutdown(_SHUTDOWN_S)

    def _protocol(self, connection: Connection) -> asyncio.BaseProtocol:
        return _CountedHandler(connection, self._limiter, self._server)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol.connection  # type: ignore[attr-defined]
        connection.note_request()
        path = _PATH.fullmatch(request.path)
        try:
            if path is None or request.method != "POST":
                response: web.StreamResponse = web.Response(status=404, reason="No such request")
            else:
                response = await self._serve(path[1], request, connection)
            await finish_answer(request, response)
            return response
        finally:
            _discard_body(request.content)


def serve_app(
    limiter: ConnectionLimiter,
    listening_socket: socket.socket,
    server: web.Server,
    max_per_peer: int,
    tls: SSLContext | None = None,
) -> Listener:
    """Serve an aiohttp application (`AppRunner.server`) at a listening socket, with the limits of a listener.

    `max_per_peer`: connections of one address, or of one user of this host.
    """
    make = server.request_factory

    def note_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        protocol.connection.note_request()
        return make(message, payload, protocol, writer, task)

    server.request_factory = note_request
    return Listener(limiter, listening_socket, lambda connection: _AppHandler(connection, limiter, server), max_per_peer, tls)


def note_login(request: web.BaseRequest) -> None:
    """The request is of a logged-in user: its connection is evicted last. Does nothing without a `Listener`."""
    if isinstance(request.protocol, _CountedHandler):
        request.protocol.connection.is_logged_in = True


def _discard_body(content: aiohttp.StreamReader) -> None:
    """Free the received part of an unread body: request and connection refer to each other, so they live on until the next
    garbage collection, which is rare in the daemons."""
    if content.exception() is not None:
        content.set_exception(None)  # type: ignore[arg-type]
    content.read_nowait()


class _CountedHandler(web.RequestHandler):
    """Speaks HTTP on one connection. Malformed requests get an answer, and a throttled line in the log."""

    __slots__ = ("_limiter", "connection")

    def __init__(self, connection: Connection, limiter: ConnectionLimiter, server: web.Server) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=IDLE_S,
            lingering_time=LINGER_S,
            read_bufsize=_READ_BYTES,
        )
        self.connection, self._limiter = connection, limiter
        connection.is_idle = lambda: not (self._request_in_progress or self._messages)

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection has ended, from either side."""
        self.connection.note_closed()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a malformed request (400), or to a request whose handler failed.

        A client that disconnects in the middle of a request, with any network error, is not a failure.
        """
        is_gone = isinstance(exc, OSError) and (self.transport is None or self.transport.is_closing())
        if status >= 500 and not is_gone:
            return super().handle_error(request, status, exc, message)
        if not is_gone:
            peer, what = self.connection.peer, (message or "").partition(":")[0]
            self._limiter.log_throttle.note(f"{peer} {status}", f"{peer} has sent a malformed request: {what}")
        response = web.Response(status=status)
        response.force_close()
        return response


class _AppHandler(_CountedHandler):
    """One connection to an application; its handlers wait for the client to read, and the kernel ends the connection on a
    write stall."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        accepted = transport.get_extra_info("socket")
        if accepted is not None and accepted.family != socket.AF_UNIX:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(WRITE_TIMEOUT_S * 1000))
        super().connection_made(transport)


async def finish_answer(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Send the rest of an answer, if any. A client that does not read it loses the connection."""
    size = len(response.body or b"") if isinstance(response, web.Response) and isinstance(response.body, bytes) else 0
    try:
        async with asyncio.timeout(WRITE_TIMEOUT_S + size / SLOWEST_RATE):
            await response.prepare(request)
            await response.write_eof()
    except TimeoutError:
        abort_answer(request)
    except ConnectionError:
        pass  # disconnected already; aiohttp notices the disconnection, too


def abort_answer(request: web.BaseRequest) -> None:
    """End the connection in the middle of an answer, so that the client does not take the part for the whole."""
    if request.transport is not None:
        request.transport.abort()


def refusal_response(text: str, may_retry: bool = False, is_lost: bool = False) -> web.Response:
    """An error answer of the transport itself. `may_retry`: nothing was done, so the client may repeat the request (503).
    `is_lost`: that is unknown, but the client may repeat it under its idempotency key (504)."""
    status = 503 if may_retry else 504 if is_lost else 200
    response = web.Response(body=_refusal_body(text), status=status, content_type="application/json")
    response.force_close()
    return response


def _refusal_body(text: str) -> bytes:
    return json.dumps({"status": 1, "answers": [["error", text]], "data": None}, separators=(",", ":")).encode()


_busy = _refusal_body("denied: too many connections at the same time")
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_busy), _busy)
)
