"""The execd of a host in a rack, a process without Ray: `python -m daemons.execd.rack_member HOST SUPERVISOR_PID`.

Owns the connection to the node of the rack. The supervisor writes a `Place` in a line of stdin when it changes; a line on stdout
says whether the host is connected. The process may be killed at any moment. Called by `rack_process`. Source: adr/0270.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import ssl
import sys
from collections.abc import Callable

from daemons.execd.exec_host import ExecHost
from daemons.runtime.backoff import Backoff
from daemons.runtime.calls import CallFailedError, Handler, Link, detect_silence
from daemons.runtime.cell import Cell, CellError, read_cell
from daemons.runtime.daemon import die_with_parent
from daemons.runtime.garbage_collection import tune_collection_for_loading
from daemons.runtime.keys import exec_host_keys
from daemons.runtime.log_once import LogOnce
from daemons.runtime.messages import about
from gridengine.errors import plain_fault
from gridengine.protocols.racks import APART, CONNECTED, Place, decode_place

_log = logging.getLogger(__name__)

CALL_S, JOIN_S = 30.0, 10.0
"""Longest time that a call to the qmaster, and connecting to the rack's node, may take, seconds."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0


class RackMember:
    """The connection of a host. `on_change(state)`: CONNECTED or APART."""

    def __init__(self, cell: Cell, host: str, on_change: Callable[[str], None]) -> None:
        self._cell, self._host, self._on_change = cell, host, on_change
        self._tls = exec_host_keys(cell, host).client_context()
        self.execd = ExecHost(host, str(cell.root), cell.name, self._report)
        self._place: Place | None = None
        self._moved, self._connected = asyncio.Event(), asyncio.Event()
        self._link: Link | None = None
        self._logged = LogOnce()

    def move(self, place: Place) -> None:
        """The place of this host has changed: connect to the node that it names."""
        self._place = place
        self._moved.set()
        if self._link is not None:
            self._link.close()

    async def run(self) -> None:
        """Keep the connection, forever."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S, random.random)
        while True:
            while self._place is None or not self._place.port:
                self._moved.clear()
                await self._moved.wait()
            self._moved.clear()
            try:
                await self._serve(self._place)
                backoff.reset()
            except (CallFailedError, CellError, OSError, ssl.SSLError, TimeoutError) as error:
                if self._logged.is_new(text := plain_fault(error) or "no answer in time", self._place.node):
                    _log.warning("cannot reach host %s, the node of rack %s: %s", self._place.node, self._place.rack, text)
            self._on_change(APART)
            try:
                async with asyncio.timeout(backoff.next_s()):
                    await self._moved.wait()
            except TimeoutError:
                continue

    async def _serve(self, place: Place) -> None:
        """Connect, and serve until the connection ends. Raises CallFailedError, CellError, OSError, TimeoutError."""
        async with asyncio.timeout(JOIN_S):
            address = await asyncio.get_running_loop().run_in_executor(None, self._cell.address, place.node)
            reader, writer = await asyncio.open_connection(address, place.port, ssl=self._tls, server_hostname=place.node)
        execd = self.execd
        handlers: dict[str, Handler] = {"deliver": execd.deliver, "read_output": execd.read_output, "shut_down": execd.shut_down}
        link = Link(reader, writer, handlers)
        running = asyncio.get_running_loop().create_task(link.run())
        try:
            detect_silence(writer)
            async with asyncio.timeout(JOIN_S):
                await link.call("join", self._host, place.token)
            self._link = link
            self._connected.set()
            self._logged.clear(place.node)
            _log.info("connected to host %s, the node of rack %s", place.node, place.rack, extra=about("rack_joined"))
            self._on_change(CONNECTED)
            await running
            if self._place is place:
                _log.warning("the connection to host %s, the node of rack %s, has ended", place.node, place.rack)
        finally:
            self._connected.clear()
            self._link = None
            link.close()
            await asyncio.gather(running, return_exceptions=True)

    async def _report(self, data: bytes) -> bytes:
        """Pass reports to the qmaster, as soon as there is a connection. Raises CallFailedError, TimeoutError."""
        async with asyncio.timeout(CALL_S):
            while self._link is None:
                await self._connected.wait()
            return bytes(await self._link.call("report", data))


async def _run(host: str) -> None:
    loop = asyncio.get_running_loop()
    member = RackMember(read_cell(), host, lambda state: print(state, flush=True))
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    connecting = loop.create_task(member.run())
    async for line in reader:
        member.move(decode_place(line))
    connecting.cancel()


def main() -> None:
    """Run until the supervisor closes stdin, or ends."""
    die_with_parent(int(sys.argv[2]))
    tune_collection_for_loading()
    asyncio.run(_run(sys.argv[1]))
    os._exit(0)  # a thread may wait for a name server


if __name__ == "__main__":
    main()
