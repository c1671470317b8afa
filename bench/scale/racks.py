"""Racks of simulated hosts: the code of a rack's node (`daemons.execd.rack`) between the hosts and the qmaster, without sockets.

Owns the connection of a simulated host to its rack, and the table of racks. Called by `hosts` and `qmaster`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from daemons.execd.rack import Rack
from daemons.runtime.calls import Link
from gridengine.protocols.racks import Place

Deliver = Callable[[str, bytes], Awaitable[bytes]]
_TOKEN = "simulated"


def racks_of(hosts: Sequence[str], size: int) -> dict[str, list[str]]:
    """Racks of so many hosts each, as `parse_racks` returns them."""
    return {f"r{number}": list(hosts[begin : begin + size]) for number, begin in enumerate(range(0, len(hosts), size), start=1)}


class _Host:
    """The connection of a host."""

    is_silent = False

    def __init__(self, host: str, deliver: Deliver) -> None:
        self._host, self._deliver = host, deliver

    async def call(self, name: str, *values: Any) -> Any:
        return await self._deliver(self._host, *values)

    def close(self) -> None:
        """There is nothing to close."""


class SimulatedRacks:
    """The nodes of all racks. `deliver`: to a simulated host."""

    def __init__(self, hosts: Sequence[str], size: int, link: Link, deliver: Deliver) -> None:
        self._racks: dict[str, Rack] = {}
        self._nodes: list[Rack] = []
        self._deliver = deliver

        async def report(host: str, data: bytes) -> bytes:
            return bytes(await link.call("report", host, data))

        async def state(data: bytes) -> bool:
            return bool(await link.call("state_rack", data))

        for name, members in racks_of(hosts, size).items():
            rack = Rack(Place(name, members[0], _TOKEN, 1), report, state)
            self._nodes.append(rack)
            self._racks.update(dict.fromkeys(members, rack))

    async def run(self) -> None:
        """Connect all hosts, and state it."""
        admitted = (rack.admit(host, _TOKEN, _Host(host, self._deliver)) for host, rack in self._racks.items())
        await asyncio.gather(*(rack.run() for rack in self._nodes), *admitted)

    async def deliver(self, host: str, data: bytes) -> bytes:
        """Instructions of the qmaster, as `RackActor.deliver` is given them."""
        return bytes(await self._racks[host].call(host, "deliver", data))

    async def report(self, host: str, data: bytes) -> bytes:
        """Reports of a host, as the node of its rack is given them."""
        return await self._racks[host].report(host, data)
