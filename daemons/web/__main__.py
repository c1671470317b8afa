"""`sge_web`: the program that serves the pages of a cell, on the master host or on an exec host.

Owns the command line and the start sequence. Runs as the admin user of the cell when root starts it. Source: adr/0133.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from typing import TYPE_CHECKING

import daemons.runtime.http_library  # noqa: F401  before what loads aiohttp
from daemons.runtime.cell import read_cell
from daemons.runtime.daemon import DaemonError, PidFile, Startup, become_user, run_until_stopped
from daemons.runtime.garbage_collection import tune_collection_for_service
from daemons.runtime.listener import open_tcp_socket
from daemons.runtime.messages import open_messages
from daemons.runtime.program import Foreground, detached, entry_point, exit_with_error, preparation
from daemons.runtime.qmaster_client import read_credentials
from daemons.runtime.watchdog import feed_watchdog
from gridengine.extensions import missing_libraries
from gridengine.files.unix_sockets import unix_listener
from gridengine.protocols import web

if TYPE_CHECKING:
    from daemons.web.server import WebServer

PROGRAM = "sge_web"
_log = logging.getLogger(__name__)


def serve(foreground: Foreground = False) -> None:
    """Serve the pages of the cell that SGE_ROOT and SGE_CELL name. SIGTERM ends it."""
    if missing := missing_libraries("web"):
        exit_with_error(PROGRAM, missing)
    # these load the libraries
    from daemons.web.server import WebServer, tls_context
    from daemons.web.settings import read_settings

    with preparation(PROGRAM):
        cell = read_cell()
        host = cell.own_name()
        settings = read_settings(cell, host)
        directory = cell.web_spool
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)  # all users may see whether the server runs
    with detached(PROGRAM, foreground) as startup:
        try:
            pid_file = PidFile(directory / web.PID_FILE, PROGRAM)
            cell.run_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
            tls, credentials = tls_context(cell, host, settings), read_credentials(cell, host)
            # needs the rights of root, and no other server
            pages, links = open_tcp_socket(settings.address, settings.port), unix_listener(cell.run_dir / web.SOCKET, 0o666)
            become_user(cell.admin_user, directory, *pid_file.files)
            open_messages(directory / "messages", "main", host, "log_info", "web", cell.json_log)

            async def run_server(stop: asyncio.Event) -> None:
                tune_collection_for_service()
                server = WebServer(cell, host, settings, tls, credentials, directory)
                await _serve(server, pages, links, stop, startup, settings.base())

            run_until_stopped(run_server, pid_file, startup)
            pid_file.release()
        except OSError as error:
            raise DaemonError(f"cannot serve at {settings.base()}: {error.strerror or error}") from None


async def _serve(
    server: WebServer, pages: socket.socket, links: socket.socket, stop: asyncio.Event, startup: Startup, base: str
) -> None:
    try:
        await server.start(pages, links)
        _log.info("%s serves at %s", PROGRAM, base)
        startup.ready()
        async with feed_watchdog():
            await stop.wait()
    finally:
        await server.stop()
    _log.info("%s ends", PROGRAM)


main = entry_point(serve)

if __name__ == "__main__":
    sys.exit(main())
