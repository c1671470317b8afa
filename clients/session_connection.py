"""The connection of a client to the session of its job: TLS to the exec host, a greeting with the ticket.

Owns the addresses of hosts, and the trust in the cell's own certificate authority alone. Called by `interactive`.
Source: docs/interactive.md, adr/0060.
"""

import json
import socket
import ssl

from clients import gdi
from gridengine import addresses
from gridengine.errors import RefusalError, plain_fault

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

_CONNECT_S = 5.0
_ANSWER_S = 15.0
_LINE_BYTES = 4096


class SessionRefusedError(RefusalError):
    """The session refuses this client. `again`: a retry, at the address that the qmaster then gives, may succeed."""

    def __init__(self, reason: str, again: bool) -> None:
        self.again = again
        super().__init__(reason)


def connect(location: "dict[str, Any]", greeting: "dict[str, Any]") -> "tuple[ssl.SSLSocket, dict[str, Any]]":
    """A connection that does not block, and the session's greeting. `location`: the qmaster's answer to `session`.

    Raises SessionRefusedError, or OSError when the host cannot be reached.
    """
    plain = addresses.connect(_addresses(location["host"]), location["port"], _CONNECT_S)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection = _tls_context().wrap_socket(plain, server_hostname=location["host"])
        connection.settimeout(_ANSWER_S)
        line = json.dumps({"task": location["task"], "ticket": location["ticket"], **greeting}) + "\n"
        connection.sendall(line.encode())
        answer = json.loads(_line(connection))
    except ValueError:
        plain.close()
        raise SessionRefusedError(f"host {location['host']} gave no readable answer", again=False) from None
    except OSError:
        plain.close()
        raise
    if "refused" in answer:
        connection.close()
        raise SessionRefusedError(answer["refused"], bool(answer.get("again")))
    connection.setblocking(False)
    return connection, answer


def _tls_context() -> ssl.SSLContext:
    """Trusts only the cell's authority to identify hosts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    certificate = f"{gdi.common_directory()}/tls.crt"
    try:
        context.load_verify_locations(certificate)
    except (OSError, ssl.SSLError) as error:
        raise gdi.Unreachable(f"cannot use {certificate}: {plain_fault(error)}") from None
    return context


def _line(connection: ssl.SSLSocket) -> bytes:
    """A line, read byte by byte: the bytes behind it belong to the frames."""
    line = b""
    while not line.endswith(b"\n") and len(line) < _LINE_BYTES:
        byte = connection.recv(1)
        if not byte:
            raise ConnectionError("the connection was closed")
        line += byte
    return line


def _addresses(host: str) -> "list[str]":
    """The addresses at which a host's daemons may listen, by its name or an alias of it; the name when none resolves here.

    Source: host_aliases(5).
    """
    aliases: list[str] = []
    try:
        with open(f"{gdi.common_directory()}/host_aliases", errors="replace") as file:
            for names in map(str.split, file):
                if names[:1] == [host]:
                    aliases += names[1:]
    except OSError:
        pass
    return list(addresses.host_addresses((host, *aliases))) or [host]
