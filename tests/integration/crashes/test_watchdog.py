"""The watchdog of systemd, played by a socket: daemons that serve say so, one that hangs does not."""

from __future__ import annotations

import array
import os
import queue
import signal
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import PATIENCE_S, DemoCell, eventually
from tests.integration.victims import VICTIMS, victims

BEAT = b"WATCHDOG=1"


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

    def beat_of(self, pid: int) -> None:
        while self.hear() != (BEAT, pid):
            pass

    def forget(self) -> None:
        """Drop what has come until now."""
        for _ in range(self._heard.qsize()):
            self._heard.get()


@pytest.fixture
def cell(launchers: Path) -> Iterator[DemoCell]:
    made = DemoCell()
    try:
        yield made
    finally:
        made.remove()


@pytest.mark.statement("GC-4")
def test_a_qmaster_that_hangs_stops_the_beats_until_it_goes_on(cell: DemoCell) -> None:
    manager = Manager(cell.place / "notify")
    cell.environment |= {"NOTIFY_SOCKET": str(cell.place / "notify"), "WATCHDOG_USEC": "2000000"}
    cell.start()
    qmaster, execd = (int((cell.place / "spool" / VICTIMS[who]).read_text().split()[0]) for who in ("sge_qmaster", "sge_execd"))
    manager.beat_of(qmaster)
    manager.beat_of(execd)
    hanging = victims(cell, "qmaster actor")[0]
    os.kill(hanging, signal.SIGSTOP)
    try:
        eventually("sge_qmaster says nothing while sge_execd goes on", lambda: quiet(manager, qmaster, execd))
        settings = dict(line.split() for line in (cell.common / "bootstrap").read_text().splitlines() if line[:1] != "#")
        watched = cell.command("qping", "-info", "localhost", settings["qmaster_port"], "qmaster", "1")
        assert (watched.returncode, watched.stdout) == (1, "")
        assert "has not answered within 5 seconds" in watched.stderr
    finally:
        os.kill(hanging, signal.SIGCONT)
    manager.beat_of(qmaster)


def quiet(manager: Manager, qmaster: int, execd: int) -> bool:
    """Whether eight beats of the one come without one of the other, who beats as often when he serves."""
    manager.forget()
    senders = []
    while senders.count(execd) < 8:
        text, pid = manager.hear()
        if text == BEAT:
            senders.append(pid)
    return qmaster not in senders
