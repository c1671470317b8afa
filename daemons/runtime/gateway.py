"""The gateway: commands on an exec host talk to the qmaster through it, with an identity that the kernel vouches for.

Owns `run_dir/gateway.sock` and who the caller is (SO_PEERCRED). Passes requests and answers on as they are; knows no
request but one that is for itself: whether it reaches the master. Runs in the supervisor's event loop.
Source: docs/architecture.md section 4.
"""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
from collections.abc import Callable
from contextlib import suppress

import aiohttp
from aiohttp import web

from daemons.runtime import idempotency
from daemons.runtime.bodies import Bodies, Unread
from daemons.runtime.cell import Cell
from daemons.runtime.connections import Connection, Room
from daemons.runtime.door import credentials, unix_listener
from daemons.runtime.http_door import TAKEN_S, HttpDoors, drop, hand_over, refusal
from daemons.runtime.locks import try_lock
from daemons.runtime.qmaster_link import LocalCaller, NoQmaster, QmasterLink
from gridengine.protocol import MASTER_REACHED

#: seconds after which a second execd of the same machine looks whether it has to serve now
_TURN_S = 2.0


class Gateway:
    """The server on the Unix socket. Several exec hosts on one machine share the socket: one of them serves.

    `room`: of the connections of this process. `goes_on`: whether this daemon ends to go on as another release: its socket stays,
    by which commands know that somebody will serve there, and wait.
    """

    def __init__(self, cell: Cell, link: QmasterLink, room: Room, goes_on: Callable[[], bool] = lambda: False) -> None:
        self._cell, self._link, self._room, self._goes_on = cell, link, room, goes_on
        self._bodies = Bodies(cell.limits)

    async def run(self) -> None:
        """Serve until cancelled. Raises OSError when the socket cannot be made."""
        self._cell.run_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = os.open(self._cell.run_dir / "gateway.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not try_lock(lock):
                await asyncio.sleep(_TURN_S)
            await self._serve()
        finally:
            os.close(lock)

    async def _serve(self) -> None:
        # a client that goes away while it waits must not keep its request open at the qmaster
        doors = HttpDoors(self._room, self._pass_on, cancel_abandoned=True)
        path = self._cell.gateway_socket
        try:
            doors.open(unix_listener(path), self._cell.limits.max_user_connections)
            await asyncio.Event().wait()
        finally:
            await doors.close()
            if not self._goes_on():
                with suppress(OSError):
                    path.unlink()

    async def _pass_on(self, name: str, request: web.BaseRequest, _connection: Connection) -> web.StreamResponse:
        if name == MASTER_REACHED:
            return web.json_response({"status": 0, "answers": [], "data": await self._link.reaches_master()})
        key = ""
        try:
            key = idempotency.key_of(request.headers)
            caller = await _caller(request)
            length = request.content_length if request.body_exists else 0
            async with self._bodies.read(name, length, request.content, caller.uid) as body:
                answer = await self._link.post(request.path, body, caller, key=key)
        except (NoQmaster, UnknownCaller, Unread, idempotency.MalformedKey) as error:
            return refusal(str(error), _nothing_was_done(error), lost=bool(key) and isinstance(error, NoQmaster))
        async with answer:
            return await self._copied(request, answer)

    async def _copied(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """Pass on the answer as it comes: it may be a stream of lines that lasts as long as a job."""
        response = web.StreamResponse(status=answer.status)
        response.content_type = answer.content_type
        response.content_length = answer.content_length
        try:
            await response.prepare(request)
            async for chunk, _ in answer.content.iter_chunks():
                async with asyncio.timeout(TAKEN_S):
                    await response.write(chunk)
            await hand_over(request, response)
        except (ConnectionError, TimeoutError):  # of which aiohttp's own, when it cannot write, is both
            drop(request)  # the client went away, or does not read
        except aiohttp.ClientError:
            self._room.refusals.note("broken answer", "the qmaster went away in the middle of an answer")
            drop(request)
        return response


def _nothing_was_done(error: Exception) -> bool:
    """Whether the command may ask again: while the qmaster is being restarted, or there is no room for the request."""
    return isinstance(error, Unread) and error.again or isinstance(error, NoQmaster) and not error.sent


class UnknownCaller(Exception):
    """The caller has no name on this host."""


async def _caller(request: web.BaseRequest) -> LocalCaller:
    """Who is on the other end of the connection."""
    if request.transport is None:
        raise ConnectionError("the client has gone")
    # the names may come from a directory server
    ids = credentials(request.transport.get_extra_info("socket"))
    return await asyncio.get_running_loop().run_in_executor(None, _named, *ids)


def _named(uid: int, gid: int) -> LocalCaller:
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        raise UnknownCaller(f"the user id {uid} has no name on this host") from None
    try:
        group = grp.getgrgid(gid).gr_name
    except KeyError:
        group = str(gid)
    return LocalCaller(user, uid, group, gid)
