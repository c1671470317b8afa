"""The execd of a host in a rack as the supervisor has it: a child process, its place and its connection.

Owns the life of the child (`rack_member`). Called by the supervisor.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

from daemons.runtime import children
from daemons.runtime.cell import Cell
from daemons.runtime.child_output import ChildOutput
from daemons.runtime.daemon import die_with_parent, module_command, module_environment
from gridengine.protocols.racks import APART, CONNECTED, Place, encode

_log = logging.getLogger(__name__)


class RackProcess:
    """The process of `host`, while it has a place in a rack. `state`: CONNECTED or APART; `on_change` is called at a change."""

    def __init__(self, cell: Cell, host: str, on_change: Callable[[], None]) -> None:
        self._cell, self._host, self._on_change = cell, host, on_change
        self.place: Place | None = None
        self.state = APART
        self._news = asyncio.Event()

    def move(self, place: Place | None) -> None:
        """The host's place, None for a host with a node of its own."""
        if place != self.place:
            self.place = place
            self._news.set()

    async def run(self) -> None:
        """Run the process until it ends, or the host is in no rack any more. Waits while it is in none."""
        while self.place is None:
            self._news.clear()
            await self._news.wait()
        parent = os.getpid()
        child = await children.begin(
            *module_command("daemons.execd.rack_member"),
            self._host,
            str(parent),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=module_environment() | self._cell.environment(),
            cwd="/",
            preexec_fn=lambda: die_with_parent(parent),
        )
        loop = asyncio.get_running_loop()
        work = [loop.create_task(each) for each in (self._write(child), self._read(child), self._log_errors(child))]
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
            if self.place is not None:
                _log.warning("the execd of this host has ended: it is restarted")
        finally:
            for each in work:
                each.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            await children.end(child)
            self._note(APART)

    async def _write(self, child: asyncio.subprocess.Process) -> None:
        """Tell the child its place, until there is none."""
        assert child.stdin is not None
        while self.place is not None:
            self._news.clear()
            child.stdin.write(encode(self.place) + b"\n")
            await child.stdin.drain()
            await self._news.wait()

    async def _read(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdout is not None
        async for line in child.stdout:
            self._note(CONNECTED if line.strip() == CONNECTED.encode() else APART)

    async def _log_errors(self, child: asyncio.subprocess.Process) -> None:
        assert child.stderr is not None
        output = ChildOutput(self._cell.execd_spool(self._host))
        async for line in child.stderr:
            if text := output.filter_line(line):
                _log.error("%s", text)

    def _note(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self._on_change()
