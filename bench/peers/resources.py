"""Processor time and memory of the daemons on a host of the test bed, read from /proc of this machine.

A host's processes share a pid namespace. What is none of the measured system's, the host's init with its `sleep`, does not count.
Processor time of a process is its own: that of its ended children, such as jobs, does not count.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import psutil

_INIT = "/run/testbed/{}.pid"

#: of each process: its own processor time in seconds
Seconds = dict[int, float]


def _read(host: str, value: Callable[[psutil.Process], float]) -> Seconds:
    init = int(Path(_INIT.format(host)).read_text())
    namespace = os.readlink(f"/proc/{init}/ns/pid")
    found: Seconds = {}
    for process in psutil.process_iter():
        try:
            if process.pid != init and os.readlink(f"/proc/{process.pid}/ns/pid") == namespace and process.name() != "sleep":
                found[process.pid] = value(process)
        except (OSError, psutil.Error):
            continue  # it has ended
    return found


def processor_seconds(*hosts: str) -> Seconds:
    """What the daemons of these hosts have used so far."""
    found: Seconds = {}
    for host in hosts:
        found.update(_read(host, lambda process: sum(process.cpu_times()[:2])))
    return found


def spent(before: Seconds, after: Seconds) -> float:
    """Seconds between two readings. A process that has come meanwhile counts whole, one that has ended does not count."""
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())


def memory_mb(host: str) -> float:
    """Proportional set size (PSS) of a host's daemons, in MB: memory that processes share counts once."""
    return sum(_read(host, lambda process: process.memory_full_info().pss).values()) / 1e6
