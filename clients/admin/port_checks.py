"""The checks of `gridengine doctor` for firewalls: whether each port that the manual states answers, from here and to here.

Owns which ports must answer between the master host and an exec host, and the words for those that do not; a port is named with
both hosts and the direction. Connects to hosts of the cell alone. Called by `doctor`. Source: docs/operations.md, Firewall.
"""

from __future__ import annotations

import errno
import selectors
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from clients import gdi
from clients.addresses import LOOPBACK, host_addresses
from clients.admin.asking import mean_cell
from clients.admin.cell import InstalledCell
from clients.admin.finding import Finding
from clients.admin.local_daemons import (
    EXECD,
    daemons_of_this_machine,
    host_aliases,
    is_master_here,
    process_of,
    shadow_masters,
    this_host,
)
from gridengine.ranges import Ranges

#: seconds: a host that is there takes a connection in a thousandth of that
_PATIENCE_S = 2.0
#: of `ray_ports`: those of one node and of the sessions beside it; where bootstrap says nothing
_BLOCK, _USUAL = 16, "6447-6510"


@dataclass(slots=True)
class Tried:
    """What ports of a host did: `silent` ones let no word through, `refused` ones have nobody who listens, or are rejected."""

    answers: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)

    @property
    def is_nobody(self) -> bool:
        """Whether the host gave no sign at all."""
        return bool(self.silent) and not self.answers and not self.refused


@dataclass(frozen=True, slots=True)
class CellPorts:
    """The ports of a cell, by what they are called in bootstrap; `blocks`: of `ray_ports`, what one node each may use."""

    named: dict[str, int]
    blocks: list[range]
    execd_port: int = 0

    @classmethod
    def of(cls, settings: dict[str, str]) -> CellPorts:
        low, _, high = settings.get("ray_ports", _USUAL).partition("-")
        blocks = [range(first, first + _BLOCK) for first in range(int(low), int(high) - _BLOCK + 2, _BLOCK)]
        named = {key: int(settings[key]) for key in ("qmaster_port", "ray_port")}
        return cls(named, blocks, int(settings.get("execd_port", 0)))

    def of_node(self, with_sessions: bool) -> list[int]:
        """What a host may listen on that plays one part, and more on which it does if it plays several."""
        sessions = [self.execd_port] if self.execd_port and with_sessions else []
        return sorted({*(port for block in self.blocks for port in block), *sessions})


def check_firewall(cell: InstalledCell) -> Iterator[Finding]:
    """On an exec host the master's ports from here, and its own from the master; on the master host those of each exec host."""
    ports = CellPorts.of(cell.settings)
    mean_cell(cell.files)
    if is_master_here(cell):
        yield from _from_master(cell, ports)
    else:
        yield from _from_other_host(cell, ports)


def _from_master(cell: InstalledCell, ports: CellPorts) -> Iterator[Finding]:
    try:
        hosts = gdi.call("releases", {}).data["hosts"]
    except (gdi.Unreachable, KeyError, TypeError):
        return
    here = {daemon.host for daemon in daemons_of_this_machine(cell)}
    for name, up in ((row["host"], row["up"]) for row in hosts if row["host"] not in here):
        address = _address(cell, name)
        if address == LOOPBACK:
            continue
        tried = try_ports(address, ports.of_node(True))
        if not up and not tried.answers:
            again = f"if sge_execd runs there, gridengine doctor on {name} says which port of {cell.master_host} is closed to it"
            yield Finding(f"host {name} is not heard, and answers at none of its ports", f"gridengine start there; {again}")
        else:
            yield from _node(ports, cell.master_host, name, tried, True)


def _from_other_host(cell: InstalledCell, ports: CellPorts) -> Iterator[Finding]:
    here, master = this_host(cell), cell.master_host
    address = _address(cell, master)
    if address == LOOPBACK:
        return
    tried = try_ports(address, [*ports.named.values(), *ports.of_node(False)])
    if tried.is_nobody:
        yield Finding(
            f"{master} ({address}) answers {here} at no port at all",
            f"see whether that is its address (getent hosts {master}, here and there), it is on, and reached: ping; a firewall",
        )
        return
    yield from _named(ports, here, master, tried)
    yield from _node(ports, here, master, tried, False)
    for shadow in shadow_masters(cell):
        port = int(cell.settings.get("shadow_port", ports.named["qmaster_port"] + 1))
        if shadow != here:
            known = try_ports(_address(cell, shadow), [port])
            if port not in known.answers:
                yield _closed(here, shadow, known, {port}, "shadow_port")
    if any(daemon.program == EXECD and process_of(daemon) for daemon in daemons_of_this_machine(cell)):
        yield from _to_exec_host(ports, master, here)


def _to_exec_host(ports: CellPorts, master: str, here: str) -> Iterator[Finding]:
    """The other direction, which the master tries."""
    try:
        said = gdi.call("try_ports", {"host": here, "ports": ports.of_node(True)}).data
        back = Tried(*(set(said[word]) for word in ("answers", "refused", "silent")))
    except (gdi.Unreachable, KeyError, TypeError):
        unasked = f"{master} cannot be asked whether it reaches the ports of {here}"
        yield Finding(unasked, "mend what is named above, and ask again")
        return
    yield from _node(ports, master, here, back, True)


def _named(ports: CellPorts, origin: str, target: str, tried: Tried) -> Iterator[Finding]:
    """The ports of the master that have names."""
    closed = {key: port for key, port in ports.named.items() if port not in tried.answers}
    for key, port in closed.items():
        yield _closed(origin, target, tried, {port}, key)
    if not closed:
        words = ", ".join(f"{key} {port}" for key, port in ports.named.items())
        yield Finding(f"{words} of {target} answer {origin}")


def _node(ports: CellPorts, origin: str, target: str, tried: Tried, with_sessions: bool) -> Iterator[Finding]:
    """The ports of a node, of the first block whose node listens, and of sessions."""
    block = next((block for block in ports.blocks if block[0] in tried.answers), ports.blocks[0])
    needed = {block[0], block[1]} - tried.answers
    silent = tried.silent.intersection(block[:-1]) | needed
    if silent:
        yield _closed(origin, target, tried, silent, "ray_ports")
    sessions = {ports.execd_port} if ports.execd_port else {block[-1] for block in ports.blocks}
    if with_sessions and not sessions & tried.answers:
        first = {ports.execd_port or ports.blocks[0][-1]}
        yield _closed(origin, target, tried, first, "interactive sessions")
    elif not silent:
        both = {block[0], block[1], *(sessions & tried.answers if with_sessions else ())}
        yield Finding(f"ports {_listed(both)} of {target} answer {origin}, no other of ray_ports is closed")


def _closed(origin: str, target: str, tried: Tried, ports: set[int], what: str) -> Finding:
    if ports & tried.silent:
        how, mend = "nothing comes back: a firewall drops it", "open it"
    else:
        how, mend = "refused: nobody listens there, or a firewall rejects it", "gridengine start there; else open it"
    several = "s" if len(ports) > 1 else ""
    where = f"{mend} on {target} and between the hosts (docs/operations.md, Firewall)"
    return Finding(f"from {origin} to {target}, port{several} {_listed(ports)} ({what}): {how}", where)


def _listed(ports: Iterable[int]) -> str:
    return str(Ranges.of(ports)).replace(":1", "")


def _address(cell: InstalledCell, host: str) -> str:
    """Where a host is reached; "" if its name does not resolve."""
    aliases = [alias for alias, unique in host_aliases(cell).items() if unique == host]
    return next(iter(host_addresses(host, aliases)), "")


def try_ports(address: str, ports: Iterable[int]) -> Tried:
    """Connect to all of these ports at the same time, for 2 s at most."""
    tried = Tried()
    with selectors.DefaultSelector() as selector:
        for port in sorted(set(ports)):
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            connection.setblocking(False)
            if connection.connect_ex((address, port)) in (0, errno.EINPROGRESS):
                selector.register(connection, selectors.EVENT_WRITE, port)
            else:
                connection.close()
                tried.silent.add(port)
        until = time.monotonic() + _PATIENCE_S
        while selector.get_map() and (ready := selector.select(max(0.0, until - time.monotonic()))):
            for key, _ in ready:
                _note(tried, key.data, key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))  # type: ignore[union-attr]
                selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
        for key in list(selector.get_map().values()):
            tried.silent.add(key.data)
            key.fileobj.close()  # type: ignore[union-attr]
    return tried


def _note(tried: Tried, port: int, error: int) -> None:
    (tried.answers if not error else tried.refused if error == errno.ECONNREFUSED else tried.silent).add(port)
