"""`sge_shadowd`: the program of a host that takes over when the master is lost.

Owns the command line and the order of the start; the rest belongs to the participant. Source: sge_shadowd(8); SH-1.
"""

from __future__ import annotations

import sys

import daemons.runtime.http_library  # noqa: F401  before modules that load aiohttp
from daemons.qmaster.shadow.program import master_program, run_participant
from daemons.qmaster.spooling.spool_file import make_closed
from daemons.runtime.cell import CellError, read_cell
from daemons.runtime.daemon import PidFile, run_until_stopped
from daemons.runtime.keys import install_offered_keys
from daemons.runtime.messages import open_messages
from daemons.runtime.program import Foreground, Version, detached, entry_point, preparation
from daemons.runtime.reexec import Renewal

PROGRAM = "sge_shadowd"


def serve(foreground: Foreground = False, version: Version = False) -> None:
    """Keep a replica of the master's spool, and become the master when it is lost.

    SIGTERM ends it; SIGHUP restarts it as the release that is installed then; running jobs continue.
    """
    with preparation(PROGRAM):
        cell = read_cell()
        host = cell.own_name()
        if host not in cell.candidate_hosts():
            raise CellError(f"host {host} is not in {cell.shadow_masters}: gridengine shadow add {host} on the master host")
        make_closed(cell.qmaster_spool_dir)
        cell.execd_spool(host).mkdir(parents=True, exist_ok=True)
        cell.run_dir.mkdir(parents=True, exist_ok=True)
    with detached(PROGRAM, foreground) as startup:
        pid_file = PidFile(cell.qmaster_spool_dir / "qmaster.pid", PROGRAM)
        install_offered_keys(cell, host)
        open_messages(cell.qmaster_spool_dir / "messages", "main", host, "log_info", "shadowd", cell.json_log)
        renewal = Renewal(lambda: master_program(cell, host))
        status = run_until_stopped(
            lambda stop: run_participant(cell, host, startup, stop, renewal, campaign_at_once=False), pid_file, startup, renewal
        )
        pid_file.release()
    raise SystemExit(status)


main = entry_point(serve)

if __name__ == "__main__":
    sys.exit(main())
