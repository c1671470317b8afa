"""The hosts of the simulation as one rack: the real choice of its node at the qmaster, the real node, over the simulated network.

Defines hellos, connections and their ends, and how Ray and the kernel see a death. A connection of the simulation loses, doubles
and delays messages, which one of TCP does not. Called by the simulation. Source: adr/0270.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from daemons.execd.rack import Rack
from daemons.qmaster.serve.hosts.racks import Racks
from daemons.runtime.calls import CallFailedError
from gridengine.protocols.gdi.requests import ExecdHello
from gridengine.protocols.racks import APART, CONNECTED, Place, decode_statement
from tests.simulation.simulated_host import CALL_S, SimulatedHost
from tests.simulation.simulated_loop import Process, SimulatedLoop
from tests.simulation.simulated_network import Network, NoAnswer

RACK, PORT = "r1", 1
HELLO_S, APART_HELLO_S = 2.0, 0.5
WATCH_S, SILENT_S = 0.5, 2.0


class Connection:
    """A connection of a host to the node at `place`, as the node has it."""

    def __init__(self, network: Network, place: str, host: HostInRack) -> None:
        self._network, self.place, self.host = network, place, host
        self.actor = host.actor
        self.is_silent = self.closed = False
        self.silent_since = -1.0

    async def call(self, name: str, *values: Any) -> Any:
        if self.closed:
            raise CallFailedError("the other side is gone")
        try:
            return await self._network.call(self.place, self.host.name, lambda execd: getattr(execd, name)(*values), 30.0)
        except NoAnswer as fault:
            raise CallFailedError(str(fault)) from fault

    def close(self) -> None:
        self.closed = True


class Node:
    """The node of the rack on a host: its process, and the real `Rack` in it."""

    def __init__(self, rack: SimulatedRack, host: str, place: Place) -> None:
        self.host, self.place, self.process = host, f"rack {host}", Process(f"rack {host}")
        network = self._network = rack.network
        self.rack = Rack(
            Place(place.rack, place.node, place.token, PORT),
            lambda name, data: self._to_qmaster(lambda service: service.reports(name, data)),
            lambda data: self._to_qmaster(lambda _: rack.take_statement(data)),
        )
        self.connections: list[Connection] = []
        network.serve(self.place, self.process, self)
        self.process.run(rack.loop.create_task, self.rack.run())

    async def _to_qmaster(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        return await self._network.call(self.place, "qmaster", work, CALL_S)

    async def join(self, connection: Connection, token: str) -> None:
        self.connections.append(connection)
        await self.rack.admit(connection.host.name, token, connection)

    async def deliver(self, host: str, data: bytes) -> bytes:
        try:
            answer: bytes = await self.rack.call(host, "deliver", data)
        except LookupError as fault:
            raise CallFailedError(str(fault)) from fault
        return answer

    def end(self, connection: Connection, is_silent: bool) -> None:
        """The kernel ends a connection."""
        connection.is_silent = is_silent
        connection.close()
        self.connections.remove(connection)
        if self.process.alive:
            self.process.run(self.rack.note_end, connection.host.name, connection)


class HostInRack(SimulatedHost):
    """A host whose reports go through the node of its rack."""

    rack: SimulatedRack
    connection: Connection | None = None

    def start_actor(self) -> None:
        super().start_actor()
        self.connection = None
        self.actor.run(self._loop.create_task, self.rack.live(self))

    async def _send(self, data: bytes) -> bytes:
        if self.connection is None or self.connection.closed:
            raise CallFailedError("not connected")
        place = self.connection.place
        verdicts: bytes = await self._network.call(self.name, place, lambda node: node.rack.report(self.name, data), CALL_S)
        return verdicts


class SimulatedRack:
    """`nodes`: the present and earlier nodes by host. `takeovers`: how often a host became the node. `hosts`: all hosts, which
    the simulation adds."""

    def __init__(self, place: Path, loop: SimulatedLoop, network: Network, hosts: Mapping[str, SimulatedHost]) -> None:
        self.loop, self.network, self._hosts = loop, network, hosts
        self._path = place / "racks"
        self.nodes: dict[str, Node] = {}
        self.takeovers = 0

    # --- the qmaster --------------------------------------------------------------------------------------

    def begin_qmaster(self) -> None:
        """A qmaster starts, and knows no nodes."""
        self._racks = Racks(self._path, self.loop.time)

    async def take_statement(self, data: bytes) -> bool:
        """As the qmaster's actor does."""
        connected = self._racks.state(decode_statement(data))
        _, service = self.network.places["qmaster"]
        for host in connected or ():
            service.dispatcher.inventoried(host)
        return connected is not None

    async def deliver(self, host: str, data: bytes) -> bytes:
        """Raises LookupError, CallFailedError, NoAnswer."""
        place = self._racks.place_of(host)
        if place is None:
            raise LookupError("it is not connected to the node of its rack")
        answer: bytes = await self.network.call("qmaster", f"rack {place.node}", lambda node: node.deliver(host, data), 30.0)
        return answer

    async def _hello(self, host: str, state: str) -> Place | None:
        place = self._racks.place(ExecdHello(host, rack=state))
        return Place(place.rack, place.node, place.token, place.port) if place is not None else None

    def watch(self) -> None:
        """The view of Ray and of the kernels, from time to time."""
        self.loop.call_later(WATCH_S, self.watch, context=self.loop.outside)
        for node in self.nodes.values():
            self._end_connections(node)
        process, service = self.network.places.get("qmaster", (None, None))
        if process is None or not process.alive:
            return
        joined = {node.host for node in self.nodes.values() if self._is_there(node)}
        process.run(lambda: service.lose_nodes(set(service.hosts_with_nodes()) - self._racks.alive(joined)))
        for place in self._racks.ended():
            node = self.nodes.get(place.node)
            if node is not None and node.rack.place.token == place.token and self._is_there(node):
                node.process.kill()

    def _is_there(self, node: Node) -> bool:
        return node.process.alive and self._hosts[node.host].on and node.host not in self.network.cut

    def _end_connections(self, node: Node) -> None:
        for connection in list(node.connections):
            host, now = connection.host, self.loop.time()
            apart = not host.on or not self._hosts[node.host].on or bool({host.name, node.host} & self.network.cut)
            if apart and host.name != node.host:
                connection.silent_since = now if connection.silent_since < 0 else connection.silent_since
                if now - connection.silent_since >= SILENT_S:
                    node.end(connection, is_silent=True)
            elif not (connection.actor.alive and node.process.alive) or connection.closed:
                node.end(connection, is_silent=False)
            else:
                connection.silent_since = -1.0

    # --- a host -------------------------------------------------------------------------------------------

    async def live(self, host: HostInRack) -> None:
        """Hellos of a host, and the effects of their answers, as in the supervisor and `rack_member`."""
        while True:
            is_connected = host.connection is not None and not host.connection.closed
            state = CONNECTED if is_connected else APART
            try:
                place = await self.network.call(host.name, "qmaster", lambda _, state=state: self._hello(host.name, state))
                if place is not None and place.node:
                    await self._take(host, place, is_connected)
            except (NoAnswer, CallFailedError):
                pass
            is_connected = host.connection is not None and not host.connection.closed
            await asyncio.sleep(HELLO_S if is_connected else APART_HELLO_S)

    async def _take(self, host: HostInRack, place: Place, is_connected: bool) -> None:
        own = self.nodes.get(host.name)
        if place.node != host.name:
            if own is not None:
                own.process.kill()
        elif own is None or not own.process.alive or own.rack.place.token != place.token:
            self.takeovers += 1
            if own is not None:
                own.process.kill()
                for connection in list(own.connections):
                    own.end(connection, is_silent=False)
            self.nodes[host.name] = self.loop.outside.copy().run(Node, self, host.name, place)
        if place.port and not is_connected:
            connection = Connection(self.network, f"rack {place.node}", host)
            await self.network.call(host.name, connection.place, lambda node: node.join(connection, place.token), CALL_S)
            host.connection = connection
