"""Modes of the master's programs: alone, or among several candidate hosts.

Owns that choice, which `common/shadow_masters` makes, also while the cell runs. Called by `sge_qmaster` and `sge_shadowd`.
Source: docs/adr/0146; SH-1.
"""

from __future__ import annotations

import asyncio
import logging

from daemons.qmaster.serve.replication.leader_link import LEASE
from daemons.qmaster.serve.supervisor import QmasterSupervisor
from daemons.qmaster.shadow.other_masters import refuse_second_master
from daemons.qmaster.shadow.participant import Participant
from daemons.qmaster.shadow.promotion import own_voter, shadow_directory
from daemons.qmaster.spooling.spool_file import SpoolError, make_closed
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.daemon import Startup
from daemons.runtime.keys import install_offered_keys, own_keys
from daemons.runtime.peers import wait_for_candidate_hosts
from daemons.runtime.reexec import Renewal
from gridengine.errors import plain_fault

_log = logging.getLogger(__name__)


def master_program(cell: Cell, host: str) -> str:
    """The program that belongs on a candidate host at this moment."""
    return "sge_qmaster" if cell.master_host() == host else "sge_shadowd"


async def serve_cell(
    cell: Cell, host: str, startup: Startup, stop: asyncio.Event, renewal: Renewal, force: bool = False
) -> int:
    """Be the master of the cell, alone or as one of several candidates, until `stop` is set; the exit code of the daemon.
    `force`: serve although another host, which is lost, was the master later."""
    try:
        if force:
            make_closed(shadow_directory(cell))
        await refuse_second_master(cell, host, own_voter(cell, host), force)
    except (CellError, SpoolError, OSError) as fault:
        _log.error("%s", plain_fault(fault))
        startup.failed(f"sge_qmaster: {plain_fault(fault)}")
        return 1
    if host not in cell.candidate_hosts():
        (cell.run_dir / LEASE).unlink(missing_ok=True)
        status = await _run_alone(cell, host, startup, stop)
        if status or stop.is_set():
            return status
        _log.warning("%s names several hosts: the qmaster restarts as one of them", cell.shadow_masters)
    return await run_participant(cell, host, startup, stop, renewal, campaign_at_once=True)


async def run_participant(
    cell: Cell, host: str, startup: Startup, stop: asyncio.Event, renewal: Renewal, campaign_at_once: bool
) -> int:
    """Be one of several candidate hosts; `campaign_at_once`: become the leader as soon as the voters agree."""
    try:
        return await Participant(cell, host, startup, campaign_at_once, renewal).run(stop)
    except (CellError, OSError) as fault:
        _log.error("%s", plain_fault(fault))
        startup.failed(f"{'sge_qmaster' if campaign_at_once else 'sge_shadowd'}: {plain_fault(fault)}")
        return 1


async def _run_alone(cell: Cell, host: str, startup: Startup, stop: asyncio.Event) -> int:
    """Be the only candidate, until `stop` is set or the cell has several."""
    end = asyncio.Event()
    serving = asyncio.create_task(QmasterSupervisor(cell, host, startup).run(end))
    others = asyncio.create_task(_wait_until_candidate(cell, host))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((serving, others, stopped), return_when=asyncio.FIRST_COMPLETED)
        end.set()
        return await serving
    finally:
        for task in (others, stopped):
            task.cancel()
        await asyncio.gather(others, stopped, return_exceptions=True)


async def _wait_until_candidate(cell: Cell, host: str) -> None:
    """Wait until this host is among several candidates, and has the keys of a candidate."""
    last_error = ""
    while True:
        if host in await wait_for_candidate_hosts(cell):
            try:
                install_offered_keys(cell, host)
                own_keys(cell, host).require()
                return
            except (CellError, OSError) as fault:
                if plain_fault(fault) != last_error:
                    _log.error("cannot be one of several candidate hosts: %s", plain_fault(fault))
                last_error = plain_fault(fault)
        await asyncio.sleep(2.0)
