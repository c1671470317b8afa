"""The GDI endpoint: HTTP on a Unix socket for this host and on TLS for the gateways of others.

Owns the transport, the proof of who calls, and the shape of answers; what a request means is `service`'s. Identity:
the kernel's word on the socket (SO_PEERCRED), or a gateway's word together with its host's key. Source: docs/gdi.md.
"""

from __future__ import annotations

import grp
import hmac
import logging
import pwd
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from ssl import SSLContext

import msgspec
from aiohttp import web

from daemons.qmaster.known_hosts import KeyOf
from gridengine.gdi.requests import Answer, Caller

MAX_BODY = 256 * 2**20
_log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()

Handler = Callable[[str, bytes, Caller], Awaitable[Answer | web.StreamResponse]]
Streamer = Callable[[web.Request, bytes, Caller], Awaitable[web.StreamResponse]]


class GdiServer:
    """Listens on the Unix socket and, when a TLS context is given, on a TCP port.

    `handle(name, body, caller)` answers requests; `streams` maps request names to handlers that write their own answer;
    `key_of(host)`: the key with which a host vouches for its users, "" for a host that is not believed.
    """

    def __init__(self, handle: Handler, streams: dict[str, Streamer], host: str, key_of: KeyOf) -> None:
        self._handle = handle
        self._streams = streams
        self._host = host
        self._key_of = key_of
        self._runner: web.AppRunner | None = None

    async def start(self, path: Path, address: str = "", port: int = 0, tls: SSLContext | None = None) -> None:
        """`address`: of the master host, the one interface that the port is bound to."""
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_post("/v1/{name}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await self._runner.setup()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        await web.UnixSite(self._runner, str(path)).start()
        path.chmod(0o666)
        if tls is not None:
            await web.TCPSite(self._runner, address, port, ssl_context=tls, reuse_address=True).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        caller = self._caller(request)
        if caller is None:
            return _reply(Answer(1, [("error", "denied: the caller's host has no keys of this cell, or old ones")]))
        name = request.match_info["name"]
        body = await request.read()
        try:
            if name in self._streams:
                return await self._streams[name](request, body, caller)
            answer = await self._handle(name, body, caller)
        except Exception:
            _log.exception("request %s of %s@%s failed", name, caller.user, caller.host)
            answer = Answer(1, [("error", f"internal error in request {name}: see the messages file of the qmaster")])
        return answer if isinstance(answer, web.StreamResponse) else _reply(answer)

    def _caller(self, request: web.Request) -> Caller | None:
        transport = request.transport
        peer = transport.get_extra_info("socket") if transport is not None else None
        if peer is None:
            return None
        if peer.family == socket.AF_UNIX:
            credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            _, uid, gid = struct.unpack("3i", credentials)
            return local_caller(uid, gid, self._host)
        return self._vouched(request)

    def _vouched(self, request: web.Request) -> Caller | None:
        """A caller as another host's gateway vouches for him; the key must be that host's own."""
        headers = request.headers
        scheme, _, key = headers.get("Authorization", "").partition(" ")
        wanted = self._key_of(headers.get("X-GE-Host", ""))
        if scheme != "Bearer" or not wanted or not hmac.compare_digest(key.encode(), wanted.encode()):
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


def local_caller(uid: int, gid: int, host: str) -> Caller:
    """The caller that the kernel named; ids without a name are shown as numbers."""
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    try:
        group = grp.getgrgid(gid).gr_name
    except KeyError:
        group = str(gid)
    return Caller(user, uid, group, gid, host)


def _reply(answer: Answer) -> web.Response:
    return web.Response(body=_encoder.encode(answer), content_type="application/json")


async def stream_line(response: web.StreamResponse, value: object) -> None:
    """One JSON line of a stream."""
    await response.write(_encoder.encode(value) + b"\n")
