"""The running web server: the mirror that follows the qmaster, the pages behind their door, and the socket that gives out links.

Owns the order of starting and ending. Called by `__main__`.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import ssl
import time
from contextlib import suppress
from pathlib import Path

from aiohttp import web
from dateutil.tz import tzlocal

from daemons.runtime.cell import Cell, CellFault
from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.runtime.http_listener import serve_app
from daemons.runtime.keys import own_keys
from daemons.runtime.listener import Listener
from daemons.runtime.qmaster_client import HostCredentials, LocalCaller, QmasterClient
from daemons.web.access.guard import Guard
from daemons.web.access.links import Links, LinkServer
from daemons.web.access.logins import Logins
from daemons.web.access.routes import Access
from daemons.web.app import build_app
from daemons.web.mirror import StateMirror, follow
from daemons.web.settings import WebSettings
from daemons.web.shared import Web
from gridengine.errors import plain_fault

_END_S = 1.0
PAGES_SHARE = 512
"""Connections of one address, or of one user of this host: behind a proxy there are many users, each open page holds one."""


class WebServer:
    """Of one cell, on the running event loop. `host`: the unique name of this one, which vouches for its users.

    `tls`: None for HTTP; `directory`: where it keeps who is logged in.
    """

    def __init__(
        self,
        cell: Cell,
        host: str,
        settings: WebSettings,
        tls: ssl.SSLContext | None,
        credentials: HostCredentials,
        directory: Path,
    ) -> None:
        self._tls = tls
        self._client = QmasterClient(cell, host, credentials)
        self._mirror = StateMirror()
        app = build_app(Web(cell, self._mirror, self._client, tzlocal()))
        logins, links = Logins(directory / "sessions.json", time.time), Links(time.time)
        guard = Guard(logins, frozenset(settings.names), settings.tls)
        Access(links, logins, guard).add_to(app)
        self._limiter = ConnectionLimiter()
        self._links = LinkServer(host, links, logins, settings.base(), self._limiter)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=_END_S)
        self._listener: Listener | None = None
        self._following: asyncio.Task[None] | None = None

    async def start(self, pages: socket.socket, links: socket.socket) -> None:
        """Follow the qmaster, and serve browsers at one listening socket, users who want a link at the other."""
        user = pwd.getpwuid(os.geteuid()).pw_name
        own = LocalCaller(user, os.geteuid(), user, os.getegid(), daemon=True)
        self._following = asyncio.get_running_loop().create_task(follow(self._mirror, self._client, own))
        await self._runner.setup()
        assert self._runner.server is not None
        self._listener = serve_app(self._limiter, pages, self._runner.server, PAGES_SHARE, self._tls)
        self._links.open(links)

    async def stop(self) -> None:
        """End all connections."""
        await self._links.close()
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following
        await self._client.close()


def tls_of(cell: Cell, host: str, settings: WebSettings) -> ssl.SSLContext | None:
    """With which certificate the server proves who it is; None where it speaks HTTP. Raises CellFault."""
    if not settings.tls:
        return None
    if settings.certificate is None or settings.key is None:
        return own_keys(cell, host).server_context(callers_need_keys=False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise CellFault(f"cannot use {settings.certificate} and {settings.key}: {plain_fault(error)}") from error
    return context
