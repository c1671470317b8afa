"""The watchdog of systemd, simulated by a socket: a daemon that serves sends heartbeats, a daemon that hangs does not."""

from __future__ import annotations

import os
import signal

import pytest

from tests.integration.cells import DemoCell, eventually
from tests.integration.crashes.manager import HEARTBEAT, Manager
from tests.integration.victims import VICTIMS, victims


@pytest.mark.statement("GC-4")
def test_a_qmaster_that_hangs_sends_no_heartbeats_until_it_goes_on(cell: DemoCell, manager: Manager) -> None:
    qmaster, execd = (int((cell.place / "spool" / VICTIMS[role]).read_text().split()[0]) for role in ("sge_qmaster", "sge_execd"))
    manager.heartbeat_of(qmaster)
    manager.heartbeat_of(execd)
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
    manager.heartbeat_of(qmaster)


def quiet(manager: Manager, qmaster: int, execd: int) -> bool:
    """Whether eight heartbeats of one daemon come without a heartbeat of the other, which sends as many when it serves."""
    manager.forget()
    senders = []
    while senders.count(execd) < 8:
        text, pid = manager.hear()
        if text == HEARTBEAT:
            senders.append(pid)
    return qmaster not in senders
