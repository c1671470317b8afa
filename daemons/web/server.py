"""The running web server: the mirror of the state, the pages behind the guard, and the socket for login links.

Owns the order of start and shutdown. Called by `__main__`.
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

from daemons.runtime.cell import Cell, CellError
from daemons.runtime.connection_limiter import ConnectionLimiter
from daemons.runtime.http_listener import serve_app
from daemons.runtime.keys import own_keys
from daemons.runtime.listener import Listener
from daemons.runtime.qmaster_client import HostCredentials, LocalCaller, QmasterClient
from daemons.web.access.guard import Guard
from daemons.web.access.links import Links, LinkServer
from daemons.web.access.logins import Logins
from daemons.web.access.routes import Access
from daemons.web.alarms.book import AlarmBook
from daemons.web.alarms.watch import AlarmWatch
from daemons.web.app import build_app
from daemons.web.mirror import StateMirror, follow
from daemons.web.preferences import PreferenceStore
from daemons.web.reports.monthly_mail import MonthlyMail
from daemons.web.settings import WebSettings
from daemons.web.shared import Web
from daemons.web.trends.sampler import TrendSampler
from daemons.web.trends.trend_store import TrendStore
from gridengine.errors import plain_fault

_SHUTDOWN_S = 1.0
MAX_CONNECTIONS_PER_PEER = 512
"""Maximum connections of one address, or of one user of this host. A proxy has many users, and each open page a connection."""


class WebServer:
    """The web server of one cell, on the running event loop. `host`: unique name of this host, which authenticates its users.

    `tls`: None for HTTP; `directory`: for the files of sessions, alarms, trends, reports and preferences.
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
        alarms = AlarmBook(directory / "alarms.json", settings.alarms.hold_s)
        trends, preferences = TrendStore(directory / "trends.db"), PreferenceStore(directory / "preferences")
        shared = Web(cell, self._mirror, self._client, tzlocal(), alarms, trends, preferences)
        self._watch = AlarmWatch(shared, settings.alarms, settings.certificate)
        self._sampler = TrendSampler(shared)
        self._monthly = MonthlyMail(shared, settings.reports, settings.base(), directory / "report.json")
        self._reports = shared.reports
        app = build_app(shared)
        logins, links = Logins(directory / "sessions.json", time.time), Links(time.time)
        guard = Guard(logins, frozenset(settings.names), settings.tls)
        Access(links, logins, guard).add_to(app)
        self._limiter = ConnectionLimiter()
        self._links = LinkServer(host, links, logins, settings.base(), self._limiter, alarms)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=_SHUTDOWN_S)
        self._listener: Listener | None = None
        self._mirror_task: asyncio.Task[None] | None = None

    async def start(self, pages: socket.socket, links: socket.socket) -> None:
        """Follow the qmaster, serve browsers at the socket `pages`, and requests for login links at the socket `links`."""
        user = pwd.getpwuid(os.geteuid()).pw_name
        own = LocalCaller(user, os.geteuid(), user, os.getegid(), daemon=True)
        self._mirror_task = asyncio.get_running_loop().create_task(follow(self._mirror, self._client, own))
        await self._runner.setup()
        assert self._runner.server is not None
        self._listener = serve_app(self._limiter, pages, self._runner.server, MAX_CONNECTIONS_PER_PEER, self._tls)
        self._links.open(links)
        self._watch.start()
        self._sampler.start()
        self._monthly.start()

    async def stop(self) -> None:
        """End all connections."""
        await self._watch.stop()
        await self._sampler.stop()
        await self._monthly.stop()
        await self._reports.stop()
        await self._links.close()
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()
        if self._mirror_task is not None:
            self._mirror_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._mirror_task
        await self._client.close()


def tls_context(cell: Cell, host: str, settings: WebSettings) -> ssl.SSLContext | None:
    """The TLS context with the certificate of the server; None for HTTP. Raises CellError."""
    if not settings.tls:
        return None
    if settings.certificate is None or settings.key is None:
        return own_keys(cell, host).server_context(callers_need_keys=False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise CellError(f"cannot use {settings.certificate} and {settings.key}: {plain_fault(error)}") from error
    return context
