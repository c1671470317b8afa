"""Addresses of hosts, as the daemons choose them: the addresses of a host's name and of its aliases.

Owns the resolving for clients. Called by `doctor`, by clients of sessions, and by the makers of certificates. Limits: IPv4, as
Ray's nodes.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable

LOOPBACK = "127.0.0.1"


def host_addresses(name: str, aliases: Iterable[str]) -> list[str]:
    """Return the addresses of a host without repetition, [] when no name of it resolves here.

    An alias in digits counts first. All addresses of the loopback are returned as LOOPBACK: a daemon with a loopback address
    listens there.
    """
    addresses: dict[str, None] = {}
    for known_as in sorted((name, *aliases), key=lambda text: not text.replace(".", "").isdigit()):
        try:
            entries = socket.getaddrinfo(known_as, None, socket.AF_INET, socket.SOCK_STREAM)
        except OSError:
            continue
        addresses |= {LOOPBACK if str(entry[4][0]).startswith("127.") else str(entry[4][0]): None for entry in entries}
    return list(addresses)
