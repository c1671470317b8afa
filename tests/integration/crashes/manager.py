"""The stand-in for systemd: the socket at which daemons report that they are ready."""

from __future__ import annotations

import array
import queue
import socket
import struct
import threading
from pathlib import Path

from tests.integration.cells import PATIENCE_S

HEARTBEAT = b"WATCHDOG=1"


class Manager:
    """The socket at which systemd listens; messages come with the process that the kernel says sent them.

    Like systemd it reads at any time, whether a test asks for the messages or not.
    """

    def __init__(self, path: Path) -> None:
        self._heard: queue.Queue[tuple[bytes, int]] = queue.Queue()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(str(path))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            text, credentials, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(struct.calcsize("3i")))
            self._heard.put((text, array.array("i", credentials[0][2])[0]))

    def hear(self) -> tuple[bytes, int]:
        """The next message and its sender. queue.Empty: none came."""
        return self._heard.get(timeout=PATIENCE_S)

    def heartbeat_of(self, pid: int) -> None:
        while self.hear() != (HEARTBEAT, pid):
            pass

    def forget(self) -> None:
        """Drop all messages so far."""
        for _ in range(self._heard.qsize()):
            self._heard.get()
