"""The gateway: commands on an exec host talk to the qmaster through it, with an identity that the kernel vouches for.

Owns `run_dir/gateway.sock` and who the caller is (SO_PEERCRED). Passes requests and answers on as they are; knows no
request. Runs in the supervisor's event loop. Source: docs/architecture.md section 4.
"""

from __future__ import annotations

import asyncio
import fcntl
import grp
import logging
import os
import pwd
import socket
import struct

from aiohttp import web

from daemons.execd.qmaster_link import Caller, NoQmaster, QmasterLink
from daemons.runtime.cell import Cell

_log = logging.getLogger(__name__)

#: A request's body is held in memory: job scripts may be large, but not without end.
_BODY_BYTES = 256 * 2**20
_CREDENTIALS = struct.Struct("3i")
#: seconds after which a second execd of the same machine looks whether it has to serve now
_TURN_S = 2.0
_CHUNK = 65536


class Gateway:
    """The server on the Unix socket. Several exec hosts on one machine share the socket: one of them serves."""

    def __init__(self, cell: Cell, link: QmasterLink) -> None:
        self._cell, self._link = cell, link

    async def run(self) -> None:
        """Serve until cancelled. Raises OSError when the socket cannot be made."""
        self._cell.run_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = os.open(self._cell.run_dir / "gateway.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _locked(lock):
                await asyncio.sleep(_TURN_S)
            await self._serve()
        finally:
            os.close(lock)

    async def _serve(self) -> None:
        application = web.Application(client_max_size=_BODY_BYTES)
        application.router.add_post("/v1/{request:[A-Za-z0-9_/-]+}", self._pass_on)
        # a client that goes away while it waits must not keep its request open at the qmaster
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await runner.setup()
        path = self._cell.gateway_socket
        path.unlink(missing_ok=True)
        try:
            await web.UnixSite(runner, str(path), backlog=512).start()
            path.chmod(0o666)
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()
            path.unlink(missing_ok=True)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        try:
            caller = await _caller(request)
            body = await request.read()
            answer = await self._link.post(request.path, body, caller)
        except (NoQmaster, UnknownCaller) as error:
            # 503: surely not carried out, so the command may ask again while the qmaster is being restarted
            status = 503 if isinstance(error, NoQmaster) and not error.sent else 200
            refusal = {"status": 1, "answers": [["error", str(error)]], "data": None}
            return web.json_response(refusal, status=status)
        async with answer:
            response = web.StreamResponse(status=answer.status)
            response.content_type = answer.content_type
            response.content_length = answer.content_length
            await response.prepare(request)
            # as it comes: an answer may be a stream of lines that lasts as long as a job
            async for chunk, _ in answer.content.iter_chunks():
                await response.write(chunk)
            await response.write_eof()
            return response


class UnknownCaller(Exception):
    """The caller has no name on this host."""


async def _caller(request: web.Request) -> Caller:
    """Who is on the other end of the connection. Source: unix(7) SO_PEERCRED."""
    assert request.transport is not None
    connection: socket.socket = request.transport.get_extra_info("socket")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, gid = _CREDENTIALS.unpack(data)
    # the names may come from a directory server
    return await asyncio.get_running_loop().run_in_executor(None, _named, uid, gid)


def _named(uid: int, gid: int) -> Caller:
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        raise UnknownCaller(f"the user id {uid} has no name on this host") from None
    try:
        group = grp.getgrgid(gid).gr_name
    except KeyError:
        group = str(gid)
    return Caller(user, uid, group, gid)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
