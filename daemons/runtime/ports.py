"""The TCP ports that one node of a cell listens on: a block of the cell's range, reserved while the node lives.

Owns the division of the range (`ray_ports` in bootstrap). A host with one node uses the first block; where several
nodes share a machine each takes a free block. Called by `ray_node`, by the session server of sge_execd, whose port is the
last of a block, and by the supervisor of the master, whose ports are configured individually. Source: docs/security.md.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

from daemons.runtime.cell import Cell, CellError
from daemons.runtime.locks import try_lock
from gridengine.addresses import family_of
from gridengine.files.bootstrap import PORT_BLOCK


@dataclass(slots=True)
class PortBlock:
    """The ports of a Ray node: `node_manager` and `object_manager` of the raylet, `workers` of its actors. `lock`: descriptor of
    the locked file that reserves them; `release` them when the node has ended. The kernel does so for a process that dies."""

    node_manager: int
    object_manager: int
    workers: list[int]
    lock: int

    def release(self) -> None:
        """Release the block for other nodes."""
        os.close(self.lock)


def claim_block(cell: Cell, address: str, directory: Path) -> PortBlock:
    """Take the first block that no other node of this machine has and whose ports are free.

    `address`: where the node will listen; `directory`: of the locks, private to the cell on this machine.
    Raises CellError when there is none, OSError.
    """
    low, high = cell.ray_ports
    for first in range(low, high - PORT_BLOCK + 2, PORT_BLOCK):
        lock = os.open(directory / f"ports-{first}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if try_lock(lock) and all(_can_listen(address, port) for port in (first, first + 1)):
            return PortBlock(first, first + 1, list(range(first + 2, first + PORT_BLOCK - 1)), lock)
        os.close(lock)
    raise CellError(f"all ports of ray_ports {low}-{high} are taken on this host (a node needs {PORT_BLOCK} of them)")


def explain_taken_port(cell: Cell, address: str) -> str:
    """Return a sentence that names the port of the master that another program has; "" if all ports are free. `address`:
    where it will listen."""
    for key, port in (("qmaster_port", cell.qmaster_port), ("ray_port", cell.ray_port)):
        if not _can_listen(address, port):
            return f"port {port} is taken by another program: end it, or name another {key} in bootstrap (is it another cell's?)"
    return ""


def session_ports(cell: Cell) -> list[int]:
    """Return the ports at which sge_execd may accept clients of sessions, in the order in which it tries them."""
    low, high = cell.ray_ports
    return [cell.execd_port] if cell.execd_port else list(range(low + PORT_BLOCK - 1, high + 1, PORT_BLOCK))


def rack_ports(cell: Cell, own_port: int) -> list[int]:
    """Return the ports at which the node of a rack may accept its hosts: ports of Ray's workers in the block of its own node,
    which has a single worker. `own_port`: of that worker."""
    low = cell.ray_ports[0]
    first = own_port - (own_port - low) % PORT_BLOCK
    return [port for port in range(first + 2, first + PORT_BLOCK - 1) if port != own_port]


def _can_listen(address: str, port: int) -> bool:
    with socket.socket(family_of(address)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the later listener does
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
