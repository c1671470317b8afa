"""`sge_qmaster`: the program that starts a cell's master and keeps it running.

Owns the command line and the order of starting up; the rest is the supervisor's.
"""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

import daemons.runtime.http_library  # noqa: F401  before modules that load aiohttp
from daemons.qmaster.backup import swap
from daemons.qmaster.backup.archive import BackupError
from daemons.qmaster.shadow.program import master_program, serve_cell
from daemons.qmaster.spooling.cell_identity import claim_spool
from daemons.qmaster.spooling.spool_file import SpoolError, make_closed
from daemons.runtime.cell import CellError, read_cell
from daemons.runtime.daemon import PidFile, run_until_stopped
from daemons.runtime.keys import install_offered_keys, master_keys
from daemons.runtime.messages import open_messages
from daemons.runtime.program import Foreground, Version, detached, entry_point, preparation
from daemons.runtime.reexec import Renewal

PROGRAM = "sge_qmaster"


def serve(
    foreground: Foreground = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="start with an empty spool although the cell has run before: its spool is lost")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="serve although another host was the master later; changes acknowledged by that host are lost"
        ),
    ] = False,
    version: Version = False,
) -> None:
    """Start the qmaster of the cell that SGE_ROOT and SGE_CELL name."""
    with preparation(PROGRAM):
        cell = read_cell()
        host = cell.own_name()
        if cell.master_host() != host:
            hint = ": sge_shadowd runs here" if host in cell.candidate_hosts() else ""
            raise CellError(f"this host is {host}, the cell's master is {cell.master_host()} ({cell.act_qmaster}){hint}")
        make_closed(cell.qmaster_spool_dir)
        cell.run_dir.mkdir(parents=True, exist_ok=True)
    with detached(PROGRAM, foreground, SpoolError, BackupError) as startup:
        pid_file = PidFile(cell.qmaster_spool_dir / "qmaster.pid", PROGRAM)
        if swap.complete(cell.common):
            cell = read_cell()
        claim_spool(cell, fresh, time.time())
        install_offered_keys(cell, host)
        master_keys(cell).require()
    open_messages(cell.qmaster_spool_dir / "messages", "main", host, "log_info", "qmaster", cell.json_log)
    renewal = Renewal(lambda: master_program(cell, host))
    status = run_until_stopped(lambda stop: serve_cell(cell, host, startup, stop, renewal, force), pid_file, startup, renewal)
    pid_file.release()
    raise SystemExit(status)


main = entry_point(serve)

if __name__ == "__main__":
    sys.exit(main())
