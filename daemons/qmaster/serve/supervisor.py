"""The supervisor of `sge_qmaster`: a Ray head node with the actors `qmaster` and `schedd`, restarted when it dies.

Owns the life of the node; does not import Ray, so it costs little and survives failures of Ray. Ray itself restarts
actors that die; when a process of the node dies, this restarts the node with its actors. Ending is
crash-only: all acknowledged data is on disk at any time, so SIGTERM just takes the node down, and then makes the
spool one file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable

from daemons.qmaster.serve.daily_backup import DailyBackup
from daemons.qmaster.spooling.spool_file import SpoolError, merge_log
from daemons.runtime import children
from daemons.runtime.backoff import Backoff
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.daemon import Startup, module_command
from daemons.runtime.local_request import NoLocalAnswerError, post_local
from daemons.runtime.ports import explain_taken_port
from daemons.runtime.ray_node import (
    START_S,
    TOO_SLOW,
    NodeInfo,
    RayNode,
    RayNodeError,
    SlowStartError,
    growing_limit,
    head_spec,
    ray_environment,
)
from daemons.runtime.watchdog import feed_watchdog
from gridengine.errors import plain_fault

_log = logging.getLogger(__name__)
#: limit of the start of the actors, and how much earlier their driver gives up; attempts at the first start of a slow host
ACTORS_S, _DRIVER_S = 110.0, 10.0
_SLOW_STARTS = 3
_QUESTION = "may_configure"
"""The request that probes the qmaster, which reads the state, and changes nothing."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 10.0
#: seconds for which a dead master may still hold its ports, and between two checks
_PORTS_S, _PORTS_PAUSE_S = 8.0, 0.2


class QmasterSupervisor:
    """Keeps the master's node and actors."""

    def __init__(self, cell: Cell, host: str, startup: Startup) -> None:
        self._cell, self._host, self._startup = cell, host, startup
        self._ending = asyncio.Event()
        self._node: RayNode | None = None
        self._node_limit, self._actors_limit = growing_limit(START_S), growing_limit(ACTORS_S)
        self._served = False
        self._starting = False
        self._abandoned = False

    def abandon(self) -> None:
        """End without deregistering as soon as `stop` is set: another host may become the master at once."""
        self._abandoned = True

    async def run(self, stop: asyncio.Event) -> int:
        """Serve until `stop` is set and return the exit code of the daemon."""
        self._ending = stop
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self._renew)
        _log.info("starting up sge_qmaster on %s", self._host)
        daily = asyncio.ensure_future(DailyBackup(self._cell).run())
        try:
            async with feed_watchdog(self._serves):
                status = await self._serve()
        finally:
            daily.cancel()
            await asyncio.gather(daily, return_exceptions=True)
        if status:
            return status
        try:
            merge_log(self._cell.spool)
        except SpoolError as fault:  # a full disk: the side files are read at the next start
            _log.error("%s", fault)
        _log.info("sge_qmaster ends; running jobs go on")
        return 0

    async def _serve(self) -> int:
        """Keep a node running until the daemon ends; returns its exit code, 1 if it never served. A first start that was too slow
        is tried again with longer limits."""
        backoff, attempts = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S), 0
        while not self._ending.is_set():
            node = self._node = RayNode(self._cell, head_spec(self._cell, self._host), start_s=self._node_limit.next_s())
            attempts += 1
            try:
                await self._until_ending(self._live(node))
                backoff.reset()
            except (RayNodeError, CellError, OSError) as fault:
                _log.error("%s", plain_fault(fault))
                is_slow = isinstance(fault, SlowStartError) and attempts < _SLOW_STARTS
                if not self._served and not is_slow:
                    self._startup.failed(f"sge_qmaster: {plain_fault(fault)}")
                    await node.stop()
                    return 1
            await node.stop(immediately=self._abandoned)
            if not self._ending.is_set():
                _log.error("the master's node ended; it is started again")
                await self._until_ending(asyncio.sleep(backoff.next_s()))
        return 0

    async def _serves(self) -> bool:
        """Whether the qmaster answers; true also while its node is being restarted, which has its own timeouts."""
        if self._starting:
            return True
        try:
            status, answer = await post_local(self._cell.gdi_socket, _QUESTION, b"{}")
        except NoLocalAnswerError:
            return False
        return status == 200 and bool(answer)

    def _renew(self) -> None:
        """Restart the node, which replaces the token that a revoked host still has. Source: docs/adr/0101."""
        _log.warning("the master's node is restarted on request")
        if self._node is not None:
            self._renewing = asyncio.ensure_future(self._node.stop())

    async def _live(self, node: RayNode) -> None:
        """Start node and actors and return when the node has ended."""
        self._starting = True
        try:
            if not self._served:
                await self._find_ports_free()
            info = await node.start()
            await self._start_actors(info)
        finally:
            self._starting = False
        self._node_limit.reset()
        self._actors_limit.reset()
        if not self._served:
            self._served = True
            self._startup.ready()
        _log.info("the master serves")
        await node.wait()

    async def _find_ports_free(self) -> None:
        """Raises CellError when another program has a port; the remains of a dead master release theirs in a moment."""
        address, attempts = self._cell.address(self._host), int(_PORTS_S / _PORTS_PAUSE_S)
        while taken := explain_taken_port(self._cell, address):
            attempts -= 1
            if attempts < 0:
                raise CellError(taken)
            await asyncio.sleep(_PORTS_PAUSE_S)

    async def _start_actors(self, info: NodeInfo) -> None:
        limit_s = self._actors_limit.next_s()
        child = await children.begin(
            *module_command("daemons.qmaster.serve.start_actors"),
            info.head,
            info.session,
            str(os.getpid()),
            str(limit_s - _DRIVER_S),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=ray_environment(self._cell, head_spec(self._cell, self._host)),
        )
        try:
            async with asyncio.timeout(limit_s):
                _, errors = await child.communicate()
        except TimeoutError:
            raise SlowStartError(f"the qmaster did not answer within {limit_s:.0f} s") from None
        finally:
            await children.end(child)
        if child.returncode == TOO_SLOW:
            raise SlowStartError(f"the qmaster did not answer within {limit_s - _DRIVER_S:.0f} s")
        if child.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            raise RayNodeError(lines[-1] if lines else "the qmaster could not be started")

    async def _until_ending(self, work: Awaitable[None]) -> None:
        """Do the work, or cancel it when the daemon ends."""
        task = asyncio.ensure_future(work)
        ending = asyncio.ensure_future(self._ending.wait())
        await asyncio.wait((task, ending), return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        else:
            task.result()
