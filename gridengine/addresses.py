"""Addresses of hosts: as texts, with a port, by the names of a host, and connections to them.

Owns three rules. Before a port, an IPv6 address is in brackets: `[fd88::1]:6444`. Texts are compared in one form, `canonical`:
`::ffff:10.0.0.1` is 10.0.0.1. All programs choose the address of a host in one order: see `host_addresses`. Light: commands load
it. Source: RFC 3986, RFC 4291, RFC 5952; docs/adr/0220.
"""

from __future__ import annotations

import _socket

from gridengine.errors import InvalidValueError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Iterator

LOOPBACK, LOOPBACK_6 = "127.0.0.1", "::1"
#: where a daemon listens on all interfaces
ANY, ANY_6 = "0.0.0.0", "::"
_MAPPED = bytes(10) + b"\xff\xff"
_MAX_PORT = 65535


def canonical(text: str) -> str:
    """The one form of an address, with or without brackets; "" for other texts. A zone (`%eth0`) stays."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    address, percent, zone = bare.partition("%")
    try:
        if ":" not in address:
            return _socket.inet_ntop(_socket.AF_INET, _socket.inet_pton(_socket.AF_INET, bare))
        packed = _socket.inet_pton(_socket.AF_INET6, address)
    except (OSError, ValueError):
        return ""
    if packed.startswith(_MAPPED):
        return _socket.inet_ntop(_socket.AF_INET, packed[len(_MAPPED) :])
    return _socket.inet_ntop(_socket.AF_INET6, packed) + percent + zone


def is_address(text: str) -> bool:
    """Whether a host is named by its address."""
    return bool(canonical(text))


def is_numeric(text: str) -> bool:
    """Whether the resolver takes a text for an address and not for a name: also 10.1.515 and 0xa010203."""
    try:
        _socket.inet_aton(text)
    except OSError:
        return is_address(text)
    return True


def family_of(address: str) -> int:
    """The family of a socket for an address."""
    return _socket.AF_INET6 if ":" in address else _socket.AF_INET


def is_loopback(address: str) -> bool:
    """Whether only this machine is reached at a canonical address."""
    return address.startswith("127.") or address == LOOPBACK_6


def is_link_local(address: str) -> bool:
    """Whether a canonical address is of a single link (fe80::/10): each host has its own name for the link, the zone."""
    first = address.partition(":")[0]
    return len(first) == 4 and first[:3] in ("fe8", "fe9", "fea", "feb")


def join_port(host: str, port: int | str) -> str:
    """`HOST:PORT`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_host(text: str) -> tuple[str, str, str]:
    """Part `HOST:REST` at the first colon that is not in brackets: (host, ":" or "", rest). The host keeps its brackets."""
    inside = text.find("]") if text.startswith("[") else -1
    if inside > 0 and is_address(text[: inside + 1]):
        return text[: inside + 1], text[inside + 1 : inside + 2], text[inside + 2 :]
    return text.partition(":")


def split_port(text: str, default: int | None = None) -> tuple[str, int]:
    """Host without brackets, and port, of `HOST:PORT`. With a `default`, the port may be missing, and so may the brackets then.

    Raises InvalidValueError.
    """
    if default is not None and (bare := canonical(text)):
        return bare, default
    host, colon, port = split_host(text)
    if not host or colon not in ("", ":") or ":" in port or ("[" in host and not is_address(host)):
        raise InvalidValueError(f'"{text}" is not of the form HOST:PORT, or [IPV6-ADDRESS]:PORT')
    number = str(default) if default is not None and not colon else port
    if not (number.isascii() and number.isdigit() and len(number) < 6 and 1 <= int(number) <= _MAX_PORT):
        raise InvalidValueError(f'"{text}": "{number}" is not a port from 1 to {_MAX_PORT}')
    return canonical(host) or host, int(number)


def host_addresses(names: Iterable[str]) -> Iterator[str]:
    """The addresses of a host by its names, without repetition; the first is the address that the cell uses.

    Names that are addresses come first, then IPv4 addresses of the names, then IPv6 addresses. The resolver is asked only as far
    as the caller reads on: a resolver that does not answer costs seconds. All addresses of the IPv4 loopback are LOOPBACK: a
    daemon with a loopback address listens there. Link-local addresses are left out.
    """
    yielded: set[str] = set()
    texts = list(dict.fromkeys(names))
    given = [address for text in texts if (address := canonical(text))]
    spoken = [text for text in texts if not is_address(text)]
    for addresses in (given, _resolved(spoken, _socket.AF_INET), _resolved(spoken, _socket.AF_INET6)):
        for address in addresses:
            known = LOOPBACK if address.startswith("127.") else address
            if known not in yielded and not is_link_local(known):
                yielded.add(known)
                yield known


def explain_link_local(names: Iterable[str]) -> str:
    """Why the addresses that `host_addresses` leaves out cannot be used; "" if there are none."""
    texts = list(names)
    addresses = (*(canonical(text) for text in texts), *_resolved(texts, _socket.AF_INET6))
    return next(
        (
            f"{address} is link-local: it is valid on one link, by a zone that each host names for itself (%eth0); "
            "give the host an address that is valid on all hosts"
            for address in addresses
            if is_link_local(address)
        ),
        "",
    )


def _resolved(names: Iterable[str], family: int) -> Iterator[str]:
    for name in names:
        try:
            entries = _socket.getaddrinfo(name, None, family, _socket.SOCK_STREAM)
        except (OSError, ValueError):  # of the second kind: no name at all
            continue
        yield from (canonical(str(entry[4][0])) for entry in entries)


def connect(addresses: Iterable[str], port: int, timeout: float) -> socket.socket:
    """A connection to the first address that accepts it; names are resolved. Raises OSError."""
    import socket  # late: slow, and most commands connect to no address

    fault = OSError("no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout)
        except OSError as error:
            fault = error
    raise fault
