"""The request `try_ports`: which ports of the cell answer on an exec host when the master host connects to them.

Owns the permission and the probes: only hosts and ports of the cell are probed, so that no user can scan other machines
through the qmaster. Called by `endpoints` for `gridengine doctor`, which looks for ports that a firewall blocks. Source:
docs/operations.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from daemons.qmaster.decision import World
from daemons.qmaster.permissions import no_right
from daemons.runtime.cell import Cell, CellError
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.state.state import State

TryPortsCall = Callable[[str, Sequence[int]], Awaitable[dict[str, list[int]]]]
"""(host, ports) -> the ports by the result of a connection from the master host: `answers`, `refused` or `silent`."""
#: seconds: a reachable host accepts a connection in a thousandth of this time
PATIENCE_S = 2.0


async def try_ports(state: State, world: World, call: TryPortsCall, body: dict[str, Any], caller: Caller) -> Answer:
    """`{"answers", "refused", "silent"}`: ports of a host. Users may probe their own host, managers any host."""
    host = body["host"]
    if not state.has("exec_host", host):
        return Answer(1, [("error", f'denied: host "{host}" is no execution host')])
    if caller.host != host and (refusal := no_right(state, caller, world)):
        return Answer(1, [("error", refusal)])
    return Answer(data=await call(host, body["ports"]))


class PortProbes:
    """Connects to hosts of a cell."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    async def __call__(self, host: str, ports: Sequence[int]) -> dict[str, list[int]]:
        """Return the result of each port of the cell among these ports: `answers`, `refused`, or `silent`."""
        cell, (low, high) = self._cell, self._cell.ray_ports
        ours = {cell.qmaster_port, cell.ray_port, cell.shadow_port, cell.execd_port, *range(low, high + 1)} - {0}
        requested = sorted(ours.intersection(ports))
        try:
            address = await asyncio.get_running_loop().run_in_executor(None, cell.address, host)
        except CellError:
            return {"answers": [], "refused": [], "silent": requested}
        outcomes = await asyncio.gather(*(_probe(address, port) for port in requested))
        by_outcome: dict[str, list[int]] = {"answers": [], "refused": [], "silent": []}
        for port, outcome in zip(requested, outcomes, strict=True):
            by_outcome[outcome].append(port)
        return by_outcome


async def _probe(address: str, port: int) -> str:
    try:
        async with asyncio.timeout(PATIENCE_S):
            _, writer = await asyncio.open_connection(address, port)
    except ConnectionRefusedError:
        return "refused"
    except (OSError, TimeoutError):
        return "silent"
    writer.close()
    return "answers"
