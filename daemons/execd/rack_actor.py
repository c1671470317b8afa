"""The Ray actor of a rack's node: the connections of the rack's hosts on one side, Ray on the other.

Owns the listener and the calls through Ray; the rest is `rack`'s. A plain class with async methods, which the qmaster makes an
actor named `rack-NAME-...`, pinned to the node. Source: adr/0270.
"""

from __future__ import annotations

import asyncio
import logging
import socket

import psutil

from daemons.execd.actor import QmasterCalls
from daemons.execd.keep_running import keep_running
from daemons.execd.rack import Rack
from daemons.runtime.calls import LARGEST, LARGEST_FIRST, CallFailedError, Link, detect_silence
from daemons.runtime.cell import Cell, read_cell
from daemons.runtime.connection_limiter import Connection, ConnectionLimiter
from daemons.runtime.daemon import die_with_parent
from daemons.runtime.keys import exec_host_keys
from daemons.runtime.listener import MAX_PER_ADDRESS, Listener, open_first_free
from daemons.runtime.messages import open_messages
from daemons.runtime.peers import common_name, is_certified
from daemons.runtime.ports import rack_ports
from gridengine.protocols.racks import Place

_log = logging.getLogger(__name__)


class RackActor:
    """The node of the rack `rack` on the host `node`; `token`: of this node alone."""

    def __init__(self, rack: str, node: str, token: str, sge_root: str, sge_cell: str) -> None:
        die_with_parent()  # a raylet that was killed must not leave it behind
        self._cell = read_cell({"SGE_ROOT": sge_root, "SGE_CELL": sge_cell})
        open_messages(
            self._cell.execd_spool(node) / "messages", "rack", node, component="execd", as_json=self._cell.json_log
        )
        calls = QmasterCalls()
        self._rack = Rack(Place(rack, node, token), calls.report, calls.state)
        self._server = RackServer(self._cell, self._rack)
        self._work = asyncio.get_running_loop().create_task(keep_running("the node of the rack", self._serve))

    async def ping(self) -> str:
        """Answer with the rack's name."""
        return self._rack.place.rack

    async def deliver(self, host: str, data: bytes) -> bytes:
        """As `ExecHost.deliver`. Raises LookupError: the host is not connected; CallFailedError."""
        return bytes(await self._rack.call(host, "deliver", data))

    async def read_output(self, host: str, data: bytes) -> bytes:
        """As `ExecHost.read_output`. Raises LookupError, CallFailedError."""
        return bytes(await self._rack.call(host, "read_output", data))

    async def shut_down(self, host: str, kill_jobs: bool = False) -> None:
        """As `ExecHost.shut_down`. Raises LookupError, CallFailedError."""
        await self._rack.call(host, "shut_down", kill_jobs)

    async def _serve(self) -> None:
        """Serve until another host is the rack's node; then wait for the end, which comes with this host's Ray node."""
        self._server.open()
        try:
            await self._rack.run()
        finally:
            self._server.close()
            self._rack.close()
        await asyncio.Event().wait()


class RackServer:
    """Accepts the hosts of a rack at a port of its node, and serves their connections. `rack.place.port` is that port then."""

    def __init__(self, cell: Cell, rack: Rack) -> None:
        self._cell, self._rack = cell, rack
        self._keys = exec_host_keys(cell, rack.place.node)
        self._limiter = ConnectionLimiter()
        self._serving: set[asyncio.Task[None]] = set()
        self._listeners: list[Listener] = []

    def open(self) -> None:
        """Raises OSError when no port can be had, CellError without keys."""
        sockets = self._sockets()
        self._rack.place.port = sockets[0].getsockname()[1]
        tls = self._keys.server_context(callers_need_keys=True)
        self._listeners = [Listener(self._limiter, each, self._protocol, MAX_PER_ADDRESS, tls) for each in sockets]

    def close(self) -> None:
        """Accept no more connections."""
        for listener in self._listeners:
            listener.close()

    def _sockets(self) -> list[socket.socket]:
        ports = rack_ports(self._cell, _own_port(self._cell))
        return open_first_free(self._cell.addresses(self._rack.place.node), ports)

    def _protocol(self, connection: Connection) -> asyncio.BaseProtocol:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._serve(reader, writer, connection))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

        return asyncio.StreamReaderProtocol(asyncio.StreamReader(), connected)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection) -> None:
        """Serve one host. Its certificate names it; the token shows that the qmaster admits it to this rack."""
        name, joined = common_name(writer.get_extra_info("peercert")), ""

        async def join(host: str, token: str) -> None:
            nonlocal joined
            if not is_certified(host, name):
                raise CallFailedError(f"denied: the certificate is of {name}, not of {host}")
            joined = host
            await self._rack.admit(host, token, link)
            connection.note_authenticated()
            link.largest = LARGEST

        async def report(data: bytes) -> bytes:
            if not connection.is_authenticated:
                raise CallFailedError("denied: join the rack first")
            return await self._rack.report(joined, data)

        link = Link(reader, writer, {"join": join, "report": report})
        link.largest = LARGEST_FIRST
        try:
            detect_silence(writer)
            await link.run()
        except OSError:
            pass  # disconnected already
        finally:
            link.close()
            if joined:
                self._rack.note_end(joined, link)
            connection.note_closed()


def _own_port(cell: Cell) -> int:
    """The port at which Ray reaches this process. Raises OSError: there is none."""
    low, high = cell.ray_ports
    for connection in psutil.Process().net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and low <= connection.laddr.port <= high:
            return int(connection.laddr.port)
    raise OSError(f"Ray has given this process no port of {low}-{high}")
