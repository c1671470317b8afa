"""The running web server: the mirror that follows the qmaster, and the application behind its door.

Owns the order of starting and ending. Called by `__main__`.
"""

from __future__ import annotations

import asyncio
import os
import pwd
from contextlib import suppress
from ssl import SSLContext

from aiohttp import web
from dateutil.tz import tzlocal

from daemons.runtime.cell import Cell
from daemons.runtime.qmaster_link import LocalCaller, QmasterLink
from daemons.web.app import build_app
from daemons.web.mirror import StateMirror, follow
from daemons.web.shared import Web

_END_S = 1.0


class WebServer:
    """Of one cell, on the running event loop. `host`: the unique name of this one, which vouches for its users."""

    def __init__(self, cell: Cell, host: str) -> None:
        self._link = QmasterLink(cell, host)
        self._mirror = StateMirror()
        self._runner = web.AppRunner(build_app(Web(cell, self._mirror, self._link, tzlocal())), access_log=None)
        self._following: asyncio.Task[None] | None = None

    async def start(self, address: str, port: int, tls: SSLContext | None = None) -> None:
        """Follow the qmaster and serve at a port. Raises OSError."""
        user = pwd.getpwuid(os.geteuid()).pw_name
        own = LocalCaller(user, os.geteuid(), user, os.getegid(), daemon=True)
        self._following = asyncio.get_running_loop().create_task(follow(self._mirror, self._link, own))
        await self._runner.setup()
        await web.TCPSite(self._runner, address, port, ssl_context=tls, shutdown_timeout=_END_S).start()

    async def stop(self) -> None:
        """End all connections."""
        await self._runner.cleanup()
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following
        await self._link.close()
