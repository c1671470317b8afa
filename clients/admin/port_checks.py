"""The checks of `gridengine doctor` for firewalls: each port in the manual answers, from here and to here.

Owns the list of ports that must answer between the master host and an exec host, and the messages on closed ports, which name
both hosts and the direction. Connects only to hosts of the cell. Called by `doctor`. Source: docs/operations.md, Firewall.
"""

from __future__ import annotations

import errno
import selectors
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from clients import gdi
from clients.admin.cell import InstalledCell, select_cell
from clients.admin.finding import Finding
from clients.admin.local_daemons import (
    EXECD,
    addresses_of_host,
    daemons_of_this_machine,
    is_master_here,
    process_of,
    shadow_masters,
    this_host,
)
from gridengine.addresses import family_of, is_loopback
from gridengine.values.ranges import Ranges

#: seconds; a reachable host accepts a connection in a thousandth of it
_PATIENCE_S = 2.0
#: of `ray_ports`: number of ports of one node with its sessions; the default of bootstrap
_BLOCK, _USUAL = 16, "6447-6510"


@dataclass(slots=True)
class PortResults:
    """The results of connecting to ports of a host. `silent`: no reply; `refused`: no listener, or rejected by a firewall."""

    answers: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)

    @property
    def is_silent(self) -> bool:
        """Whether the host gave no reply at all."""
        return bool(self.silent) and not self.answers and not self.refused


@dataclass(frozen=True, slots=True)
class CellPorts:
    """The ports of a cell, by their names in bootstrap; `blocks`: the parts of `ray_ports`, one for each node."""

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
        """The ports on which a host may listen: of its node, of further nodes if it has several, and of sessions."""
        sessions = [self.execd_port] if self.execd_port and with_sessions else []
        return sorted({*(port for block in self.blocks for port in block), *sessions})


def check_firewall(cell: InstalledCell) -> Iterator[Finding]:
    """On an exec host: the master's ports from here, and its own ports from the master. On the master host: the ports of each
    exec host.
    """
    ports = CellPorts.of(cell.settings)
    select_cell(cell.files)
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
        if is_loopback(address):
            continue
        results = try_ports(address, ports.of_node(True))
        if not up and not results.answers:
            again = f"if sge_execd runs there, gridengine doctor on {name} shows which port of {cell.master_host} is closed"
            yield Finding(f"host {name} does not report, and none of its ports answers", f"gridengine start there; {again}")
        else:
            yield from _check_node_ports(ports, cell.master_host, name, results, True)


def _from_other_host(cell: InstalledCell, ports: CellPorts) -> Iterator[Finding]:
    here, master = this_host(cell), cell.master_host
    address = _address(cell, master)
    if is_loopback(address):
        return
    results = try_ports(address, [*ports.named.values(), *ports.of_node(False)])
    if results.is_silent:
        yield Finding(
            f"{master} ({address}) answers {here} on no port",
            f"check its address (getent hosts {master}, here and there), its power, the network (ping), and firewalls",
        )
        return
    yield from _check_named_ports(ports, here, master, results)
    yield from _check_node_ports(ports, here, master, results, False)
    for shadow in shadow_masters(cell):
        port = int(cell.settings.get("shadow_port", ports.named["qmaster_port"] + 1))
        if shadow != here:
            known = try_ports(_address(cell, shadow), [port])
            if port not in known.answers:
                yield _closed_finding(here, shadow, known, {port}, "shadow_port")
    if any(daemon.program == EXECD and process_of(daemon) for daemon in daemons_of_this_machine(cell)):
        yield from _to_exec_host(ports, master, here)


def _to_exec_host(ports: CellPorts, master: str, here: str) -> Iterator[Finding]:
    """The ports of this host from the master, which tries them."""
    try:
        reply = gdi.call("try_ports", {"host": here, "ports": ports.of_node(True)}).data
        back = PortResults(*(set(reply[outcome]) for outcome in ("answers", "refused", "silent")))
    except (gdi.Unreachable, KeyError, TypeError):
        what = f"{master} cannot test whether it reaches the ports of {here}"
        yield Finding(what, "fix the findings above, and run it again")
        return
    yield from _check_node_ports(ports, master, here, back, True)


def _check_named_ports(ports: CellPorts, origin: str, target: str, results: PortResults) -> Iterator[Finding]:
    """The ports of the master that have names."""
    closed = {key: port for key, port in ports.named.items() if port not in results.answers}
    for key, port in closed.items():
        yield _closed_finding(origin, target, results, {port}, key)
    if not closed:
        open_ports = ", ".join(f"{key} {port}" for key, port in ports.named.items())
        yield Finding(f"{open_ports} of {target} answer {origin}")


def _check_node_ports(ports: CellPorts, origin: str, target: str, results: PortResults, with_sessions: bool) -> Iterator[Finding]:
    """The ports of a node (the first block with a listener), and of sessions."""
    block = next((block for block in ports.blocks if block[0] in results.answers), ports.blocks[0])
    needed = {block[0], block[1]} - results.answers
    silent = results.silent.intersection(block[:-1]) | needed
    if silent:
        yield _closed_finding(origin, target, results, silent, "ray_ports")
    sessions = {ports.execd_port} if ports.execd_port else {block[-1] for block in ports.blocks}
    if with_sessions and not sessions & results.answers:
        first = {ports.execd_port or ports.blocks[0][-1]}
        yield _closed_finding(origin, target, results, first, "interactive sessions")
    elif not silent:
        both = {block[0], block[1], *(sessions & results.answers if with_sessions else ())}
        yield Finding(f"ports {_format_ports(both)} of {target} answer {origin}, no other port of ray_ports is closed")


def _closed_finding(origin: str, target: str, results: PortResults, ports: set[int], what: str) -> Finding:
    if ports & results.silent:
        problem, fix = "no reply: a firewall drops it", "open it"
    else:
        problem, fix = "refused: no listener, or a firewall rejects it", "gridengine start there; else open it"
    several = "s" if len(ports) > 1 else ""
    where = f"{fix} on {target} and between the hosts (docs/operations.md, Firewall)"
    return Finding(f"from {origin} to {target}, port{several} {_format_ports(ports)} ({what}): {problem}", where)


def _format_ports(ports: Iterable[int]) -> str:
    return str(Ranges.of(ports)).replace(":1", "")


def _address(cell: InstalledCell, host: str) -> str:
    """The address of a host; "" if its name does not resolve."""
    return next(addresses_of_host(cell, host), "")


def try_ports(address: str, ports: Iterable[int]) -> PortResults:
    """Connect to all ports in parallel, for at most 2 s."""
    results = PortResults()
    with selectors.DefaultSelector() as selector:
        for port in sorted(set(ports)):
            connection = socket.socket(family_of(address), socket.SOCK_STREAM)
            connection.setblocking(False)
            if connection.connect_ex((address, port)) in (0, errno.EINPROGRESS):
                selector.register(connection, selectors.EVENT_WRITE, port)
            else:
                connection.close()
                results.silent.add(port)
        until = time.monotonic() + _PATIENCE_S
        while selector.get_map() and (ready := selector.select(max(0.0, until - time.monotonic()))):
            for key, _ in ready:
                error = key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # type: ignore[union-attr]
                _record_result(results, key.data, error)
                selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
        for key in list(selector.get_map().values()):
            results.silent.add(key.data)
            key.fileobj.close()  # type: ignore[union-attr]
    return results


def _record_result(results: PortResults, port: int, error: int) -> None:
    (results.answers if not error else results.refused if error == errno.ECONNREFUSED else results.silent).add(port)
