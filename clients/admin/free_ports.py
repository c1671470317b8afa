"""Free TCP ports for cells of one user: the demo's cell, cells of tests, and cells made without root.

Owns the choice alone; does not listen. Called by `demo`, `cell_plan` and by the cells of the tests.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

from gridengine.addresses import ANY, ANY_6

#: below the kernel's ephemeral ports (ip(7)), so that no outgoing connection takes one of these ports by chance
_LOWEST = 15_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """Return TCP ports without a listener; drawn at random, so that two callers at the same time get different ports."""
    try:
        highest = int(_EPHEMERAL.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        highest = 32_768
    candidates = range(_LOWEST, highest) if highest > 2 * _LOWEST else range(1024, 2**16)
    found: list[int] = []
    chance = random.SystemRandom()
    while len(found) < count:
        port = chance.choice(candidates)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def free_cell_ports(count: int) -> tuple[int, int, str]:
    """Return `qmaster_port`, `ray_port` and `ray_ports`, of `count` ports, for a new cell: one contiguous range, so that all
    differ.
    """
    first, last = free_range(2 + count)
    return first, first + 1, f"{first + 2}-{last}"


def free_range(count: int) -> tuple[int, int]:
    """Return the first and the last of `count` contiguous ports without a listener."""
    while True:
        (first,) = free_ports(1)
        if all(_is_free(port) for port in range(first + 1, first + count)):
            return first, first + count - 1


def _is_free(port: int) -> bool:
    """Whether neither family has a listener: a host's name may have addresses of both."""
    try:
        if socket.has_dualstack_ipv6():
            socket.create_server((ANY_6, port), family=socket.AF_INET6, dualstack_ipv6=True).close()
        else:
            socket.create_server((ANY, port)).close()
    except OSError:
        return False
    return True
