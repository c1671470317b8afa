"""Unix sockets of a host: a listening socket at a path, and the process at the other end of a connection.

Called by daemons and shepherds. Source: unix(7).
"""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from typing import NamedTuple

_BACKLOG = 512
_CREDENTIALS = struct.Struct("3i")


class PeerCredentials(NamedTuple):
    """`pid`, `uid` and `gid` of a process: its number, user and group, in the order of struct ucred."""

    pid: int
    uid: int
    gid: int


def unix_listener(path: Path, mode: int, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    """A listening socket in place of an existing file, without blocking calls. `mode`: its permissions, independent of the
    umask; to connect takes the right to write. Raises OSError."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK)
    try:
        os.fchmod(listener.fileno(), mode)  # the new file has no other permissions even for a moment
        listener.bind(str(path))
        path.chmod(mode)  # those that the umask has removed
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def peer_credentials(connection: socket.socket) -> PeerCredentials:
    """The process at the other end of a Unix socket, from the kernel. Source: unix(7) SO_PEERCRED."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return PeerCredentials(*_CREDENTIALS.unpack(packed))
