"""Which user of this host has opened the other end of a TCP connection. Called by `door`.

One question to the kernel (NETLINK_SOCK_DIAG) about one socket: its cost does not grow with the number of sockets, as that of
/proc/net/tcp does. Source: sock_diag(7); `struct inet_diag_req_v2` and `struct inet_diag_msg` of linux/inet_diag.h.
"""

from __future__ import annotations

import socket
import struct

_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ERROR = 4, 20, 1, 2
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence number, port
_QUESTION = struct.Struct("=BBBxI")  # family, protocol, extensions, states
_ENDS = struct.Struct(">HH16s16s")  # the ports and addresses of the socket asked about, its own first
_ANY = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # interface, cookie
_ALL_STATES = 0xFFFFFFFF
_OWNER = struct.Struct("=II")  # user id, inode
_OWNER_AT = 64  # behind family, state, timer, retransmissions (4), ends and interface (48), expiry and queues (12)
_LONGEST = 4096


def socket_owner(taken: socket.socket) -> int | None:
    """The user id of the other end of an accepted connection. None: it is on another host, has been closed, or the kernel cannot
    say. Raises OSError when this end is gone."""
    far, near = taken.getpeername(), taken.getsockname()
    ends = _ENDS.pack(far[1], near[1], _packed(taken, far[0]), _packed(taken, near[0])) + _ANY
    question = _QUESTION.pack(taken.family, socket.IPPROTO_TCP, 0, _ALL_STATES) + ends
    try:
        answer = _asked(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 0, 0) + question)
    except OSError:
        return None
    if len(answer) < _HEADER.size + _OWNER_AT + _OWNER.size or _HEADER.unpack_from(answer)[1] == _ERROR:
        return None
    uid, inode = _OWNER.unpack_from(answer, _HEADER.size + _OWNER_AT)
    return int(uid) if inode else None  # a socket that its program has closed belongs to nobody, and reads as root's


def _packed(taken: socket.socket, address: str) -> bytes:
    return socket.inet_pton(taken.family, address.partition("%")[0]).ljust(16, b"\0")


def _asked(question: bytes) -> bytes:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
        kernel.setblocking(False)  # the kernel answers before `send` returns
        kernel.send(question)
        return kernel.recv(_LONGEST)
