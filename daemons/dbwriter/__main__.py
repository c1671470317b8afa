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
import gridengine.terminal.typer_values  # noqa: F401  no pydantic for a few options
from daemons.dbwriter.database import DatabaseError, SchemaError
from daemons.dbwriter.opening import open_database
from daemons.dbwriter.server import Server, listen
from daemons.dbwriter.settings import read_settings
from daemons.dbwriter.writer import Writer
from daemons.runtime.cell import CellError, read_cell
from daemons.runtime.daemon import UMASK, DaemonError, PidFile, Startup, become_daemon, become_user, run_until_stopped
from daemons.runtime.messages import open_messages
from daemons.runtime.watchdog import feed_watchdog
from gridengine.errors import plain_fault
from gridengine.extensions import missing_libraries
from gridengine.protocols import arco
from gridengine.terminal.standard_output import with_output_check

PROGRAM = "sge_dbwriter"
_NICENESS = 5
_log = logging.getLogger(__name__)


def serve(
    foreground: Annotated[bool, typer.Option("--foreground", help="Do not detach (for systemd).")] = False,
    once: Annotated[bool, typer.Option("--once", help="Write all present records, then exit.")] = False,
) -> None:
    """Write the reporting file of the cell that SGE_ROOT and SGE_CELL name into its database. SIGTERM ends it."""
    if missing := missing_libraries("arco"):
        _exit_with_error(missing)
    os.umask(UMASK)
    try:
        cell = read_cell()
        settings = read_settings(cell)
        directory = cell.dbwriter_spool
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    except CellError as fault:
        _exit_with_error(str(fault))
    except OSError as error:
        _exit_with_error(f"cannot use {error.filename}: {error.strerror}")
    startup = become_daemon(foreground or once, PROGRAM)
    try:
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
            run_until_stopped(lambda stop: _serve(writer, server, listener, stop, startup), pid_file)
        pid_file.release()
    except (DaemonError, CellError, SchemaError, DatabaseError, OSError) as fault:
        startup.failed(f"{PROGRAM}: {plain_fault(fault)}")
        raise SystemExit(1) from None


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


def _exit_with_error(reason: str) -> None:
    print(f"{PROGRAM}: {reason}", file=sys.stderr)
    raise SystemExit(1)


@with_output_check
def main() -> int:
    """Run the program with the command line's arguments."""
    typer.run(serve)
    return 0


if __name__ == "__main__":
    sys.exit(main())
