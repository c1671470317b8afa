"""`sge_dbwriter`: the program that maintains the database of a cell.

Owns the command line and the start sequence. Runs on a host that can read the reporting file, as the admin user of the cell when
root starts it. Source: DB-12.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

import daemons.runtime.http_library  # noqa: F401  before what loads aiohttp
from daemons.dbwriter.database import DatabaseError, SchemaError
from daemons.dbwriter.opening import open_database
from daemons.dbwriter.server import Server, listen
from daemons.dbwriter.settings import read_settings
from daemons.dbwriter.writer import Writer
from daemons.runtime.cell import read_cell
from daemons.runtime.daemon import DaemonError, PidFile, Startup, become_user, run_until_stopped
from daemons.runtime.messages import open_messages
from daemons.runtime.program import Foreground, detached, entry_point, exit_with_error, preparation
from daemons.runtime.watchdog import feed_watchdog
from gridengine.extensions import missing_libraries
from gridengine.protocols import arco

PROGRAM = "sge_dbwriter"
_NICENESS = 5
_log = logging.getLogger(__name__)


def serve(
    foreground: Foreground = False,
    once: Annotated[bool, typer.Option("--once", help="Write all present records, then exit.")] = False,
) -> None:
    """Write the reporting file of the cell that SGE_ROOT and SGE_CELL name into its database. SIGTERM ends it."""
    if missing := missing_libraries("arco"):
        exit_with_error(PROGRAM, missing)
    with preparation(PROGRAM):
        cell = read_cell()
        settings = read_settings(cell)
        directory = cell.dbwriter_spool
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    with detached(PROGRAM, foreground or once, SchemaError, DatabaseError) as startup:
        pid_file = PidFile(directory / arco.PID_FILE, PROGRAM)
        listener = None if once else listen(cell.run_dir / arco.SOCKET)  # needs the rights of root, and no other writer
        become_user(cell.admin_user, directory, *pid_file.files)
        _lower_priority()
        open_messages(directory / "messages", "main", cell.own_name(), "log_info", "dbwriter", cell.json_log)
        writer = Writer(settings, lambda: open_database(settings.database, settings.reader))
        if once:
            writer.run(once=True)
            print(f"{writer.progress.lines} lines were written")
        else:
            assert listener is not None
            server = Server(writer, settings, cell.common / arco.QUERY_DIRECTORY)
            run_until_stopped(lambda stop: _serve(writer, server, listener, stop, startup), pid_file, startup)
        pid_file.release()


async def _serve(writer: Writer, server: Server, listener: socket.socket, stop: asyncio.Event, startup: Startup) -> None:
    """Write in a thread and answer on the loop, until `stop` is set or the schema is foreign."""
    _log.info("starting up %s", PROGRAM)
    loop = asyncio.get_running_loop()
    faults: list[SchemaError] = []

    def write() -> None:
        try:
            writer.run()
        except SchemaError as fault:
            faults.append(fault)
        finally:
            loop.call_soon_threadsafe(stop.set)

    thread = threading.Thread(target=write, name="writer")
    server.open(listener)
    thread.start()
    try:
        # an unreachable database does not prevent the start: the writer retries
        while not writer.progress.ready and not writer.progress.fault and not stop.is_set():
            await asyncio.sleep(0.05)
        if not faults:
            startup.ready()
        async with feed_watchdog():
            await stop.wait()
    finally:
        writer.stop()
        await server.close()
        await asyncio.to_thread(thread.join)
    if faults:
        raise DaemonError(str(faults[0]))
    _log.info("%s ends", PROGRAM)


def _lower_priority() -> None:
    """Run at a lower priority than jobs and other daemons: the database is not urgent."""
    os.nice(_NICENESS)
    with suppress(OSError):  # a kernel that schedules by sessions uses this value
        Path("/proc/self/autogroup").write_text(str(_NICENESS))


main = entry_point(serve)

if __name__ == "__main__":
    sys.exit(main())
