"""`run_dir/seat.sock`: the local requests of the qmaster and of administrators to the participant.

Owns the transport and the authorisation: root and the user of the daemons. Answers are JSON objects; an object with `error`
is a refusal. Source: docs/adr/0146.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from daemons.qmaster.serve.replication.leader_link import AgreementError
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.http_listener import HttpListeners
from daemons.runtime.peers import PeerUnreachableError
from gridengine.files.unix_sockets import peer_credentials, unix_listener

_SHARE = 64

LocalHandler = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


async def serve_local_requests(path: Path, handler: LocalHandler) -> None:
    """Answer until cancelled. Raises OSError when the socket cannot be made."""

    async def answer(name: str, request: web.BaseRequest, _connection: Connection) -> web.StreamResponse:
        if not _is_allowed(request):
            return _reply({"error": "denied: only root and the admin user may send requests to this socket"})
        try:
            fields = msgspec.json.decode(await request.content.read() or b"{}", type=dict[str, Any])
            return _reply(await handler(name, fields))
        except (AgreementError, PeerUnreachableError, msgspec.DecodeError, KeyError, TypeError) as fault:
            return _reply({"error": str(fault) or type(fault).__name__})

    listeners = HttpListeners(ConnectionLimiter(), answer)
    try:
        listeners.open(unix_listener(path, 0o666), _SHARE)
        await asyncio.Event().wait()
    finally:
        await listeners.close()
        with suppress(OSError):
            path.unlink()


def _is_allowed(request: web.BaseRequest) -> bool:
    peer = request.transport.get_extra_info("socket") if request.transport is not None else None
    return peer is not None and peer_credentials(peer).uid in (0, os.geteuid())


def _reply(fields: dict[str, Any]) -> web.Response:
    return web.Response(body=msgspec.json.encode(fields), content_type="application/json")
