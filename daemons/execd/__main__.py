"""`sge_execd`: the program of an execution host.

Owns the command line and the order of starting; the rest is the supervisor's. Source: sge_execd(8).
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

import daemons.runtime.http_library  # noqa: F401  before modules that load aiohttp
from daemons.execd.site import PID_FILE, link_programs, prepare_spool, save_inherited
from daemons.execd.supervisor import ExecdSupervisor
from daemons.runtime.cell import Cell, read_cell
from daemons.runtime.daemon import PidFile, Startup, run_until_stopped
from daemons.runtime.keys import exec_host_keys, install_offered_keys
from daemons.runtime.messages import open_messages
from daemons.runtime.program import Foreground, Version, detached, entry_point, preparation
from daemons.runtime.reexec import Renewal
from daemons.runtime.release import own_release

PROGRAM = "sge_execd"
_log = logging.getLogger(__name__)


def serve(
    foreground: Foreground = False,
    host_name: Annotated[
        str, typer.Option("--host-name", help="Be this host of the cell, not the machine's own.")
    ] = "",
    version: Version = False,
) -> None:
    """Serve the cell that SGE_ROOT and SGE_CELL name as an execution host.

    SIGTERM ends it, SIGHUP has it go on as the release that is installed by then; running jobs go on.
    """
    with preparation(PROGRAM):
        cell = read_cell()
        host = cell.unique_name(host_name) if host_name else cell.own_name()
        spool = cell.execd_spool(host)
        prepare_spool(spool)
    with detached(PROGRAM, foreground) as startup:
        pid_file = PidFile(spool / PID_FILE, f"{PROGRAM} of host {host}")
        install_offered_keys(cell, host)
        exec_host_keys(cell, host).require()
        open_messages(spool / "messages", "main", host, "log_info", "execd", cell.json_log)
        save_inherited(spool, os.environ, _binary_path())
        link_programs(cell.root, _binary_path())
        renewal = Renewal(lambda: PROGRAM)
        run_until_stopped(lambda stop: _serve(cell, host, stop, startup, renewal), pid_file, startup, renewal)
        pid_file.release()


async def _serve(cell: Cell, host: str, stop: asyncio.Event, startup: Startup, renewal: Renewal) -> None:
    _log.info("starting up %s of release %s", PROGRAM, own_release())
    await ExecdSupervisor(cell, host, renewal, _binary_path()).run(stop, startup.ready)
    _log.info("%s ends, running jobs go on", PROGRAM)


def _binary_path() -> str:
    """The directory of the programs, for SGE_BINARY_PATH; "" when they are not installed."""
    started = Path(sys.argv[0]).absolute()
    found = str(started) if started.name == PROGRAM else shutil.which("qsub")
    return str(Path(found).parent) if found else ""


main = entry_point(serve)

if __name__ == "__main__":
    sys.exit(main())
