"""The watchdog of systemd, played by a socket: daemons that serve say so, one that hangs does not."""

from __future__ import annotations

import os
import signal

import pytest

from tests.integration.cells import DemoCell, eventually
from tests.integration.crashes.manager import BEAT, Manager
from tests.integration.victims import VICTIMS, victims


@pytest.mark.statement("GC-4")
def test_a_qmaster_that_hangs_stops_the_beats_until_it_goes_on(cell: DemoCell, manager: Manager) -> None:
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
