"""The gateway: commands on an exec host reach the qmaster through it, with an identity that the kernel confirms.

Owns `run_dir/gateway.sock` and the identity of callers (SO_PEERCRED). Forwards requests and answers unchanged, and answers
one request itself: whether this host reaches the master. Runs in the supervisor's event loop. Source: docs/architecture.md
section 4.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

import aiohttp
from aiohttp import web

from daemons.runtime import idempotency
from daemons.runtime.cell import Cell
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import WRITE_TIMEOUT_S, HttpListeners, abort_answer, finish_answer, refusal_response
from daemons.runtime.local_users import LocalUsers, UnknownCallerError
from daemons.runtime.locks import try_lock
from daemons.runtime.name_service import NameServiceError
from daemons.runtime.qmaster_client import LocalCaller, NoQmasterError, QmasterClient
from daemons.runtime.request_bodies import RequestBodies, RequestBodyError
from gridengine.files.unix_sockets import peer_credentials, unix_listener
from gridengine.protocols.protocol import MASTER_REACHED

#: seconds between two attempts of a second execd on the same machine to take over the socket
_LOCK_RETRY_S = 2.0
#: why a request is answered here
_REFUSALS = (NoQmasterError, UnknownCallerError, NameServiceError, RequestBodyError, idempotency.MalformedKeyError)


class Gateway:
    """The server on the Unix socket. Several exec hosts on one machine share the socket: one of them serves.

    `limiter`: of this process's connections. `is_renewing`: whether this daemon ends only to restart as another release. Then its
    socket stays, by which commands know that a server will be back, and wait.
    """

    def __init__(
        self, cell: Cell, client: QmasterClient, limiter: ConnectionLimiter, is_renewing: Callable[[], bool] = lambda: False
    ) -> None:
        self._cell, self._client, self._limiter, self._is_renewing = cell, client, limiter, is_renewing
        self._bodies, self._users = RequestBodies(cell.limits), LocalUsers()

    async def run(self) -> None:
        """Serve until cancelled. Raises OSError when the socket cannot be made."""
        self._cell.run_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = os.open(self._cell.run_dir / "gateway.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not try_lock(lock):
                await asyncio.sleep(_LOCK_RETRY_S)
            await self._serve()
        finally:
            os.close(lock)

    async def _serve(self) -> None:
        # a client that disconnects while it waits must not keep its request open at the qmaster
        listeners = HttpListeners(self._limiter, self._forward, cancel_abandoned=True)
        path = self._cell.gateway_socket
        try:
            listeners.open(unix_listener(path, 0o666), self._cell.limits.max_user_connections)
            await asyncio.Event().wait()
        finally:
            await listeners.close()
            if not self._is_renewing():
                with suppress(OSError):
                    path.unlink()

    async def _forward(self, name: str, request: web.BaseRequest, _connection: Connection) -> web.StreamResponse:
        if name == MASTER_REACHED:
            return web.json_response({"status": 0, "answers": [], "data": await self._client.reaches_master()})
        key = ""
        try:
            key = idempotency.key_of(request.headers)
            caller = await self._find_caller(request)
            length = request.content_length if request.body_exists else 0
            async with self._bodies.read(name, length, request.content, caller.uid) as body:
                answer = await self._client.post(request.path, body, caller, key=key)
        except _REFUSALS as error:
            return refusal_response(str(error), _may_retry(error), is_lost=bool(key) and isinstance(error, NoQmasterError))
        async with answer:
            return await self._forward_answer(request, answer)

    async def _find_caller(self, request: web.BaseRequest) -> LocalCaller:
        """The user at the other end of the connection. Raises UnknownCallerError, NameServiceError."""
        if request.transport is None:
            raise ConnectionError("the client has disconnected")
        uid, gid = peer_credentials(request.transport.get_extra_info("socket"))[1:]
        user, group = await self._users.names(uid, gid)
        return LocalCaller(user, uid, group, gid)

    async def _forward_answer(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """Forward the answer as it arrives: the answer may be a stream of lines that lasts as long as a job."""
        response = web.StreamResponse(status=answer.status)
        response.content_type = answer.content_type
        response.content_length = answer.content_length
        try:
            await response.prepare(request)
            async for chunk, _ in answer.content.iter_chunks():
                async with asyncio.timeout(WRITE_TIMEOUT_S):
                    await response.write(chunk)
            await finish_answer(request, response)
        except (ConnectionError, TimeoutError):  # a failed write: aiohttp raises an exception that is both
            abort_answer(request)  # the client has disconnected, or does not read
        except aiohttp.ClientError:
            self._limiter.log_throttle.note("broken answer", "the qmaster went away in the middle of an answer")
            abort_answer(request)
        return response


def _may_retry(error: Exception) -> bool:
    """Whether the command may repeat the request: the qmaster is being restarted, or the body limits are reached."""
    return isinstance(error, RequestBodyError) and error.may_retry or isinstance(error, NoQmasterError) and not error.sent
