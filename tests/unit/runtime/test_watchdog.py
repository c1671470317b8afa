"""The heartbeats for systemd."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

from daemons.runtime.daemon import Startup, notify
from daemons.runtime.watchdog import interval_s


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, 0.0),
        ({"WATCHDOG_USEC": "60000000"}, 15.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
        ({"WATCHDOG_USEC": "-5"}, 0.0),
    ],
)
def test_four_heartbeats_in_the_time_that_systemd_waits(environment: dict[str, str], seconds: float) -> None:
    assert interval_s(environment) == seconds


def test_a_manager_that_reads_nothing_does_not_stop_a_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    queued = int(Path("/proc/sys/net/unix/max_dgram_qlen").read_text())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        heartbeats = threading.Thread(target=lambda: [notify("WATCHDOG=1") for _ in range(queued + 5)], daemon=True)
        heartbeats.start()
        heartbeats.join(60)
        assert not heartbeats.is_alive()
        assert manager.recv(100) == b"WATCHDOG=1"


def test_systemd_waits_for_a_start_until_it_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))

    async def begin(startup: Startup, manager: socket.socket) -> list[bytes]:
        extending = asyncio.create_task(startup.extend())
        await asyncio.sleep(0)
        first = manager.recv(100)
        startup.ready()
        extending.cancel()
        return [first, manager.recv(100)]

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        startup = Startup()
        assert asyncio.run(begin(startup, manager)) == [b"EXTEND_TIMEOUT_USEC=60000000", b"READY=1"]
        asyncio.run(startup.extend())
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(100)
