"""The user of this host at the other end of a TCP connection. Called by the listeners.

A single query to the kernel (NETLINK_SOCK_DIAG) concerns a single socket: its cost does not grow with the number of
sockets, unlike the cost of /proc/net/tcp. Source: sock_diag(7); `struct inet_diag_req_v2` and `struct inet_diag_msg` of
linux/inet_diag.h.
"""

from __future__ import annotations

import socket
import struct

_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ERROR = 4, 20, 1, 2
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence number, port
_QUERY = struct.Struct("=BBBxI")  # family, protocol, extensions, states
_ENDS = struct.Struct(">HH16s16s")  # ports and addresses of the queried socket, its own first
_ANY = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # interface, cookie
_ALL_STATES = 0xFFFFFFFF
_OWNER = struct.Struct("=II")  # user id, inode
_OWNER_OFFSET = 64  # behind family, state, timer, retransmissions (4), ends and interface (48), expiry and queues (12)
_MAX_REPLY = 4096


def socket_owner(accepted: socket.socket) -> int | None:
    """The user id of the other end of an accepted connection. None: the other end is on another host, has been closed, or
    is unknown to the kernel. Raises OSError when this end is gone."""
    remote, local = accepted.getpeername(), accepted.getsockname()
    ends = _ENDS.pack(remote[1], local[1], _pack_address(accepted, remote[0]), _pack_address(accepted, local[0])) + _ANY
    query = _QUERY.pack(accepted.family, socket.IPPROTO_TCP, 0, _ALL_STATES) + ends
    try:
        reply = _query_kernel(_HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, _REQUEST, 0, 0) + query)
    except OSError:
        return None
    if len(reply) < _HEADER.size + _OWNER_OFFSET + _OWNER.size or _HEADER.unpack_from(reply)[1] == _ERROR:
        return None
    uid, inode = _OWNER.unpack_from(reply, _HEADER.size + _OWNER_OFFSET)
    return int(uid) if inode else None  # a closed socket has no owner; the kernel reports user 0


def _pack_address(accepted: socket.socket, address: str) -> bytes:
    return socket.inet_pton(accepted.family, address.partition("%")[0]).ljust(16, b"\0")


def _query_kernel(query: bytes) -> bytes:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
        kernel.setblocking(False)  # the kernel answers before `send` returns
        kernel.send(query)
        return kernel.recv(_MAX_REPLY)
